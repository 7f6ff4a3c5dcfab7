#!/usr/bin/python3
"""Writes: what reaches the LUN and what does not, the mix, consent, and the fill."""

import collections
import hashlib
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

ENGINES = ("io_uring", "libaio", "sync")
WRITE = ("--allow-write", "--op", "write")


def result(status, *args, **how):
    doc = lunbench("--json", "-", *args, **how).expect(status).json
    check_schema(doc, "schema/lunbench-result-1.schema.json")
    return doc


def data(disk, start=0, size=None):
    with open(disk, "rb") as f:
        f.seek(start)
        return f.read() if size is None else f.read(size)


def is_ours(sector):
    """As src/data.h knows lunbench's own data."""
    stamp, check = struct.unpack_from("<QQ", sector)
    z = (stamp ^ 0x6c756e62656e6368) * 0xd1342543de82ef95 & (1 << 64) - 1
    return check == z ^ z >> 32


def flushes(disk):
    return int(disk.attr("stat").split()[15])


for engine in ENGINES:
    @test(f"{engine}: the kernel wrote as many bytes as were issued, and they are lunbench's own, no block twice")
    def _(engine=engine):
        need_root()
        with loop_of("64M") as disk:
            before = disk.stat()
            doc = result(0, "--engine", engine, *WRITE, "--size", "8k", "--qd", "16", "--time", "500ms", disk.path)
            row = doc["luns"][0]
            eq((disk.stat() - before).write_bytes, row["bytes_issued"], "bytes by the kernel")
            eq((row["write"]["xfers"], row["read"]["xfers"]), (row["xfers"], 0), "xfers by op")
            eq(row["write"]["latency"], row["latency"], "latency")
            image = data(disk.path)
            blocks = [image[i:i + 4096] for i in range(0, len(image), 4096) if image[i:i + 4096] != bytes(4096)]
            ok(len(blocks) > 1000, f"{len(blocks)} blocks written")
            ok(all(is_ours(block) for block in blocks), "a block that lunbench would not know again")
            eq(len(set(hashlib.sha256(block).digest() for block in blocks)), len(blocks), "different blocks")


for engine in ENGINES:
    @test(f"{engine}: --op rw deals the asked share, in a short run too, and tells reads and writes apart")
    def _(engine=engine):
        need_root()
        with loop_of("64M") as disk:
            for pct in (0, 30, 70, 100):
                doc = result(0, "--engine", engine, "--allow-write", "--op", "rw", "--read-pct", pct, "--size", "4k",
                             "--qd", "4", "--count", "2000", disk.path)
                row = doc["luns"][0]
                eq(row["xfers"], 2000, "xfers")
                eq(row["read"]["xfers"] + row["write"]["xfers"], 2000, "reads and writes")
                near(row["read"]["xfers"] / 20, pct, "share of reads", abs=0.5)
                for key in ("bytes", "errors", "late", "ios_issued", "bytes_issued"):
                    eq(row["read"][key] + row["write"][key], row[key], key)
                both = collections.Counter()
                for op in ("read", "write"):
                    for low, _, n in row[op]["histogram_ns"]:
                        both[low] += n
                eq(dict(both), {low: n for low, _, n in row["histogram_ns"]}, "histograms added up")


for engine in ENGINES:
    @test(f"{engine}: a mix of sizes is written as it was issued, each 4 KB lunbench's own and no two alike; reads have the same mix")
    def _(engine=engine):
        need_root()
        with loop_of("128M") as disk:
            before = disk.stat()
            doc = result(0, "--engine", engine, "--allow-write", "--op", "rw", "--read-pct", 50, "--size", "4k:50,12k:30,256k:20",
                         "--qd", 8, "--count", 4000, disk.path)
            row = doc["luns"][0]
            eq((disk.stat() - before).write_bytes, row["write"]["bytes_issued"], "bytes written by the kernel's count")
            eq(row["kernel_bytes"], row["bytes_issued"], "bytes read and written by the kernel's count")
            for op in ("read", "write"):
                rows = {f["size_bytes"]: f for f in row["by_size"] if f["op"] == op}
                eq(sum(f["xfers"] for f in rows.values()), row[op]["xfers"], f"{op}s by size")
                for size, pct in ((4096, 50), (12288, 30), (262144, 20)):
                    near(100 * rows[size]["xfers"] / row[op]["xfers"], pct, f"share of {size}, {op}s", abs=1.5)
            image = data(disk.path)
            blocks = [image[i:i + 4096] for i in range(0, len(image), 4096) if image[i:i + 4096] != bytes(4096)]
            ok(len(blocks) > 10000, f"{len(blocks)} blocks written")
            ok(all(is_ours(block) for block in blocks), "a block that lunbench would not know again")
            eq(len(set(hashlib.sha256(block).digest() for block in blocks)), len(blocks), "different blocks")
            # stamps aside they differ as well: each size has data of its own, which repeats after 160 MB only
            eq(len(set(hashlib.sha256(block[64:]).digest() for block in blocks)), len(blocks), "blocks that differ without their stamps")


