#!/bin/sh
# LUNs that hang, fail, shrink, go, or fill up under a run, for a while or for good: each engine, all at once.
# vm: -i -m 512
# shellcheck source=tests/vm/guest-lib.sh
. ./guest-lib.sh

engines='io_uring libaio sync'
modprobe -a sd_mod dm-mod dm-delay dm-thin-pool target_core_mod target_core_iblock tcm_loop || die "modules are missing"
disk() { # disk NAME MSEC [KEY=VALUE...]: that answers after that time
	disk_name=$1 disk_msec=$2
	shift 2
	null_disk "$disk_name" size=64 queue_mode=2 hw_queue_depth=256 irqmode=2 "completion_nsec=${disk_msec}000000" "$@"
}
disk healthy 50 # beside its LUN each run has this one, or one of its own where it writes
disk below 50
sectors=$(blockdev --getsz /dev/below)
for map in suspended hung swapped shrunk; do
	dmsetup create $map --table "0 $sectors linear /dev/below 0" || die "no map $map"
done
dmsetup create slow --table "0 $sectors delay /dev/below 0 45000" || die "no map slow"

# a pool of 6 MB for three volumes of 16 MB
null_disk meta size=4 memory_backed=1
disk data 5
dmsetup create pool --table "0 12288 thin-pool /dev/meta /dev/data 128 0 2 skip_block_zeroing error_if_no_space" || die "no pool"
id=0
for engine in $engines; do
	dmsetup message pool 0 "create_thin $id" || die "no thin volume"
	dmsetup create "thin_$engine" --table "0 32768 thin /dev/mapper/pool $id" || die "no map of a thin volume"
	disk "healthy_$engine" 20 memory_backed=1
	id=$((id + 1))
done

# LIO, by a SCSI host of this kernel
lio=/sys/kernel/config/target
tpg=$lio/loopback/naa.6001405000000001/tpgt_1
mkdir -p $tpg || die "no LIO"
echo naa.6001405000000011 >$tpg/nexus
export_lun() { # export_lun NUMBER: of a slow disk of its own
	disk "store$1" 50
	mkdir -p "$lio/core/iblock_0/store$1" "$tpg/lun/lun_$1" || die "no LIO LUN $1"
	echo "udev_path=/dev/store$1" >"$lio/core/iblock_0/store$1/control"
	echo 1 >"$lio/core/iblock_0/store$1/enable" || die "no LIO disk $1"
	echo "60002ac00000000000000$1" >"$lio/core/iblock_0/store$1/wwn/vpd_unit_serial"
	ln -s "$lio/core/iblock_0/store$1" "$tpg/lun/lun_$1/store" || die "LIO LUN $1 is not exported"
}
export_lun 0
export_lun 1
await are_disks sda sdb || die "LIO's disks do not show up"
removed=$(paths_of 0) deleted=$(paths_of 1)
fact removed.wwid "$(wwid_of "$removed")"
fact deleted.wwid "$(wwid_of "$deleted")"

# loses every 200th command: it is aborted after 3 s, and repeated
modprobe scsi_debug dev_size_mb=8 ndelay=10000000 || die "no scsi_debug"
await are_disks sdc || die "no disk of scsi_debug shows up"
echo 3 >/sys/block/sdc/device/timeout

measure() { # measure NAME LUN OPTION...
	measure_name=$1 measure_lun=$2
	shift 2
	begin "$measure_name" ./lunbench --progress always --json - --engine "$engine" "$@" "$measure_lun"
}
names=''
for engine in $engines; do
	measure "suspended.$engine" /dev/mapper/suspended --qd 2 --time 22 /dev/healthy
	measure "lossy.$engine" /dev/sdc --qd 1 --time 20 /dev/healthy
	for map in hung swapped shrunk; do
		measure "$map.$engine" /dev/mapper/$map --qd 2 --time 12 --drain 2 /dev/healthy
	done
	measure "slow.$engine" /dev/mapper/slow --qd 2 --time 50 /dev/healthy
	measure "given_up.$engine" /dev/mapper/swapped --qd 16 --time 8 /dev/healthy
	measure "stopped.$engine" /dev/mapper/swapped --qd 2 --on-error stop --time 12 /dev/healthy
	measure "removed.$engine" "/dev/$removed" --qd 2 --time 12 /dev/healthy
	measure "deleted.$engine" "/dev/$deleted" --qd 2 --time 12 /dev/healthy
	measure "thin.$engine" "/dev/mapper/thin_$engine" --op write --allow-write --qd 2 --time 4 "/dev/healthy_$engine"
	for name in suspended lossy slow hung swapped given_up stopped shrunk removed deleted; do names="$names $name.$engine"; done
done
# shellcheck disable=SC2086 # many names
under_way $names

change() { # change MAP TABLE
	mark "$1.begin"
	dmsetup suspend --noflush "$1" || die "cannot suspend $1"
	dmsetup load "$1" --table "$2" || die "no new table for $1"
	dmsetup resume "$1" || die "cannot resume $1"
}

sleep 5
echo 200 >/sys/bus/pseudo/drivers/scsi_debug/every_nth
echo 4 >/sys/bus/pseudo/drivers/scsi_debug/opts
mark suspended.begin
dmsetup suspend suspended || die "cannot suspend"
mark hung.begin
dmsetup suspend hung || die "cannot suspend"
change swapped "0 $sectors error"
change shrunk "0 16384 linear /dev/below 0"
mark removed.begin
rm $tpg/lun/lun_0/store || die "LIO does not remove the LUN"
mark deleted.begin
echo 1 >"/sys/block/$deleted/device/delete"
export_lun 2 # another LUN, where the removed one was
mark changed
sleep 10
dmsetup resume suspended || die "cannot resume"
mark suspended.end
wait
echo 0 >/sys/bus/pseudo/drivers/scsi_debug/opts
fact pool "$(dmsetup status pool)"
fact disks "$(cd /dev && echo sd*)"
fact stuck "$(stuck)"
dmsetup resume hung
for name in $names thin.io_uring thin.libaio thin.sync; do collect "$name"; done
await is_none_stuck
fact stuck_after "$(stuck)"
