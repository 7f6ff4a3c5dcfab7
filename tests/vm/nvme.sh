#!/bin/sh
# An NVMe namespace behind two ports of one target, joined by the kernel's own multipath: who it is, reads, writes,
# a path that is lost.
# vm: -m 512
# vm-files: cmp
# shellcheck source=tests/vm/guest-lib.sh
. ./guest-lib.sh

modprobe -a nvme-tcp nvmet nvmet-tcp || die "no nvmet"
[ "$(cat /sys/module/nvme_core/parameters/multipath)" = Y ] || die "no native multipath"
ifconfig lo 127.0.0.1 up
null_disk nb0 size=64 memory_backed=1
target=/sys/kernel/config/nvmet
mkdir "$target/subsystems/lb" "$target/subsystems/lb/namespaces/1" || die "no subsystem"
echo 1 >"$target/subsystems/lb/attr_allow_any_host"
echo LB0001 >"$target/subsystems/lb/attr_serial"
echo 12345678-0000-4000-8000-0123456789ab >"$target/subsystems/lb/namespaces/1/device_uuid"
echo /dev/nb0 >"$target/subsystems/lb/namespaces/1/device_path"
echo 1 >"$target/subsystems/lb/namespaces/1/enable" || die "no namespace"

port() { # port N: 127.0.0.1:442N shows it
	mkdir "$target/ports/$1"
	echo tcp >"$target/ports/$1/addr_trtype"
	echo ipv4 >"$target/ports/$1/addr_adrfam"
	echo 127.0.0.1 >"$target/ports/$1/addr_traddr"
	echo "442$1" >"$target/ports/$1/addr_trsvcid"
	ln -s "$target/subsystems/lb" "$target/ports/$1/subsystems/lb" || die "no port"
	nvme connect -t tcp -a 127.0.0.1 -s "442$1" -n lb -c 1 || die "cannot connect"
}

state_of() { # state_of CONTROLLER STATE: waits until it has it
	await grep -qx "$2" "/sys/class/nvme/$1/state" || die "$1 does not come to be $2"
}

lun=/dev/nvme0n1
measure() { ./lunbench --size 4k --qd 8 --count 2000 --json - "$@" $lun; }

port 0
await are_disks nvme0n1 || die "no $lun"
state_of nvme0 live
run one measure
port 1
state_of nvme1 live
run list ./lunbench list --json -
run table ./lunbench list $lun
run both measure

keep $lun
run unasked measure --op rw
fact unasked.same "$(is_kept $lun)"
run written measure --op rw --allow-write
fact written.same "$(is_kept $lun)"
mkfs.ext4 -q -L data $lun || die "no file system"
keep $lun
run fs measure --op write --allow-write
fact fs.same "$(is_kept $lun)"
run named measure --op write --allow-write --overwrite uuid.12345678-0000-4000-8000-0123456789ab

# its port goes away, and the host keeps trying
rm "$target/ports/1/subsystems/lb"
state_of nvme1 connecting
run lost measure
run lost_table ./lunbench list $lun
nvme disconnect -d nvme1
nvme disconnect -d nvme0
