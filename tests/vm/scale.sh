#!/bin/sh
# 2000 LUNs: how long the list takes, and a run until its first I/O.
# On virtual time, a nanosecond an instruction: what else this machine does is not in it.
# vm: -m 1536 -i -t 900
# shellcheck source=tests/vm/guest-lib.sh
. ./guest-lib.sh

modprobe null_blk nr_devices=2000 queue_mode=2 submit_queues=1 hw_queue_depth=8 gb=1 || die "no null_blk"
await are_disks nullb1999 || die "2000 LUNs do not show up"
now() { cut -d' ' -f1 /proc/uptime; }

fact list_began "$(now)"
./lunbench list >/tmp/list
fact list_status $?
fact list_ended "$(now)"
fact list_luns "$(grep -c '^/dev/nullb' /tmp/list)"
echo "# $(cut -c1-90 /tmp/list | sed -n '1,4p;$p' | tr '\n' '|')"
fact run_epoch "$(date +%s)"
fact run_began "$(now)"
./lunbench --size 4k --qd 1 --time 0.3s --json - /dev/nullb* >/tmp/run.json 2>/tmp/run.err
fact run_status $?
fact run_ended "$(now)"
fact run_times "$(sed -n 's/^  "\(start_utc\|window_s\|warmup_s\)": "*\([^",]*\).*/\2/p' /tmp/run.json | tr '\n' ' ')"
fact run_luns "$(grep -c '"kernel_name": "nullb' /tmp/run.json)"
echo "# $(head -c 300 /tmp/run.err)"
