#!/usr/bin/python3
"""What a run says of real devices against what the kernel says of it, and what it does when they fail."""

import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

ENGINES = ("io_uring", "libaio", "sync")


def result(status, *args, **how):
    return lunbench("--json", "-", *args, **how).expect(status).json


def findings(doc, code, name):
    """The texts of the findings with that code, of the LUN of that name."""
    return [f["text"] for f in doc["findings"] if f["code"] == code and f["lun"] == str(name)]


@contextlib.contextmanager
def trace(disk):
    """Yields a function that gives (sector, sectors) of each request sent to the disk since, in order."""
    need_root()
    with tmpdir() as d:
        with hold_signals():
            need(run("mount", "-t", "tracefs", "none", d).status == 0, "needs tracefs")
            undo = Undo(f"mount {d}", lambda: sh("umount", d))
        try:
            need(os.path.exists(f"{d}/events/block/block_rq_issue"), "needs the tracepoint block_rq_issue")
            instance = pathlib.Path(d, "instances", f"lunbench-test-{os.getpid()}")
            with hold_signals():
                instance.mkdir()
                forget = Undo(str(instance), instance.rmdir)
            try:
                (instance / "buffer_size_kb").write_text("16384")
                event = instance / "events/block/block_rq_issue"
                major, minor = map(int, disk.dev.split(":"))
                (event / "filter").write_text(f"dev == {major << 20 | minor}")

                def issued():
                    (event / "enable").write_text("0")
                    text = (instance / "trace").read_text()
                    kept = re.search(r"entries-in-buffer/entries-written: (\d+)/(\d+)", text)
                    eq(kept[1], kept[2], "trace entries kept and written")
                    # block_rq_issue: 7,0 R 4096 () 1234 + 8 none,0,0 [lunbench]
                    seen = re.findall(r"block_rq_issue: \S+ R\S* \d+ \(.*\) (\d+) \+ (\d+)", text)
                    (instance / "trace").write_text("")
                    (event / "enable").write_text("1")
                    return [(int(a), int(n)) for a, n in seen]
                issued()
                yield issued
                (event / "enable").write_text("0")
            finally:
                forget()
        finally:
            undo()


# ---- what is sent to the device