@test("only the region is written, and not the odd tail")
def _():
    need_root()
    with loop_of((8 << 20) + 3 * 512, fill="random") as disk:
        old = data(disk.path)
        wwid = disk.path
        result(0, *WRITE, "--overwrite", wwid, "--size", "16k", "--region", "1M-2M", "--count", "500", disk.path)
        new = data(disk.path)
        eq((new[:1 << 20] == old[:1 << 20], new[2 << 20:] == old[2 << 20:]), (True, True), "outside is as it was")
        ok(new[1 << 20:2 << 20] != old[1 << 20:2 << 20], "nothing was written")
        result(0, *WRITE, "--overwrite", wwid, "--size", "16k", "--pat", "seq", "--count", "1000", disk.path)
        eq(data(disk.path)[8 << 20:], old[8 << 20:], "the odd tail")


@test("without consent, or on what holds something, not a byte is written on any LUN")
def _():
    need_root()
    with loop_of("16M") as blank, loop_of("16M") as held:
        sh("mkfs.ext4", "-q", held.path)
        before = [hashlib.sha256(data(d.path)).digest() for d in (blank, held)]
        for args, why in (
                (("--op", "write"), "--allow-write"),
                ((*WRITE,), rf"{held.path}: .*ext4"),
                ((*WRITE, "--overwrite", blank.path), rf"{held.path}: .*ext4"),
                ((*WRITE, "--overwrite", held.path, "--overwrite", "360000000000000000e00000000010001"), "none of the LUNs"),
                (("--allow-write", "--fill", "--op", "read"), rf"{held.path}: .*ext4")):
            r = lunbench("--count", "100", *args, blank.path, held.path).expect(2, err=why)
            eq(r.out, "", "stdout")
            eq([hashlib.sha256(data(d.path)).digest() for d in (blank, held)], before, "what is on the LUNs")
        doc = lunbench("--json", "-", *WRITE, blank.path, held.path).expect(2).json
        eq([t["fate"] for t in doc["targets"]], ["fit", "refused"], "fates")
        result((0, 1), "--count", "100", *WRITE, "--overwrite", held.path, blank.path, held.path)
        result(0, "--count", "100", *WRITE, blank.path)  # it knows its own data again


@test("a LUN in use is refused, whatever is said")
def _():
    need_root()
    with loop_of("16M") as disk, tmpdir() as d:
        sh("mkfs.ext4", "-q", disk.path)
        with mounted(disk.path, d):
            lunbench("--count", "100", *WRITE, "--overwrite", disk.path, disk.path).expect(2, err="mounted")
        sh("mkswap", disk.path)
        sh("swapon", disk.path)
        undo = Undo("swapoff", lambda: sh("swapoff", disk.path))
        lunbench("--count", "100", *WRITE, "--overwrite", disk.path, disk.path).expect(2, err="swap")
        undo()
        lunbench("--count", "100", *WRITE, disk.path).expect(2, err="swap")
        with open(disk.path, "rb"):
            lunbench("--count", "100", *WRITE, "--overwrite", disk.path, disk.path).expect(2, err="open")


@test("--fill writes every block once, whatever the region, before the reads are measured")
def _():
    need_root()
    with loop_of("40M") as disk, loop_of("33M") as other:
        doc = result(0, "--allow-write", "--fill", "--count", "200", "--qd", "4", "--region", "1536-", disk.path,
                     other.path)
        for lun, row in zip((disk, other), doc["luns"]):
            image = data(lun.path)
            end = row["region_end_bytes"]
            ok(all(image[i:i + 4096] != bytes(4096) for i in range(512 * 3, end - 4095, 4096)), "a block left out")
            eq(image[:512 * 3], bytes(512 * 3), "what lies before the region")
            eq(image[end:], bytes(len(image) - end), "what lies after the region")
            eq(row["zero_fraction"], 0.0, "zero_fraction")
        eq([f for f in doc["findings"] if f["code"] == "zeros"], [], "findings")


for engine in ENGINES:
    @test(f"{engine}: --sync dsync has each write on stable storage, none does not")
    def _(engine=engine):
        need_root()
        with loop_of("16M") as disk:
            need(disk.attr("queue/write_cache") == "write back", "needs a loop with a write cache")
            counts = []
            for sync in ("none", "dsync"):
                before = flushes(disk)
                doc = result(0, "--engine", engine, *WRITE, "--sync", sync, "--qd", "1", "--size", "4k", "--count", "50", disk.path)
                counts.append(flushes(disk) - before)
                eq(doc["plan"]["phases"][0]["streams"][0]["dsync"], sync == "dsync", "dsync")
            ok(counts[0] < 5, f"{counts[0]} flushes without dsync")
            # one for each write, unless several share it
            ok(counts[1] >= 50, f"{counts[1]} flushes with dsync")


@test("scratch takes writes without consent")
def _():
    doc = result(0, "--op", "rw", "--scratch", "2x8M", "--count", "500", "--size", "4k")
    ok(doc["total"]["write"]["xfers"] > 0 and doc["total"]["read"]["xfers"] > 0, "no xfers")


main()
