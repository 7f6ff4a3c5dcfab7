#!/bin/sh
# LUNs as a host of a SAN has them: udevd and multipathd, partitions by kpartx, volumes and a thin pool on the maps.
# vm: -m 512
# shellcheck source=tests/vm/guest-lib.sh
. ./guest-lib.sh

mkdir -p /etc/multipath /run/udev
cat >/etc/multipath.conf <<'C'
defaults {
	user_friendly_names yes
	find_multipaths no
}
devices {
	device {
		vendor "3PARdata"
		product "VV"
		path_grouping_policy multibus
		hardware_handler "0"
		prio const
		path_checker tur
	}
}
C
unset DM_DISABLE_UDEV # udevd makes the nodes, and its rules call dmsetup by this name
[ -e /sbin/dmsetup ] || ln -s "$(command -v dmsetup)" /sbin/dmsetup
/lib/systemd/systemd-udevd --daemon 2>/dev/null || die "no udevd"
modprobe -a sg dm-thin-pool ext4 || die "no modules"
# two hosts that show the same three LUNs, with a partition each
two_hosts dev_size_mb=64 max_luns=3 num_parts=1
udevadm trigger
udevadm settle -t 30
multipathd || die "no multipathd"
await are_disks mapper/mpathc || die "multipathd makes no mpathc"
udevadm settle -t 30
for m in mpatha mpathb mpathc; do
	kpartx -a /dev/mapper/$m || die "no kpartx"
done
udevadm settle -t 30

dm_of() { # dm_of MAP: its kernel name
	basename "$(readlink -f /dev/mapper/"$1")"
}
measure() { ./lunbench --size 4k --qd 2 --time 0.3s --json - "$@"; }

dm=$(dm_of mpatha)
# shellcheck disable=SC2046 # two words
set -- $(ls "/sys/block/$dm/slaves")
fact dm "$dm"
fact path1 "$1"
fact path2 "$2"
fact uuid "$(cat "/sys/block/$dm/dm/uuid")"

run list ./lunbench list --json -
run table ./lunbench list
run list_path ./lunbench list --json - "/dev/$1"
run map measure /dev/mapper/mpatha
run two_paths measure "/dev/$1" "/dev/$2"
run path_and_map measure "/dev/$2" /dev/mapper/mpatha "/dev/$1"
run two_names measure /dev/mapper/mpatha "/dev/disk/by-id/dm-uuid-$(cat "/sys/block/$dm/dm/uuid")"
run part_of_path measure "/dev/${1}1" /dev/mapper/mpatha
run part_alone measure /dev/mapper/mpatha1
run glob measure /dev/mapper/*

echo offline >"/sys/block/$1/device/state"
run offline ./lunbench list --json - /dev/mapper/mpatha
echo running >"/sys/block/$1/device/state"
# one that device-mapper gave up, though SCSI's is well; multipathd would soon take it back
multipath_d=$(pidof multipathd)
kill -STOP "$multipath_d"
dmsetup message mpatha 0 "fail_path $(dev_of "$1")" || die "cannot fail a path"
run failed ./lunbench list --json - /dev/mapper/mpatha
run failed_table ./lunbench list /dev/mapper/mpatha
run failed_check ./lunbench check /dev/mapper/mpatha
run failed_run measure /dev/mapper/mpatha
dmsetup message mpatha 0 "reinstate_path $(dev_of "$1")"
kill -CONT "$multipath_d"

# a volume on the partition's map, a file system on it
dmsetup create vg-lv -u LVM-1 --table "0 65536 linear /dev/mapper/mpatha1 0" || die "no volume"
mkfs.ext4 -q /dev/mapper/vg-lv || die "no file system"
mkdir -p /u01
mount -t ext4 /dev/mapper/vg-lv /u01 || die "no mount"
run mounted measure /dev/mapper/mpatha /dev/mapper/vg-lv
run mounted_path measure "/dev/$1"
run mounted_table ./lunbench list /dev/mapper/mpatha
umount /u01

# a thin pool, as LVM lays it out
dmsetup create vg-pool_tmeta --table "0 8192 linear /dev/mapper/mpathb 0" || die "no tmeta"
dmsetup create vg-pool_tdata --table "0 65536 linear /dev/mapper/mpathb 8192" || die "no tdata"
dd if=/dev/zero of=/dev/mapper/vg-pool_tmeta bs=4k count=1 2>/dev/null
dmsetup create vg-pool --table "0 65536 thin-pool /dev/mapper/vg-pool_tmeta /dev/mapper/vg-pool_tdata 128 0" || die "no pool"
dmsetup message vg-pool 0 create_thin 0 || die "no thin volume"
dmsetup create vg-thin --table "0 32768 thin /dev/mapper/vg-pool 0" || die "no map of the thin volume"
run thin measure /dev/mapper/vg-*
run glob_all measure /dev/mapper/*
run list_thin ./lunbench list --json - /dev/mapper/vg-thin /dev/mapper/vg-pool_tdata
dmsetup remove vg-thin
dmsetup remove vg-pool
dmsetup remove vg-pool_tdata
dmsetup remove vg-pool_tmeta
dmsetup remove vg-lv

dmsetup suspend mpathc
fact began "$(cut -d. -f1 /proc/uptime)"
run suspended ./lunbench list
fact ended "$(cut -d. -f1 /proc/uptime)"
dmsetup resume mpathc

# paths without a map, and a map that has no uuid
kill "$(pidof multipathd)"
for m in mpatha mpathb mpathc; do
	kpartx -d /dev/mapper/$m
	dmsetup remove --retry $m || die "cannot remove $m"
done
run no_map measure "/dev/$1" "/dev/$2"
dmsetup create plain --table "0 $(blockdev --getsz "/dev/$1") multipath 0 0 1 1 service-time 0 2 1 $(dev_of "$1") 1 $(dev_of "$2") 1" ||
	die "no map without a uuid"
run plain measure "/dev/$1" /dev/mapper/plain
run plain_list ./lunbench list --json - /dev/mapper/plain

# a device that answers nothing any more
echo 1 >/sys/bus/pseudo/drivers/scsi_debug/every_nth
echo 4 >/sys/bus/pseudo/drivers/scsi_debug/opts
fact dead_began "$(cut -d. -f1 /proc/uptime)"
run dead ./lunbench list
fact dead_ended "$(cut -d. -f1 /proc/uptime)"
echo 0 >/sys/bus/pseudo/drivers/scsi_debug/opts
