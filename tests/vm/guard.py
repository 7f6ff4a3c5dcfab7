#!/usr/bin/python3
"""What the write interlock said of LUNs that device-mapper, md, LVM and exports hold, and that nothing changed."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbguest import Guest  # noqa: E402
from lbtest import *  # noqa: E402,F403

guest = Guest()
FS = r'ext4 file system "data", UUID 5f6cf9d2-0dd6-4bb4-a0a7-97d7cbd2d0e6'
TABLE = f"MBR partition table; partition 1: {FS}"
WWID = "360002ac0000000000000000000000001"
PV = "LVM2 physical volume of volume group vg-ora"
MD = r'md array member "[^"]*any", UUID [0-9a-f-]+'
UNUSED = ", which nothing uses"


def refused(name, what, tail):
    for n in (name, f"{name}.open"):
        r = guest.result(n).expect(2)
        ok(re.search(rf"^/dev/\S+: not written to: (?:{what}){re.escape(tail)}$", r.out, re.MULTILINE), f"{n}: want {what}{tail}\ngot  {r.out}")
    eq(guest.fact(f"{name}.same"), "yes", f"{name}: the device is as it was")


def in_use(name, what, first):
    refused(name, what, f"; first: {first}")
    has(guest.result(name).out, "0 with data on them .*, 1 in use", "summary")


def has_data(name, what, overwrite):
    refused(name, what, f"; if all of it may be lost: --overwrite {overwrite}")


def passes(name, what):
    r = guest.result(name).expect(0)
    has(r.out, rf"^/dev/\S+: may be written to: (?:{what})$", name)
    eq(guest.fact(f"{name}.same"), "yes", f"{name}: the device is as it was")


@test("a disk whose partition is mounted, and one whose table is gone while the kernel has the partition")
def _():
    in_use("part_mounted", f"{TABLE}, its partition sda1 is mounted on /mnt", "umount /mnt")
    has_data("part_kernel", f"partition 1: {FS}", "333333330000007d0")
    has_data("part_itself", FS, "/dev/sdb1")


@test("a multipath map, its paths and its partition's map, while that is mounted and when it is not")
def _():
    in_use("map_mounted", f"{TABLE}, mpatha1 on it is mounted on /mnt", "umount /mnt")
    in_use("path_mounted", f"{TABLE}, mpatha1 on it is mounted on /mnt", "umount /mnt")
    in_use("partmap_mounted", f"{FS}, mounted on /mnt", "umount /mnt")
    in_use("map_held", f"{TABLE}, held by the partition map mpatha1{UNUSED}", "kpartx -d /dev/mapper/mpatha")
    for path in ("path_held", "path_free"):
        in_use(path, f"{TABLE}, a path of the multipath map mpatha", "give /dev/mapper/mpatha in its place")


@test("a map is named by its WWID in any form, never by its path, and by no other's; multipathd's descriptors do no harm")
def _():
    has_data("map_free", TABLE, WWID)
    passes("map_wwn", TABLE)
    passes("map_naa", TABLE)
    for name in ("map_by_path", "map_other"):
        has_data(name, TABLE, WWID)
        has(guest.result(name).out, "^--overwrite .*: names none$", name)


@test("a process that may write to a path past the map counts")
def _():
    pid = guest.fact("sleeper")
    in_use("map_path_open", rf"{TABLE}, sda below it is open in process {pid} \(sleep\)", f"stop process {pid} (sleep)")


@test("a suspended map is not touched at all")
def _():
    has(guest.result("suspended").out, "^/dev/mapper/mpatha: unfit: mpatha is suspended: dmsetup resume mpatha$", "verdict")


@test("LVM: without a group, inactive, active, mounted and swapped on")
def _():
    has_data("lvm_alone", r"LVM2 physical volume, UUID \S+", "/dev/ram0")
    has_data("lvm_inactive", PV, "/dev/ram0")
    in_use("lvm_active", f"{PV}, held by the logical volume vg--ora-data1{UNUSED}", "vgchange -an vg-ora")
    passes("lv_itself", "nothing found on it")
    in_use("lvm_mounted", f"{PV}, vg--ora-data1 on it is mounted on /mnt", "umount /mnt")
    in_use("lvm_swap", f"{PV}, vg--ora-data1 on it is swapped on", "swapoff /dev/mapper/vg--ora-data1")


@test("md: assembled and stopped")
def _():
    in_use("md_assembled", f"{MD}, a member of the md array md0", "mdadm --stop /dev/md0")
    has_data("md_stopped", MD, "/dev/ram1")
    has_data("md_old", MD, "/dev/ram2")


@test("a thin pool's innards: what is highest goes first; the pool itself is no LUN")
def _():
    in_use("thin_disk", f"unknown data, at byte 0, held by the map thin1{UNUSED}", "dmsetup remove thin1")
    in_use("thin_tdata", f"held by the map thin1{UNUSED}", "dmsetup remove thin1")
    in_use("thin_pool", f"held by the map thin1{UNUSED}", "dmsetup remove thin1")
    in_use("thin_tdata_alone", f"held by the map pool{UNUSED}", "dmsetup remove pool")
    in_use("thin_pool_alone", "the inside of a logical volume or of a thin pool", "give the volume itself in its place")


@test("what the kernel serves to other hosts, which it does not hold exclusively")
def _():
    in_use("nvmet", "served to other hosts by /sys/kernel/config/nvmet/subsystems/s/namespaces/1", "remove that export")
    in_use("lio", "served to other hosts by /sys/kernel/config/target/core/fileio_0/disk", "remove that export")


main()
