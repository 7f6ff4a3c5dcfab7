#!/bin/sh
# Writes to a dm-multipath map over two paths, by every engine: blank, again, and with a file system on it.
# vm: -m 512
# vm-files: cmp
# shellcheck source=tests/vm/guest-lib.sh
. ./guest-lib.sh

# two hosts that show the same LUN; it answers after 200 us
two_hosts dev_size_mb=8 ndelay=200000
await are_disks sda sdb || die "the two paths do not show up"
naa=$(sed 's/^naa\.//' /sys/block/sda/device/wwid)
map=/dev/mapper/mpatha
multipath_map mpatha "mpath-3$naa" '1 queue_if_no_path' sda sdb
fact naa "$naa"

write() { # write NAME OPTION...: a mixed run, what the kernel counts meanwhile, and whether anything changed
	write_name=$1
	shift
	keep $map
	fact "$write_name.writes_before" "$(writes_of dm-0)"
	run "$write_name" ./lunbench --engine "$engine" --op rw --size 4k --qd 8 --count 500 --json - "$@" $map
	fact "$write_name.writes_after" "$(writes_of dm-0)"
	fact "$write_name.same" "$(is_kept $map)"
}
fs() { mkfs.ext4 -q -L data -U 5f6cf9d2-0dd6-4bb4-a0a7-97d7cbd2d0e6 $map || die "no file system"; }

for engine in io_uring libaio sync; do
	dd if=/dev/zero of=$map bs=1M count=8 conv=fsync 2>/dev/null || die "cannot blank the map"
	write $engine.unasked
	write $engine.blank --allow-write
	write $engine.again --allow-write
	fs
	write $engine.fs --allow-write
	write $engine.other --allow-write --overwrite "3${naa%?}f"
	write $engine.named --allow-write --overwrite "3$naa"
	fs
	write $engine.naa --allow-write --overwrite "naa.$naa"
done
