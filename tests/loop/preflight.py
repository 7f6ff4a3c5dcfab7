#!/usr/bin/python3
"""Before a run: limits that are too low stop it before anything is begun; and two runs on one LUN see each other."""

import pathlib
import stat
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403


def codes(doc, lun):
    return [f["code"] for f in doc["findings"] if f["lun"] == str(lun)]


def child_of(running):
    """The process of a run that has the LUNs."""
    path = f"/proc/{running.pid}/task/{running.pid}/children"
    return int(wait_for(lambda: pathlib.Path(path).read_text(), "the measuring process is there"))


def begun(lun):
    """Waits until somebody reads the LUN."""
    before = lun.stat().reads
    wait_for(lambda: lun.stat().reads > before + 100, "the run has begun")


# ---- limits

@test("the pids cgroup: too few threads are status 3 before one is made")
def _():
    with loop_of("8M", "random") as lun, limited("pids", 40) as group:
        before = lun.stat()
        r = lunbench("--engine", "sync", "--qd", "64", lun, cgroup=group).expect(3)
        has(r.err, rf"^lunbench: the run needs 64 threads, and pids.max of cgroup {group.name} leaves 38 \(2 of 40 in use\): "
            r"raise it \(systemd: TasksMax=66\), or take a smaller --qd \(engine sync\) or fewer --workers$", "stderr")
        eq(len(r.err.splitlines()), 1, "lines of stderr")
        ok((lun.stat() - before).reads <= 1, "it was read")
        lunbench("--engine", "sync", "--qd", "38", "--time", "0.2", lun, cgroup=group).expect(0)


@test("the memory cgroup: too little for the buffers is status 3, not a kill")
def _():
    with loop_of("64M", "random") as lun, limited("memory", "64M") as group:
        r = lunbench("--size", "1M", "--qd", "128", lun, cgroup=group).expect(3)
        has(r.err, rf"^lunbench: the run needs 129M memory for buffers and figures, and the memory limit of cgroup {group.name} leaves "
            r"\d+M \(\d+M of 64M in use\): raise it \(systemd: MemoryMax=\d+M\), or take a smaller --qd or --size, or fewer LUNs$", "stderr")
        r = lunbench("check", "--size", "1M", "--qd", "128", "--json", "-", lun, cgroup=group).expect(3)
        eq([row["code"] for row in r.json["stops"]], ["cgroup-memory"], "stops")
        lunbench("--size", "1M", "--qd", "32", "--time", "0.2", lun, cgroup=group).expect(0)


@test("check reads nothing but what opening does, and tells what sysfs knows")
def _():
    with loop_of("64M", "random") as lun, loop_of("64M", "random", sector=4096) as other:
        before = lun.stat()
        max_kib = int(lun.attr("queue/max_sectors_kb"))
        args = ("--qd", "512", "--size", f"{2 * max_kib}k", "--engine", "libaio", "--region", "0-32M", lun, other)
        doc = lunbench("check", "--json", "-", *args).expect(0).json
        check_schema(doc, "schema/lunbench-check-1.schema.json")
        eq((lun.stat() - before).reads, 0, "reads")
        eq(codes(doc, lun), ["qd-above-device", "split-io", "host-cache"], "findings of the LUN")
        text = [f["text"] for f in doc["findings"] if f["code"] == "blocks-differ"]
        eq(text, [f"the LUNs are not of one sector size: {lun} has blocks of 512 (physical 512), {other} of 4096 (physical 4096); "
                  "an ASM disk group takes one only"], "of sectors")


@test("the findings of check are those of the run")
def _():
    with loop_of("64M", "random") as a, loop_of("32M", "random") as b:
        args = ("--qd", "300", "--size", "4k", "--json", "-", a, b)
        before = lunbench("check", *args).expect(0).json["findings"]
        after = lunbench("--time", "0.3", *args).expect(0).json["findings"]
        eq([f["code"] for f in before], ["qd-above-device"] * 2 + ["host-cache"] * 2 + ["sizes-differ"], "findings")
        eq([f for f in after if f["code"] in ("qd-above-device", "host-cache", "sizes-differ")], before, "findings of the run")


@test("a loop device that the host caches is told of, one with direct I/O is not")
def _():
    with loop_of("64M", "random") as cached, loop_of("64M", "random", direct=True) as direct:
        need(direct.attr("loop/dio") == "1", "needs a file system with direct I/O under a loop device")
        doc = lunbench("--time", "0.3", "--json", "-", cached, direct).expect(0).json
        eq([f["lun"] for f in doc["findings"] if f["code"] == "host-cache"], [str(cached)], "whose data lies in memory")


# ---- two runs

@test("two runs on one LUN see each other, whichever began first and whichever ends first")
def _():
    with loop_of("64M", "random") as lun, loop_of("64M", "random") as own:
        for first_s, second_s in (("5", "2"), ("2", "3")):
            first = start("--time", first_s, "--json", "-", lun)
            begun(lun)
            pid = child_of(first)
            second = start("--time", second_s, "--json", "-", own, lun)
            begun(own)
            second_pid = child_of(second)
            docs = [x.wait().expect(0).json for x in (first, second)]
            for doc, other in zip(docs, (second_pid, pid)):
                check_schema(doc, "schema/lunbench-result-1.schema.json")
                texts = [f["text"] for f in doc["findings"] if f["code"] == "shared-lun"]
                eq(texts, [f"another lunbench run (pid {other}) reads it at the same time: the figures are of a LUN that is shared"], "texts")
                ok("shared-lun" in codes(doc, lun), "the LUN it is said of")
                eq(codes(doc, own).count("shared-lun"), 0, "said of the LUN that is not shared")
        lacks(lunbench("--time", "0.2", lun).expect(0).out, "shared-lun", "the report of a run alone")


@test("two runs that begin at once see each other; a file is as good")
def _():
    with loop_of("64M", "random") as lun, scratch_file("64M", "random") as file:
        for target in (lun, file):
            for _ in range(3):
                both = [start("--time", "2", "--json", "-", target) for _ in range(2)]
                for doc in [x.wait().expect(0).json for x in both]:
                    eq(codes(doc, target).count("shared-lun"), 1, f"{target}: shared-lun")


@test("two nodes of one device are one LUN to two runs")
def _():
    with tmpdir() as d, loop_of("64M", "random") as lun:
        os.mknod(f"{d}/node", 0o600 | stat.S_IFBLK, os.stat(lun.path).st_rdev)
        first = start("--time", "3", "--json", "-", lun)
        begun(lun)
        second = lunbench("--time", "1.3", "--json", "-", f"{d}/node").expect(0).json
        eq(codes(second, f"{d}/node").count("shared-lun"), 1, "of the second")
        eq(codes(first.wait().expect(0).json, lun).count("shared-lun"), 1, "of the first")


@test("check sees a run; a lock of others for a moment, as udev takes it, is nothing")
def _():
    with loop_of("64M", "random") as lun:
        going = start("--time", "30", lun)
        begun(lun)
        doc = lunbench("check", "--json", "-", lun).expect(0).json
        eq(codes(doc, lun), ["shared-lun", "host-cache"], "findings")
        going.signal(2)
        going.wait().expect(130)
        holder = Running(["flock", "--shared", lun.path, "sleep", "30"])
        wait_for(lambda: f":{os.stat(lun.path).st_ino} " in pathlib.Path("/proc/locks").read_text(), "it is locked")
        r = lunbench("check", "--json", "-", lun).expect(0)
        eq(codes(r.json, lun), ["host-cache"], "findings beside a shared lock")
        ok(r.secs < 0.8, f"took {r.secs:.1f} s")
        holder.kill()


main()
