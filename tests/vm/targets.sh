#!/bin/sh
# Targets that only device-mapper and SCSI can give: suspended maps, paths, partitions, a node without a device.
# vm: -m 512
# shellcheck source=tests/vm/guest-lib.sh
. ./guest-lib.sh

modprobe -a sd_mod dm-multipath dm-service-time || die "no multipath"
# two hosts that show the same LUN, with a partition
modprobe scsi_debug dev_size_mb=64 add_host=2 vpd_use_hostno=0 num_parts=1 inq_vendor=3PARdata inq_product=VV inq_rev=3310 ||
	die "no scsi_debug"
tries=0
until [ -b /dev/sda1 ] && [ -b /dev/sdb ]; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || die "the two paths do not show up"
	usleep 50000
done
null_disk nulla size=64 blocksize=4096 memory_backed=0
dmsetup create mpatha -u mpath-3600 --table "0 $(blockdev --getsz /dev/sda) multipath 1 queue_if_no_path 0 \
1 1 service-time 0 2 2 $(dev_of sda) 1 1 $(dev_of sdb) 1 1" || die "no map"
dmsetup create mpatha1 -u part1-mpath-3600 --table "0 2048 linear /dev/mapper/mpatha 2048" || die "no map on the map"
dmsetup create lun2 --table "0 $(blockdev --getsz /dev/nulla) linear /dev/nulla 0" || die "no second map"
mknod /dev/ghost b 8 240

lunbench() { ./lunbench --size 4k --qd 4 --time 0.5s --json - "$@"; }

run disk lunbench /dev/sda
run partition lunbench /dev/sda1
run map lunbench /dev/mapper/mpatha /dev/mapper/control /dev/mapper/lun2
run part_map lunbench /dev/mapper/mpatha1
run ghost lunbench /dev/ghost /dev/mapper/lun2

dmsetup suspend mpatha || die "cannot suspend"
fact began "$(cut -d. -f1 /proc/uptime)"
fact reads_before "$(reads_of nulla)"
run suspended lunbench /dev/mapper/lun2 /dev/mapper/mpatha /dev/mapper/mpatha1
fact reads_after "$(reads_of nulla)"
fact ended "$(cut -d. -f1 /proc/uptime)"
dmsetup resume mpatha
run resumed lunbench /dev/mapper/lun2 /dev/mapper/mpatha
