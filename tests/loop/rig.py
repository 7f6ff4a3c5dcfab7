#!/usr/bin/python3
"""The rig's own devices do what the tests take for granted; lunbench has no part in it."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403


def direct_read(disk, bs, count=1, limit=CMD_LIMIT_S, **how):
    return run("dd", f"if={disk}", "of=/dev/null", f"bs={bs}", f"count={count}", "iflag=direct", limit=limit, **how)


@test("rig: a loop has the size, sectors and data of its file, and the kernel counts its reads")
def _():
    with loop_of("8M", "random", direct=True) as lun:
        eq(lun.size_bytes, 8 << 20, "size")
        eq(lun.attr("loop/dio"), "1", "direct I/O")
        before = lun.stat()
        direct_read(lun, 4096, 100).expect(0)
        done = lun.stat() - before
        eq((done.reads, done.read_bytes, done.writes), (100, 409600, 0), "reads, bytes, writes")
    with loop_of("8M", on="tmpfs", sector=4096) as lun:
        eq(lun.attr("queue/logical_block_size"), "4096", "logical block")
        direct_read(lun, 512).expect(1, err="Invalid argument")


@test("rig: a loop may be read-only, or 20 TB long")
def _():
    with loop_of("1M", read_only=True) as lun:
        eq(lun.attr("ro"), "1", "ro")
    with loop_of("20T", on="tmpfs") as lun:
        eq(lun.size_bytes, 20 << 40, "size")


@test("rig: what lies past the end of a loop's file gives EIO, and a refreshed loop is smaller")
def _():
    with loop_of("8M", "zero", direct=True) as lun:
        os.truncate(lun.backing, 4 << 20)
        run("dd", f"if={lun}", "of=/dev/null", "bs=4k", "skip=1536", "count=1", "iflag=direct").expect(1, err="Input/output")
        lun.refresh_size()
        eq(lun.size_bytes, 4 << 20, "size")


@test("rig: zram comes and goes")
def _():
    with zram("64M") as disk:
        eq(disk.size_bytes, 64 << 20, "size")
        direct_read(disk, 4096, 10).expect(0)
    ok(not disk.sys.exists(), f"{disk} is still there")


@test("rig: a frozen file system holds I/O until it is thawed")
def _():
    with freezable("8M") as lun:
        direct_read(lun, 4096).expect(0)
        lun.freeze()
        stuck = Running(["dd", f"if={lun}", "of=/dev/null", "bs=4k", "count=1", "skip=9", "iflag=direct"])
        time.sleep(0.3)
        ok(stuck.alive(), "a read ended while frozen")
        lun.thaw()
        stuck.wait(10).expect(0)


@test("rig: a throttle holds a process to its rate")
def _():
    with loop_of("8M", "random") as lun, throttle(lun, read_iops=200) as group:
        r = direct_read(lun, 4096, 200, cgroup=group).expect(0)
        between(r.secs, 0.8, 1.5, "seconds for 200 reads at 200 a second")


main()
