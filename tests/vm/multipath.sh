#!/bin/sh
# A dm-multipath map over two paths to one LUN: every engine works on it, and auto takes the one that costs less.
# vm: -m 512
# shellcheck source=tests/vm/guest-lib.sh
. ./guest-lib.sh

modprobe -a sd_mod dm-multipath dm-service-time || die "no multipath"
# two hosts that show the same LUN; it answers after 200 us
modprobe scsi_debug dev_size_mb=64 add_host=2 vpd_use_hostno=0 inq_vendor=3PARdata inq_product=VV inq_rev=3310 ndelay=200000 ||
	die "no scsi_debug"
tries=0
until [ -b /dev/sda ] && [ -b /dev/sdb ]; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || die "the two paths do not show up"
	usleep 50000
done
dmsetup create mpatha --table "0 $(blockdev --getsz /dev/sda) multipath 1 queue_if_no_path 0 \
1 1 service-time 0 2 2 $(dev_of sda) 1 1 $(dev_of sdb) 1 1" || die "no map"

for engine in io_uring libaio sync auto; do
	fact $engine.reads_before "$(reads_of dm-0)"
	run $engine ./lunbench --engine $engine --size 4k --qd 8 --count 2000 --json - /dev/mapper/mpatha
	fact $engine.reads_after "$(reads_of dm-0)"
done
run text ./lunbench --size 4k --qd 8 --count 200 /dev/mapper/mpatha
