#!/usr/bin/python3
"""What is told of disks, paths and maps, and what is refused without I/O."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbguest import Guest  # noqa: E402
from lbtest import *  # noqa: E402,F403

guest = Guest()


def row(name, index=0):
    return guest.result(name).expect(0).json["luns"][index]


def told(lun, *keys):
    return tuple(lun[k] for k in keys)


@test("a SCSI disk: vendor, product, revision, serial, blocks and depths are the kernel's")
def _():
    disk = row("disk")
    eq(told(disk, "kernel_name", "vendor", "product", "revision"), ("sda", "3PARdata", "VV", "3310"), "identity")
    ok(disk["serial"], "no serial")
    eq(told(disk, "logical_block_bytes", "physical_block_bytes", "size_bytes"), (512, 512, 64 << 20), "blocks and size")
    ok(disk["queue_depth"] > 0 and disk["nr_requests"] > 0 and disk["max_io_bytes"] >= 65536, f"depths: {disk}")


@test("a partition has its disk's identity but for the serial, and a size and a kernel count of its own")
def _():
    disk, part = row("disk"), row("partition")
    eq(told(part, "kernel_name", "vendor", "product", "revision", "serial"), ("sda1", "3PARdata", "VV", "3310", None), "identity")
    eq(told(part, "scheduler", "queue_depth", "nr_requests"), told(disk, "scheduler", "queue_depth", "nr_requests"), "queue")
    ok(0 < part["size_bytes"] < disk["size_bytes"], f"size {part['size_bytes']}")
    eq(part["kernel_bytes"], part["bytes_issued"], "kernel_bytes")


@test("a multipath map is told of by its path, serial included; a map on a null_blk has no vendor; control is passed over")
def _():
    disk, doc = row("disk"), guest.result("map").expect(0, err="/dev/mapper/control: passed over: ").json
    path, plain = doc["luns"]
    eq(told(path, "name", "vendor", "product", "revision"), ("/dev/mapper/mpatha", "3PARdata", "VV", "3310"), "identity")
    eq(path["serial"], disk["serial"], "serial")
    ok(re.fullmatch(r"dm-\d+", path["kernel_name"]), f"kernel name {path['kernel_name']}")
    eq(told(plain, "vendor", "product", "serial"), (None, None, None), "identity of lun2")
    eq(told(plain, "logical_block_bytes", "nowait"), (4096, True), "block and nowait of lun2")
    eq(path["nowait"], False, "nowait of the multipath map")
    part = row("part_map")
    eq(told(part, "vendor", "product", "serial"), ("3PARdata", "VV", None), "identity of a partition's map")


@test("a node without a device is no such device, status 3")
def _():
    guest.result("ghost").expect(3, err="^lunbench: /dev/ghost: no such device$")


@test("a suspended map is refused at once, before any I/O, and so is what lies on it; after resume they are measured")
def _():
    r = guest.result("suspended").expect(3)
    for target in ("mpatha", "mpatha1"):
        has(r.err, f"^lunbench: /dev/mapper/{target}: mpatha is suspended: dmsetup resume mpatha$", "stderr")
    lacks(r.err, "lun2", "stderr")
    between(int(guest.fact("ended")) - int(guest.fact("began")), 0, 5, "seconds to refuse")
    eq(guest.fact("reads_before"), guest.fact("reads_after"), "reads of the other LUN")
    ok(row("resumed", 1)["xfers"] > 0, "no xfers after resume")


main()
