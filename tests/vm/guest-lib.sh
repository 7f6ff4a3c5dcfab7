# For the guest's side of a VM test: `. ./guest-lib.sh` in a script for busybox sh.
# shellcheck shell=dash
#
# What the guest finds out is judged on the host, where there is Python. So a script mostly does things and
# hands over what came of them, by name, to its .py sibling (see tests/lib/lbguest.py):
#   fact NAME VALUE...   a value
#   run NAME CMD...      a command's stdout, stderr and status; its status is run's own
# `ok NAME CMD...` is a TAP test right here. `die WHY` ends the guest's test as failed.

export DM_DISABLE_UDEV=1 # without udevd, dmsetup itself makes the nodes in /dev/mapper

die() {
	echo "# guest: $*"
	exit 1
}

fact() {
	fact_name=$1
	shift
	echo "#fact $fact_name $*"
}

run() {
	run_name=$1
	shift
	"$@" >/tmp/run.out 2>/tmp/run.err
	run_status=$?
	for run_part in out err; do
		echo "#begin $run_name.$run_part"
		# never empty, and always ends its line: what the host undoes is known exactly
		sed 's/^/|/' /tmp/run.$run_part
		echo
		echo "#end $run_name.$run_part"
	done
	echo "#fact $run_name.status $run_status"
	return $run_status
}

tests=0
ok() {
	tests=$((tests + 1))
	ok_name=$1
	shift
	if "$@" >/tmp/ok.log 2>&1; then
		echo "ok $tests - $ok_name"
	else
		echo "not ok $tests - $ok_name"
		sed 's/^/# /' /tmp/ok.log
	fi
}

await() { # await CMD...: until CMD succeeds; whether it did within 30 s
	await_tries=0
	until "$@" 2>/dev/null; do
		await_tries=$((await_tries + 1))
		[ $await_tries -lt 600 ] || return 1
		usleep 50000
	done
}

are_disks() { # are_disks DISK...: whether /dev has them all
	for are_disk; do
		[ -b "/dev/$are_disk" ] || return 1
	done
}

dev_of() { # dev_of DISK: its major:minor
	cat "/sys/class/block/$1/dev"
}

wwid_of() { # wwid_of DISK: of SCSI, as multipath writes it
	sed 's/^naa\./3/' "/sys/class/block/$1/device/wwid"
}

reads_of() { # reads_of DISK: reads by the kernel's count: those completed, and those merged into one of these
	read -r reads_done reads_merged _ <"/sys/class/block/$1/stat"
	echo $((reads_done + reads_merged))
}

writes_of() { # the same of its writes
	read -r _ _ _ _ writes_done writes_merged _ <"/sys/class/block/$1/stat"
	echo $((writes_done + writes_merged))
}

keep() { # keep DEVICE: a copy of all that is on it, past what is in memory, for is_kept to compare
	{ blockdev --flushbufs "$1" && cat "$1" >/tmp/kept; } || die "cannot read $1"
}

is_kept() { # is_kept DEVICE: yes or no. Needs `vm-files: cmp`: by sums, or busybox' own, it takes ages here
	if blockdev --flushbufs "$1" && ./cmp -s "$1" /tmp/kept; then
		echo yes
	else
		echo no
	fi
}

null_disk() { # null_disk NAME KEY=VALUE...: a null_blk disk /dev/NAME
	[ -d /sys/kernel/config/nullb ] || modprobe null_blk nr_devices=0 || die "no null_blk"
	null_dir=/sys/kernel/config/nullb/$1
	mkdir "$null_dir" || die "null_blk: no $1"
	shift
	for null_set; do
		echo "${null_set#*=}" >"$null_dir/${null_set%%=*}" || die "null_blk: $null_set"
	done
	echo 1 >"$null_dir/power" || die "null_blk: no power for $null_dir"
}

two_hosts() { # two_hosts PARAMETER...: scsi_debug with two hosts that show the same LUNs
	modprobe -a sd_mod dm-multipath dm-service-time || die "no multipath"
	modprobe scsi_debug add_host=2 vpd_use_hostno=0 inq_vendor=3PARdata inq_product=VV inq_rev=3310 "$@" || die "no scsi_debug"
}

multipath_map() { # multipath_map NAME UUID FEATURES PATH...: a map of these disks; UUID may be ''
	map_name=$1 map_uuid=$2 map_table="0 $(blockdev --getsz "/dev/$4") multipath $3 0 1 1 service-time 0 $(($# - 3)) 2"
	shift 3
	for map_path; do
		map_table="$map_table $(dev_of "$map_path") 1 1"
	done
	# shellcheck disable=SC2086 # without a UUID no option
	dmsetup create "$map_name" ${map_uuid:+-u $map_uuid} --table "$map_table" || die "no map $map_name"
}

paths_of() { # paths_of LUN: the disks that show this LUN number of two_hosts
	for paths_disk in /sys/block/sd*; do
		case $(readlink "$paths_disk/device") in *:"$1") echo "${paths_disk##*/}" ;; esac
	done
}

seconds() { # since the epoch, to the microsecond, as start_utc has it
	adjtimex | awk '/tv_sec/ { sec = $2 } /tv_usec/ { printf "%d.%06d\n", sec, $2 }'
}

mark() { # mark NAME: the time, as a fact
	fact "$1" "$(seconds)"
}

begin() { # begin NAME CMD...: in the background; collect NAME says later what came of it
	begun=/tmp/$1
	shift
	(
		seconds >"$begun.began"
		# not into a pipe: what stays behind would hold that open
		"$@" >"$begun.out" 2>"$begun.err" &
		echo $! >"$begun.pid"
		wait $!
		echo $? >"$begun.status"
		seconds >"$begun.ended"
	) &
}

under_way() { # under_way NAME...: waits until all of these measure, by their live lines (--progress always)
	for waited; do
		await grep -q left "/tmp/$waited.err" || die "$waited does not get under way: $(cat "/tmp/$waited.err")"
	done
}

collect() { # collect NAME: as `run NAME` does, and the facts NAME.began and NAME.ended
	fact "$1.began" "$(cat "/tmp/$1.began")"
	fact "$1.ended" "$(cat "/tmp/$1.ended")"
	# shellcheck disable=SC2016 # sh is to read them
	run "$1" sh -c 'cat "/tmp/$0.out"; cat "/tmp/$0.err" >&2; exit "$(cat "/tmp/$0.status")"' "$1"
}

is_none_stuck() {
	[ "$(stuck)" -eq 0 ]
}

stuck() { # how many threads of lunbench are held in the kernel
	grep -c '(lunbench) D ' /proc/[0-9]*/task/[0-9]*/stat 2>/dev/null | grep -vc ':0$'
}
