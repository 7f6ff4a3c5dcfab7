#!/bin/sh
# Sixteen LUNs at once, one of them with blocks of 4096 bytes.
# vm: -m 512
# shellcheck source=tests/vm/guest-lib.sh
. ./guest-lib.sh

luns=''
for n in 00 01 02 03 04 05 06 07 08 09 10 11 12 13 14; do
	null_disk lun$n size=256 queue_mode=2 irqmode=2 completion_nsec=10000000
	luns="$luns /dev/lun$n"
done
null_disk lun15 size=256 queue_mode=2 irqmode=2 completion_nsec=10000000 blocksize=4096
luns="$luns /dev/lun15"

for engine in io_uring libaio sync; do
	# shellcheck disable=SC2086
	run $engine ./lunbench --engine $engine --size 4k --qd 4 --time 2 --json - $luns
done
# shellcheck disable=SC2086
run small ./lunbench --size 512 --time 1 $luns
true # its status is not the guest's
