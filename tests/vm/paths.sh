#!/bin/sh
# Paths that go and come back under a run, and all of them gone until it is over: each engine, all at once.
# vm: -m 512
# shellcheck source=tests/vm/guest-lib.sh
. ./guest-lib.sh

modprobe -a sd_mod dm-multipath dm-service-time || die "no multipath"
# two hosts that show the same LUN; it answers after 5 ms
modprobe scsi_debug dev_size_mb=64 add_host=2 vpd_use_hostno=0 ndelay=5000000 || die "no scsi_debug"
tries=0
until [ -b /dev/sda ] && [ -b /dev/sdb ]; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || die "the two paths do not show up"
	usleep 50000
done
null_disk nb0 size=256 queue_mode=2 irqmode=2 completion_nsec=5000000
dmsetup create mpatha --table "0 $(blockdev --getsz /dev/sda) multipath 1 queue_if_no_path 0 \
1 1 service-time 0 2 2 $(dev_of sda) 1 1 $(dev_of sdb) 1 1" || die "no map"

seconds() {
	cut -d' ' -f1 /proc/uptime
}

begin() { # begin NAME OPTION...: lunbench in the background, on the map and on a healthy LUN
	begun=/tmp/$1
	shift
	(
		seconds >"$begun.began"
		# not into a pipe: what stays behind would hold that open
		./lunbench --size 4k --qd 4 --progress always --json - "$@" /dev/mapper/mpatha /dev/nb0 >"$begun.json" 2>"$begun.err" &
		echo $! >"$begun.pid"
		wait $!
		echo $? >"$begun.status"
		seconds >"$begun.ended"
	) &
}

under_way() { # under_way NAME...: waits until all of them measure, by their live lines
	tries=0
	for waited; do
		until grep -q left "/tmp/$waited.err" 2>/dev/null; do
			tries=$((tries + 1))
			[ $tries -lt 300 ] || die "$waited does not get under way"
			usleep 50000
		done
	done
}

collect() { # collect NAME: what came of it
	fact "$1.began" "$(cat "/tmp/$1.began")"
	fact "$1.ended" "$(cat "/tmp/$1.ended")"
	# shellcheck disable=SC2016
	run "$1" sh -c 'cat "/tmp/$0.json"; cat "/tmp/$0.err" >&2; exit "$(cat "/tmp/$0.status")"' "$1"
}

all_paths() { # all_paths MESSAGE: for both of them
	for path in sda sdb; do
		dmsetup message mpatha 0 "$1" "$(dev_of $path)" || die "no $1 of $path"
	done
}

left() { # how many threads of lunbench are stuck in the kernel
	grep -c '(lunbench) D ' /proc/[0-9]*/task/[0-9]*/stat 2>/dev/null | grep -vc ':0$'
}

engines='io_uring libaio sync'

# one path dies, the other a second later; that one is back after 1.5 s
for engine in $engines; do begin "lost.$engine" --engine "$engine" --time 6; done
under_way lost.io_uring lost.libaio lost.sync
echo offline >/sys/block/sda/device/state
sleep 1
dmsetup message mpatha 0 fail_path "$(dev_of sdb)" || die "cannot fail a path"
usleep 1500000
dmsetup message mpatha 0 reinstate_path "$(dev_of sdb)" || die "cannot reinstate a path"
wait
fact paths "$(dmsetup status mpatha)"
for engine in $engines; do collect "lost.$engine"; done

echo running >/sys/block/sda/device/state
all_paths reinstate_path

# both go, for good; one run is stopped by hand
for engine in $engines; do begin "down.$engine" --engine "$engine" --time 8 --drain 2; done
begin stopped --time 100
under_way down.io_uring down.libaio down.sync stopped
all_paths fail_path
sleep 1
signal=$(seconds)
kill -TERM "$(cat /tmp/stopped.pid)"
wait
fact signal "$signal"
fact left "$(left)"
for engine in $engines; do collect "down.$engine"; done
collect stopped
all_paths reinstate_path
tries=0
while [ "$(left)" -gt 0 ]; do
	tries=$((tries + 1))
	[ $tries -lt 60 ] || break
	usleep 50000
done
fact left_after "$(left)"
