#!/bin/sh
# Paths of multipath maps that die, with and without queueing, and what comes back: each engine, all at once.
# On virtual time: what a run waits for costs nothing, and its times do not depend on how busy the host is.
# vm: -i -m 512
# shellcheck source=tests/vm/guest-lib.sh
. ./guest-lib.sh

# each LUN answers after 50 ms; nb0 is the healthy one that every run has beside it
two_hosts dev_size_mb=8 max_luns=5 ndelay=50000000
await are_disks sda sdb sdc sdd sde sdf sdg sdh sdi sdj || die "the paths do not show up"
null_disk nb0 size=64 queue_mode=2 irqmode=2 completion_nsec=50000000

maps='offline deleted queued failed down'
lun=0
for map in $maps; do
	features='1 queue_if_no_path'
	[ "$map" != failed ] || features=0
	# shellcheck disable=SC2046 # two disks
	set -- $(paths_of $lun)
	multipath_map "$map" "mpath-$(wwid_of "$1")" "$features" "$@"
	fact "$map.paths" "$@"
	eval "first_$map=$1 second_$map=$2"
	lun=$((lun + 1))
done

measure() { # measure NAME MAP OPTION...
	measure_name=$1 measure_map=$2
	shift 2
	begin "$measure_name" ./lunbench --size 4k --qd 2 --stall 2 --progress always --json - "$@" "/dev/mapper/$measure_map" /dev/nb0
}

state() { # state STATE DISK...
	state=$1
	shift
	for disk; do
		echo "$state" >"/sys/block/$disk/device/state" || die "$disk does not become $state"
	done
}

back() { # back MAP DISK...: paths that were offline
	map=$1
	shift
	state running "$@"
	for disk; do
		dmsetup message "$map" 0 reinstate_path "$(dev_of "$disk")" || die "$disk is not reinstated"
	done
	mark "$map.back"
}

engines='io_uring libaio sync'
for engine in $engines; do
	for map in $maps; do
		measure "$map.$engine" "$map" --engine "$engine" --time 10 --drain 2
	done
done
measure stopped down --time 100
for map in $maps; do
	for engine in $engines; do under_way "$map.$engine"; done
done
under_way stopped

# shellcheck disable=SC2154 # eval has set these
{
	sleep 2
	mark lost
	state offline "$first_offline" "$first_queued" "$second_queued" "$first_failed" "$second_failed" "$first_down" "$second_down"
	echo 1 >"/sys/block/$first_deleted/device/delete"
	sleep 2
	mark signal
	kill -TERM "$(cat /tmp/stopped.pid)"
	sleep 2
	fact status.offline "$(dmsetup status offline)"
	fact status.deleted "$(dmsetup status deleted)"
	back offline "$first_offline"
	back queued "$first_queued"
	back failed "$second_failed"
	wait
	fact stuck "$(stuck)"
	back down "$first_down" "$second_down"
}
for map in $maps; do
	for engine in $engines; do collect "$map.$engine"; done
done
collect stopped
await is_none_stuck
fact stuck_after "$(stuck)"
