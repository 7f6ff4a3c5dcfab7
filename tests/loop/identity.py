#!/usr/bin/python3
"""Who uses a LUN and what lies inside another one, with partitions, mounts and swap on loop devices."""

import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

QUICK = ("--time", "0.2s", "--size", "4k", "--json", "-")


@contextlib.contextmanager
def partitioned():
    """A loop of two partitions, and their paths."""
    need(shutil.which("addpart"), "needs addpart")
    with loop_of("64M") as lun, contextlib.ExitStack() as stack:
        for n in (1, 2):  # a kernel may know no partition tables, but it can be told
            sh("addpart", lun.path, str(n), str(n << 15), str(1 << 15))
            undo = Undo(f"partition {n} of {lun}", lambda n=n: sh("delpart", lun.path, str(n)))
            stack.callback(undo)
            wait_for(lambda: os.path.exists(f"{lun}p{n}"), f"partition {n} is there")
        yield lun, f"{lun}p1", f"{lun}p2"


def listed(*targets):
    return {x["name"]: x for x in json.loads(lunbench("list", "--json", "-", *targets).expect(0).out)["luns"]}


def in_use(doc):
    return {f["lun"]: f["text"].split(":")[0] for f in doc["findings"] if f["code"] == "in-use"}


@test("a partition beside its disk is passed over; alone it is measured")
def _():
    with partitioned() as (lun, one, two):
        for targets in ((lun, one, two), (two, lun), (one, lun)):
            r = lunbench(*QUICK, *targets).expect(0)
            eq([x["name"] for x in r.json["luns"]], [str(lun)], "LUNs measured")
            lines = [f"lunbench: {x}: passed over: lies inside {lun}, which is measured whole" for x in targets if x != lun]
            eq(r.err.splitlines(), lines, "stderr")
            eq([t["fate"] for t in r.json["targets"]], ["fit" if x == lun else "passed_over" for x in targets], "fates")
        doc = lunbench(*QUICK, one, two).expect(0).json
        eq([(x["name"], x["lies_on"], x["wwid"]) for x in doc["luns"]], [(one, [lun.name], None), (two, [lun.name], None)], "rows")
        eq(in_use(doc), {}, "in use")


@test("a LUN with a mounted partition, and one that is mounted itself, are measured and said to be in use")
def _():
    with partitioned() as (lun, one, two), loop_of("16M") as plain:
        sh("mkfs.ext4", "-q", one)
        sh("mkfs.ext4", "-q", plain.path)
        with tmpdir() as a, tmpdir() as b:
            os.mkdir(f"{b}/with blank")
            with mounted(one, a), mounted(plain.path, f"{b}/with blank"):
                doc = lunbench(*QUICK, lun, plain).expect(0).json
                used = {str(lun): f"mounted on {a} ({one[5:]})", str(plain): f"mounted on {b}/with blank"}
                eq(in_use(doc), used, "in use")
                eq([x["held_by"] for x in doc["luns"]], [[f"mounted on {a}"], [f"mounted on {b}/with blank"]], "held_by")
                rows = listed(lun, plain, two)
                eq([rows[x]["in_use"] for x in (str(lun), str(plain), two)], [*used.values(), None], "in use, by the list")
                has(lunbench("list", plain).expect(0).out, f"mounted on {b}/with blank$", "list")
        eq(in_use(lunbench(*QUICK, lun, plain).expect(0).json), {}, "in use after umount")


@test("swap is in use as long as it is on")
def _():
    with loop_of("16M", "zero") as lun:
        sh("mkswap", lun.path)
        try:
            sh("swapon", lun.path)
        except RuntimeError as e:
            raise Skip(f"cannot swapon: {e}") from None
        off = Undo(f"swap on {lun}", lambda: sh("swapoff", lun.path))
        try:
            eq(in_use(lunbench(*QUICK, lun).expect(0).json), {str(lun): "swap"}, "in use")
            eq(listed(lun)[str(lun)]["held_by"], ["swap"], "held_by")
        finally:
            off()
        eq(in_use(lunbench(*QUICK, lun).expect(0).json), {}, "in use after swapoff")


@test("the list has loops that have a file and zrams that have a size, and no partitions; 4Kn and read-only are seen")
def _():
    with partitioned() as (lun, one, _), loop_of("8M", sector=4096, read_only=True) as ro, zram("8M") as disk:
        rows = listed()
        ok(one not in rows, f"{one} is listed")
        for dev in (lun, ro, disk):
            eq(rows[str(dev)]["size_bytes"], dev.size_bytes, f"size of {dev}")
        eq((rows[str(ro)]["logical_block_bytes"], rows[str(ro)]["read_only"], rows[str(lun)]["read_only"]), (4096, True, False),
           "4Kn and read-only")
        has(lunbench("list").expect(0).out, f"^{ro} .* 4096 +refused +read-only$", "stdout")
        gone = str(disk)
    ok(gone not in listed(), "a zram that is gone is listed")


main()
