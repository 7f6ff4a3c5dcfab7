#!/bin/sh
# A disk that takes 5 ms for each read, to the microsecond, on a clock that only counts instructions.
# vm: -i -m 512
# shellcheck source=tests/vm/guest-lib.sh
. ./guest-lib.sh

# with one I/O in flight the timer of the one starts when the one before is done
null_disk nb0 size=256 queue_mode=2 irqmode=2 completion_nsec=5000000
for engine in io_uring libaio sync; do
	fact $engine.reads_before "$(reads_of nb0)"
	run $engine ./lunbench --engine $engine --size 4k --qd 1 --count 200 --json - /dev/nb0
	fact $engine.reads_after "$(reads_of nb0)"
done
