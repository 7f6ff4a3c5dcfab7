#!/bin/sh
# The write interlock where device-mapper, md, LVM and exports hold a LUN. guard_tool only looks, or tries to open.
# vm: -m 640
# vm-files: tests/unit/guard_tool lvm mdadm cmp
# shellcheck source=tests/vm/guest-lib.sh
. ./guest-lib.sh

modprobe -a dm-thin-pool ext4 raid1 nvmet target_core_mod target_core_file || die "modules are missing"
modprobe brd rd_nr=6 rd_size=8192 || die "no ram disks"
two_hosts dev_size_mb=16 num_parts=1
await are_disks sda1 sdb1 || die "the two paths do not show up"

# look NAME DEVICE [OPTION...]: what is said of the device, by looking and by opening; neither may change a byte of it
look() {
	look_name=$1 look_dev=$2
	shift 2
	keep "$look_dev"
	run "$look_name" ./guard_tool "$@" "$look_dev"
	[ $run_status = 0 ] || run "$look_name.open" ./guard_tool --open "$@" "$look_dev"
	fact "$look_name.same" "$(is_kept "$look_dev")"
}
fs() { mkfs.ext4 -q -L data -U 5f6cf9d2-0dd6-4bb4-a0a7-97d7cbd2d0e6 "$1" || die "no file system on $1"; }
mount_ro() { mount -t ext4 -o ro,noload "$1" /mnt || die "cannot mount $1"; }

# ---- a partition of a disk
fs /dev/sda1
mount_ro /dev/sda1
look part_mounted /dev/sda
umount /mnt
dd if=/dev/sdb of=/tmp/table bs=512 count=1 2>/dev/null
dd if=/dev/zero of=/dev/sdb bs=512 count=1 conv=fsync 2>/dev/null # the kernel has the partition still
look part_kernel /dev/sdb
look part_itself /dev/sdb1
dd if=/tmp/table of=/dev/sdb bs=512 count=1 conv=fsync 2>/dev/null

# ---- multipath
start=$(cat /sys/class/block/sda1/start) size=$(cat /sys/class/block/sda1/size)
multipath_map mpatha mpath-360002ac0000000000000000000000001 0 sda sdb
dmsetup create mpatha1 -u part1-mpath-360002ac0000000000000000000000001 --table "0 $size linear /dev/mapper/mpatha $start" ||
	die "no map on the map"
mount_ro /dev/mapper/mpatha1
look map_mounted /dev/mapper/mpatha
look path_mounted /dev/sda
look partmap_mounted /dev/mapper/mpatha1
umount /mnt
look map_held /dev/mapper/mpatha
sh -c "exec sleep 1000" </dev/sda & # as multipathd has it: for reading
sleeper=$!
look path_held /dev/sda
dmsetup remove mpatha1
look map_free /dev/mapper/mpatha
look map_wwn /dev/mapper/mpatha --overwrite wwn-0x60002AC0000000000000000000000001
look map_naa /dev/mapper/mpatha --overwrite naa.60002ac0000000000000000000000001
look map_by_path /dev/mapper/mpatha --overwrite /dev/mapper/mpatha
look map_other /dev/mapper/mpatha --overwrite 360002ac0000000000000000000000002
look path_free /dev/sdb
kill $sleeper
sh -c "exec sleep 1000" <>/dev/sda & # this one could write past the map
sleeper=$!
look map_path_open /dev/mapper/mpatha
fact sleeper $sleeper
kill $sleeper
dmsetup suspend mpatha
run suspended ./guard_tool --open /dev/mapper/mpatha
dmsetup resume mpatha
dmsetup remove mpatha

# ---- LVM
lvm() { LVM_SUPPRESS_FD_WARNINGS=1 ./lvm "$@" --config 'activation { udev_sync=0 udev_rules=0 monitoring=0 } devices { scan="/dev" use_devicesfile=0 obtain_device_list_from_udev=0 external_device_info_source="none" }' >/tmp/lvm.log 2>&1 || { cat /tmp/lvm.log; die "lvm $*"; }; }
mkdir -p /etc/lvm /run/lvm /run/lock/lvm
lvm pvcreate -y /dev/ram0
look lvm_alone /dev/ram0
lvm vgcreate vg-ora /dev/ram0
lvm lvcreate -y -Wn -Zn -an -n data1 -L 4M vg-ora
look lvm_inactive /dev/ram0
lvm vgchange -ay vg-ora
look lvm_active /dev/ram0
look lv_itself /dev/mapper/vg--ora-data1
fs /dev/mapper/vg--ora-data1
mount_ro /dev/mapper/vg--ora-data1
look lvm_mounted /dev/ram0
umount /mnt
mkswap /dev/mapper/vg--ora-data1 >/dev/null 2>&1
swapon /dev/mapper/vg--ora-data1 || die "no swap"
look lvm_swap /dev/ram0
swapoff /dev/mapper/vg--ora-data1

# ---- md
MDADM_NO_UDEV=1 ./mdadm --create /dev/md0 --run --level=1 --metadata=1.2 --name=any --raid-devices=2 --assume-clean /dev/ram1 /dev/ram2 >/tmp/md.log 2>&1 ||
	{ cat /tmp/md.log; die "no md array"; }
look md_assembled /dev/ram1
./mdadm --stop /dev/md0 >/dev/null 2>&1 || die "md0 does not stop"
look md_stopped /dev/ram1
look md_old /dev/ram2

# ---- a thin pool's innards
dmsetup create pool_tmeta --table "0 4096 linear /dev/ram3 0" || die "no thin pool's metadata"
dmsetup create pool_tdata --table "0 8192 linear /dev/ram3 4096" || die "no thin pool's data"
dmsetup create pool --table "0 8192 thin-pool /dev/mapper/pool_tmeta /dev/mapper/pool_tdata 128 0" || die "no thin pool"
dmsetup message pool 0 "create_thin 0" || die "no thin volume"
dmsetup create thin1 --table "0 8192 thin /dev/mapper/pool 0" || die "no thin volume's map"
look thin_disk /dev/ram3
look thin_tdata /dev/mapper/pool_tdata
look thin_pool /dev/mapper/pool
dmsetup remove thin1
look thin_tdata_alone /dev/mapper/pool_tdata
look thin_pool_alone /dev/mapper/pool

# ---- served to other hosts, by the kernel, which does not hold it exclusively
namespace=/sys/kernel/config/nvmet/subsystems/s/namespaces/1
mkdir -p $namespace || die "no nvmet"
printf /dev/ram4 >$namespace/device_path
echo 1 >$namespace/enable || die "no nvmet namespace"
look nvmet /dev/ram4
disk=/sys/kernel/config/target/core/fileio_0/disk
mkdir -p $disk || die "no LIO"
echo "fd_dev_name=/dev/ram5,fd_dev_size=8388608" >$disk/control
echo 1 >$disk/enable || die "no LIO disk"
printf /dev/ram5 >$disk/udev_path
look lio /dev/ram5
