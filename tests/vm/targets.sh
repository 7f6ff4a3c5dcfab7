#!/bin/sh
# Targets that only device-mapper and SCSI can give: suspended maps, paths, partitions, a node without a device.
# vm: -m 512
# shellcheck source=tests/vm/guest-lib.sh
. ./guest-lib.sh

# two hosts that show the same LUN, with a partition
two_hosts dev_size_mb=64 num_parts=1
await are_disks sda1 sdb || die "the two paths do not show up"
null_disk nulla size=64 blocksize=4096 memory_backed=0
multipath_map mpatha mpath-3600 '1 queue_if_no_path' sda sdb
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