@test("random reads fall evenly on the whole of a 20 TB LUN, and a seed repeats them exactly")
def _():
    with loop_of("20T", on="tmpfs") as lun, trace(lun) as issued:
        args = ("--pat", "rand", "--size", "4k", "--workers", "1", "--count", "20000", "--time", "20s", lun)
        seen = {}
        for run_of, seed in (("a", 7), ("b", 7), ("c", 8)):
            result(0, "--seed", seed, *args)
            # the look at NOWAIT before the run is smaller; how many come after the last counted one is chance
            seen[run_of] = [sector for sector, n in issued() if n == 8][:20000]
            eq(len(seen[run_of]), 20000, "reads")
        eq(seen["a"], seen["b"], "sectors of two runs with one seed")
        a, c = set(seen["a"]), set(seen["c"])
        ok(len(a & c) < 5, f"{len(a & c)} of 20000 sectors are the same with another seed")
        eq([x for x in a if x % 8], [], "sectors that are not aligned")
        total = (20 << 40) // 512
        ok(len(seen["a"]) - len(a) < 5, "repeats: one in 27 runs has a single one")
        deciles = collections.Counter(x * 10 // total for x in seen["a"])
        for decile in range(10):  # 2000 expected, standard deviation 42
            between(deciles[decile], 1790, 2210, f"reads in decile {decile}")
        ok(max(a) > total * 0.999, f"nothing in the last thousandth: {max(a)} of {total}")


@test("every block of a region is reached and none outside it: the first, the last, and not the odd tail")
def _():
    with loop_of((1 << 20) + 3 * 512) as lun, trace(lun) as issued:
        for pat in ("rand", "seq"):
            for region, first, blocks in (("0-100%", 0, 64), ("512-1M", 1, 63), ("256k-768k", 512, 32), ("1k-100k", 2, 6)):
                result(0, "--pat", pat, "--size", "16k", "--region", region, "--count", "4000", "--time", "20s", lun)
                # the kernel may have joined neighbours; a single sector is the look at NOWAIT before the run
                seen = {sector + i for sector, n in issued() if n > 1 for i in range(0, n, 32)}
                eq(sorted(seen), [first + 32 * i for i in range(blocks)], f"sectors of {region}, {pat}")


@test("--pat perm reads every block once before any again, whatever drives it, and the same again")
def _():
    with loop_of(37 << 20) as lun, trace(lun) as issued:  # 9472 blocks
        orders = []
        for how in (["--engine", "io_uring"], ["--engine", "libaio", "--workers", 2, "--threads-per-lun", 2],
                    ["--engine", "sync", "--qd", 4]):
            doc = result(0, "--pat", "perm", "--size", "4k", "--time", "20s", "--count", 2 * 9472, *how, lun)
            # the kernel may have joined neighbours; what is smaller is the look at NOWAIT before the run
            orders.append([sector // 8 + i for sector, n in issued() for i in range(n // 8)])
            # what is in flight together comes in any order, so a few blocks stand on the other side of the edge
            once = collections.Counter(orders[-1][:9472 - 64])
            eq(max(once.values()), 1, f"reads of one block in the first pass, {how}")
            eq(sorted(set(range(9472)) - set(orders[-1])), [], f"blocks not read, {how}")
            ok(doc["luns"][0]["passes"] >= 2, f"passes: {doc['luns'][0]['passes']}")  # and what is before the window
            has(*findings(doc, "wrapped", lun), r"^the region was passed \d+\.\d times")
        one = orders[0]
        eq([one[i] for i in range(64, 9408) if one[i] not in one[9472 + i - 64:9472 + i + 64]][:1], [], "the second pass goes another way")
        neighbours = sum(abs(a - b) == 1 for a, b in zip(one, one[1:]))
        ok(neighbours < 20, f"{neighbours} steps from one block to the next: 4 are chance")


@test("--pat perm on a 20 TB LUN: no block comes twice, and they lie everywhere")
def _():
    with loop_of("20T", on="tmpfs") as lun, trace(lun) as issued:
        result(0, "--pat", "perm", "--size", "4k", "--count", 20000, "--time", "20s", lun)
        seen = [sector + 8 * i for sector, n in issued() for i in range(n // 8)]
        ok(len(seen) >= 20000, f"{len(seen)} reads")
        eq(len(set(seen)), len(seen), "different blocks")
        deciles = collections.Counter(x * 10 // ((20 << 40) // 512) for x in seen[:20000])
        for decile in range(10):
            between(deciles[decile], 1790, 2210, f"reads in decile {decile}")


@test("--pat hot and zipf: some blocks get the asked share of the reads, and lie scattered")
def _():
    with loop_of("4M") as lun, trace(lun) as issued:  # 1000 blocks of 4k, and an odd 24
        for pat, top, share in (("hot:20/80", 200, .8), ("hot:0.5/50", 5, .5), ("zipf:0.99", 1, .1294), ("zipf:1.5", 1, .3923)):
            doc = result(0, "--pat", pat, "--size", "4k", "--region", "0-4000k", "--count", 20000, "--time", "20s",
                         "--threads-per-lun", 2, lun)
            reads = [sector // 8 + i for sector, n in issued() for i in range(n // 8)]
            often = [block for block, _ in collections.Counter(reads).most_common(top)]
            of_top = sum(block in often for block in reads) / len(reads)
            between(of_top, share - .015, share + .015, f"share of the {top} most frequent, {pat}")  # 4 standard deviations
            ok(max(reads) < 1000, f"block {max(reads)} of 1000")
            if top == 200:
                between(sum(block < 500 for block in often), 75, 125, "hot blocks in the first half")
            stream = doc["plan"]["phases"][0]["streams"][0]
            want = {"hot:20/80": ("hot", None, 20, 80), "hot:0.5/50": ("hot", None, .5, 50), "zipf:0.99": ("zipf", .99, None, None),
                    "zipf:1.5": ("zipf", 1.5, None, None)}[pat]
            eq(tuple(stream[k] for k in ("pattern", "zipf_theta", "hot_blocks_pct", "hot_xfers_pct")), want, f"in the plan, {pat}")
            eq(doc["luns"][0]["passes"], None, "passes")


@test("--seq-streams: each stream goes through its own part in order")
def _():
    with loop_of("3M") as lun, trace(lun) as issued:  # 192 blocks of 16k, in parts of 48
        for how in (["--engine", "io_uring"], ["--engine", "libaio", "--workers", 2, "--threads-per-lun", 2],
                    ["--engine", "sync"]):
            doc = result(0, "--pat", "seq", "--size", "16k", "--seq-streams", 4, "--qd", 8, "--count", 10000, "--time", "20s", *how, lun)
            reads = [sector // 32 + i for sector, n in issued() for i in range(n // 32)]
            for stream in range(4):
                mine = [block for block in reads if block // 48 == stream]
                eq(sorted(set(mine)), list(range(48 * stream, 48 * stream + 48)), f"blocks of stream {stream}, {how}")
                # in flight together come two, in either order; and a thread may be kept from its CPU
                near = sum(abs(b - a) <= 3 for a, b in zip(mine[:48], mine[1:48]))
                ok(near >= 40, f"stream {stream}, {how}: {mine[:48]}")
            ok(doc["luns"][0]["passes"] >= 10000 / 192, f"passes: {doc['luns'][0]['passes']}")
            eq(doc["plan"]["phases"][0]["streams"][0]["seq_streams"], 4, "in the plan")
        r = lunbench("--pat", "seq", "--size", "1M", "--seq-streams", 4, lun).expect(2)
        has(r.err, "its region holds 3 transfers of --size 1M, --seq-streams 4 needs as many")


@test("a mix of sizes: each request of one of them, on a multiple of itself, in the asked share, to the kernel's count")
def _():
    with loop_of((64 << 20) + 512) as lun, trace(lun) as issued:
        for how in (["--engine", "io_uring"], ["--engine", "libaio", "--workers", 2, "--threads-per-lun", 2],
                    ["--engine", "sync", "--qd", 4]):
            issued()
            doc = result(0, "--size", "4k:50,24k:30,64k:20", "--count", 3000, "--time", "20s", *how, lun)
            seen = [(sector, n) for sector, n in issued() if n >= 8]  # the look at NOWAIT before the run is smaller
            sizes = collections.Counter(n for _, n in seen)
            # neighbours may have been joined, rarely
            ok(sum(sizes[n] for n in (8, 48, 128)) >= .99 * len(seen), f"requests by sectors, {how}: {sizes}")
            for n, pct in ((8, 50), (48, 30), (128, 20)):
                between(sizes[n] / len(seen), pct / 100 - .02, pct / 100 + .02, f"share of {n} sectors, {how}")
                eq([x for x, length in seen if length == n and x % n], [], f"requests of {n} sectors off their multiples, {how}")
            row = doc["luns"][0]
            eq(row["xfers"], 3000, "xfers")
            eq([(f["op"], f["size_bytes"]) for f in row["by_size"]], [("read", 4096), ("read", 24576), ("read", 65536)], "rows")
            eq(sum(f["xfers"] for f in row["by_size"]), 3000, "xfers by size")
            eq(sum(f["bytes"] for f in row["by_size"]), row["bytes"], "bytes by size")
            eq(row["bytes_issued"], row["kernel_bytes"], "bytes by the kernel's count")
            series = row["series"]["read"]
            eq((sum(series["xfers"]), sum(series["bytes"])), (row["xfers"], row["bytes"]), "the series added up")
            eq(min(f["latency"]["min_ns"] for f in row["by_size"]), row["latency"]["min_ns"], "the shortest latency")
            eq(len({f["latency"]["mean_ns"] for f in row["by_size"]}), 3, "different means")
            eq([(x["size_bytes"], x["pct"]) for x in doc["plan"]["phases"][0]["streams"][0]["sizes"]],
               [(4096, 50), (24576, 30), (65536, 20)], "in the plan")


@test("a sequential mix of sizes goes end to end")
def _():
    with loop_of("8M") as lun, trace(lun) as issued:
        result(0, "--pat", "seq", "--size", "512:20,4k:50,20k:30", "--qd", 1, "--count", 3000, "--time", "20s", lun)
        seen = issued()[1:]  # the look at NOWAIT
        at = 0
        for sector, n in seen:
            if sector == 0 and at:
                ok(16384 - 40 < at <= 16384, f"began anew at {at}")
            else:
                eq(sector, at, "sector")
            at = sector + n
        sizes = collections.Counter(n for _, n in seen)
        eq(sorted(sizes), [1, 8, 40], "sizes in sectors")
        between(sizes[8] / len(seen), .48, .52, "share of 4k")


for engine in ENGINES:
    @test(f"{engine}: --think: a place in flight rests so long, and latencies are without it")
    def _(engine=engine):
        with loop_of("64M") as lun:
            doc = result(0, "--engine", engine, "--qd", 4, "--think", "20ms", "--time", "2s", lun)
            row = doc["luns"][0]
            # the first transfers of all places come back at once, and each then every 20 ms at the most
            between(row["xfers"], 40, 4 * 101, "xfers")
            ok(row["latency"]["p50_ns"] < 10e6, f"median latency {row['latency']['p50_ns']} ns")
            eq(row["outstanding"], 0, "outstanding")
            eq(doc["plan"]["phases"][0]["streams"][0]["think_s"], .02, "in the plan")
            # all rest when it is stopped
            run = start("--engine", engine, "--think", "1h", "--time", "2h", "--json", "-", lun)
            time.sleep(1)
            run.signal(signal.SIGINT)
            r = run.wait(limit=20).expect(130)
            eq((r.json["ended_by"], r.json["luns"][0]["errors"], r.json["luns"][0]["outstanding"]), ("signal", 0, 0), "the end")


@test("a transfer is one request, of its own size")
def _():
    with loop_of("1T", on="tmpfs") as lun, trace(lun) as issued:  # so large that no two are neighbours
        for size in ("4k", "64k", "1M"):
            row = result(0, "--qd", "4", "--size", size, "--count", "100", "--time", "20s", lun)["luns"][0]
            sizes = collections.Counter(n * 512 for _, n in issued())
            eq(sizes[size_of(size.upper())], row["ios_issued"], f"requests of {size}")
            between(sum(sizes.values()) - row["ios_issued"], 0, 1, f"requests beside them: {sizes}")


for engine in ENGINES:
    @test(f"the kernel counted as many reads and bytes as {engine} issued, on every LUN")
    def _(engine=engine):
        # so large that no two requests lie side by side and are merged
        with loop_of("1T", on="tmpfs") as a, loop_of("2T", on="tmpfs") as b, zram("64M") as c:
            before = [x.stat() for x in (a, b)]
            doc = result(0, "--engine", engine, "--size", "4k", "--qd", "16", "--time", "1s", a, b, c)
            for lun, row in zip((a, b, c), doc["luns"]):
                eq(row["kernel_ios"], row["ios_issued"], f"kernel_ios of {lun}")
                eq(row["kernel_bytes"], row["ios_issued"] * 4096, f"kernel_bytes of {lun}")
                ok(row["xfers"] <= row["ios_issued"], f"{lun}: more xfers than I/Os")
                eq(row["bytes"], row["xfers"] * 4096, f"bytes of {lun}")
            for lun, then, row in zip((a, b), before, doc["luns"]):
                between((lun.stat() - then).reads - row["ios_issued"], 0, 1, f"{lun}: reads beside ours")
            eq(findings(doc, "kernel-count", a), [], "findings")


@test("I/O of others on a LUN shows in the kernel's count, and is a finding")
def _():
    with loop_of("64M") as lun:
        other = Running(["sh", "-c", f"while dd if={lun} of=/dev/null bs=1M iflag=direct; do :; done"])
        doc = result(0, "--size", "4k", "--qd", "1", "--time", "1s", lun)
        other.kill()
        row = doc["luns"][0]
        ok(row["kernel_bytes"] > row["bytes_issued"] * 1.1, f"kernel {row['kernel_bytes']}, ours {row['bytes_issued']}")
        eq(len(findings(doc, "kernel-count", lun)), 1, "findings of the kernel's count")


# ---- when devices fail

for engine in ENGINES:
    @test(f"{engine}: reads that fail are counted as errors, on their LUN alone")
    def _(engine=engine):
        with loop_of("8M", "random") as bad, loop_of("8M", "random") as good:
            os.truncate(bad.backing, 4 << 20)
            r = lunbench("--engine", engine, "--size", "4k", "--time", "1s", "--json", "-", bad, good).expect(1)
            row, fine = r.json["luns"]
            half = row["errors"] / (row["errors"] + row["xfers"])
            between(half, 0.4, 0.6, "share of reads that failed")
            eq(row["first_error"]["errno"], "EIO", "first error")
            between(row["first_error"]["offset_bytes"], 4 << 20, (8 << 20) - 4096, "offset of the first error")
            eq(row["bytes"], row["xfers"] * 4096, "bytes: of the good reads alone")
            eq(fine["errors"], 0, "errors of the good LUN")
            ok(fine["xfers"] > 100, f"the good LUN has {fine['xfers']} xfers")
            eq(r.json["total"]["xfers"], row["xfers"] + fine["xfers"], "total xfers")
            eq(r.json["total"]["errors"], row["errors"], "total errors")


@test("a LUN that shrinks in the run: reads past its new end are errors, the other's figures stand")
def _():
    with loop_of("8M", "random") as bad, loop_of("8M", "random") as good:
        going = start("--size", "4k", "--time", "2s", "--json", "-", bad, good)
        time.sleep(1)
        os.truncate(bad.backing, 4 << 20)
        bad.refresh_size()
        row, fine = going.wait(10).expect(1).json["luns"]
        ok(row["errors"] > 0, "no errors")
        ok(row["xfers"] > 100, f"{row['xfers']} xfers before and below the end")
        eq(fine["errors"], 0, "errors of the good LUN")
        ok(fine["xfers"] > 100, f"the good LUN has {fine['xfers']} xfers")


@test("a LUN that shrank before the run is measured as far as it goes")
def _():
    with loop_of("8M", "random") as lun:
        os.truncate(lun.backing, 4 << 20)
        lun.refresh_size()
        row = result(0, "--size", "4k", "--time", "0.3s", lun)["luns"][0]
        eq((row["size_bytes"], row["errors"]), (4 << 20, 0), "size and errors")


# ---- zeros

@test("a LUN that returns only zeros is a finding, beside a filled one that is none; the status is 0")
def _():
    with loop_of("8M") as thin, loop_of("8M", "random") as filled, zram("16M") as fresh:
        doc = result(0, "--size", "4k", "--time", "1s", thin, filled, fresh, "--scratch", "1x8M")
        eq([x["zero_fraction"] for x in doc["luns"]], [1, 0, 1, 0], "zero_fraction")
        for lun, count in ((thin, 1), (filled, 0), (fresh, 1), ("scratch0", 0)):
            eq(len(findings(doc, "zeros", lun)), count, f"findings of zeros on {lun}")
        has(lunbench("--size", "4k", "--time", "0.5s", thin, filled).expect(0).out, f"{thin}.*zeros")


@test("a LUN of which half was never written says so by its zero_fraction, and is no finding")
def _():
    with loop_of("8M", "random") as lun:
        sh("fallocate", "--punch-hole", "--offset", "4M", "--length", "4M", lun.backing)
        doc = result(0, "--size", "4k", "--time", "1s", lun)
        between(doc["luns"][0]["zero_fraction"], 0.3, 0.7, "zero_fraction")
        eq(findings(doc, "zeros", lun), [], "findings of zeros")


main()
