#!/bin/sh
# A dm-multipath map over two paths to one LUN: every engine works on it, and auto takes the one that costs less.
# vm: -m 512
# shellcheck source=tests/vm/guest-lib.sh
. ./guest-lib.sh

# two hosts that show the same LUN; it answers after 200 us
two_hosts dev_size_mb=64 ndelay=200000
await are_disks sda sdb || die "the two paths do not show up"
multipath_map mpatha '' '1 queue_if_no_path' sda sdb

for engine in io_uring libaio sync auto; do
	fact $engine.reads_before "$(reads_of dm-0)"
	run $engine ./lunbench --engine $engine --size 4k --qd 8 --count 2000 --json - /dev/mapper/mpatha
	fact $engine.reads_after "$(reads_of dm-0)"
done
run text ./lunbench --size 4k --qd 8 --count 200 /dev/mapper/mpatha
