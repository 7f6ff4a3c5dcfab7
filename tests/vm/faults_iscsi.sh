#!/bin/sh
# An iSCSI target that goes, and comes back, as another LUN, or not at all: each engine, all at once.
# vm: -i -m 512
# shellcheck source=tests/vm/guest-lib.sh
. ./guest-lib.sh

engines='io_uring libaio sync'
modprobe -a sd_mod iscsi_tcp target_core_mod target_core_iblock iscsi_target_mod crc32c_generic crc32c || die "modules are missing"
disk() { null_disk "$1" size=64 queue_mode=2 irqmode=2 completion_nsec=50000000; }
disk healthy

# targets with a LUN each, on addresses of their own that can be taken away
lio=/sys/kernel/config/target
targets='short long other gone'
iqn=iqn.2024-01.test
store() { # store NAME SERIAL: what LIO serves
	disk "store_$1"
	mkdir -p "$lio/core/iblock_0/$1" || die "no LIO"
	echo "udev_path=/dev/store_$1" >"$lio/core/iblock_0/$1/control"
	echo 1 >"$lio/core/iblock_0/$1/enable" || die "no LIO disk $1"
	echo "60002ac0000000000$2" >"$lio/core/iblock_0/$1/wwn/vpd_unit_serial"
}
address_of() { # address_of TARGET: its own, by its initial
	echo "10.0.0.$(printf %d "'$1")"
}
plug() { ip addr add "$(address_of "$1")/32" dev lo || die "no address for $1"; }
unplug() { ip addr del "$(address_of "$1")/32" dev lo || die "no address to take from $1"; }
serve() { # serve TARGET STORE: as its LUN 0
	ln -s "$lio/core/iblock_0/$2" "$lio/iscsi/$iqn:$1/tpgt_1/lun/lun_0/store" || die "$2 is not served by $1"
}
number=1
for target in $targets; do
	store "$target" 00$number
	plug "$target"
	tpg=$lio/iscsi/$iqn:$target/tpgt_1
	mkdir -p "$tpg/lun/lun_0" "$tpg/np/$(address_of "$target"):3260" || die "no iSCSI target"
	serve "$target" "$target"
	echo 0 >"$tpg/attrib/authentication"
	echo 1 >"$tpg/attrib/generate_node_acls"
	echo 1 >"$tpg/enable" || die "$target is not served"
	number=$((number + 1))
done
store another 009

mkdir -p /etc/iscsi /var/lib/iscsi /run/lock/iscsi
echo InitiatorName=$iqn:init >/etc/iscsi/initiatorname.iscsi
cat >/etc/iscsi/iscsid.conf <<'C'
node.startup = manual
node.session.timeo.replacement_timeout = 5
node.conn[0].timeo.noop_out_interval = 1
node.conn[0].timeo.noop_out_timeout = 1
node.session.auth.authmethod = None
C
iscsid -c /etc/iscsi/iscsid.conf -i /etc/iscsi/initiatorname.iscsi || die "no iscsid"
for target in $targets; do
	await iscsiadm -m discovery -t st -p "$(address_of "$target")" >/dev/null || die "$target is not found"
	iscsiadm -m node -T "$iqn:$target" -l >/tmp/login 2>&1 || die "no login: $(cat /tmp/login)"
done
session_of() { # session_of TARGET: its directory in sysfs
	dirname "$(grep -l "$iqn:$1\$" /sys/class/iscsi_session/*/targetname)"
}
disk_of() {
	basename "$(session_of "$1")"/device/target*/*/block/sd*
}
is_logged_in() {
	[ "$(cat "$(session_of "$1")/state")" = LOGGED_IN ]
}
has_noticed() {
	! is_logged_in "$1"
}
await are_disks sda sdb sdc sdd || die "the LUNs do not show up"

for engine in $engines; do
	for target in $targets; do
		begin "$target.$engine" ./lunbench --engine "$engine" --qd 2 --stall 2 --time 18 --progress always --json - "/dev/$(disk_of "$target")" /dev/healthy
	done
done
for engine in $engines; do
	for target in $targets; do under_way "$target.$engine"; done
done

back() { # back TARGET: waits until its session is there again
	await is_logged_in "$1" || die "$1 does not come back"
	mark "$1.back"
}
sleep 2
for target in $targets; do
	mark "$target.cut"
	unplug "$target"
done
for target in $targets; do
	await has_noticed "$target" || die "$target: nobody notices"
	mark "$target.noticed"
done
# one comes back with another LUN behind its name, which the kernel looks at only when it is told to
rm "$lio/iscsi/$iqn:other/tpgt_1/lun/lun_0/store" || die "LIO keeps the LUN"
serve other another
plug short
plug other
back short
back other
echo 1 >"/sys/block/$(disk_of other)/device/rescan"
mark other.rescanned
fact other.wwid "$(wwid_of "$(disk_of other)")"
sleep 5
plug long
back long
wait
for engine in $engines; do
	for target in $targets; do collect "$target.$engine"; done
done
fact stuck "$(stuck)"
