#!/usr/bin/python3
"""The open loop on real devices: what is due is issued, by all engines and however many lanes a LUN has."""

import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

ENGINES = ("io_uring", "libaio", "sync")


def result(status, *args, **how):
    return lunbench("--json", "-", *args, **how).expect(status).json


def codes(doc):
    return [f["code"] for f in doc["findings"]]


def kept(row, asked, seconds):
    """Within 0.1 %, but for what a busy machine was late with when the window opened, or closed."""
    loop = row["open_loop"]
    eq((loop["asked_per_s"], loop["missed"]), (asked, 0), "asked for, and missed")
    late = asked * loop["issue_delay_max_ns"] / 1e9
    off, slack = asked * seconds - row["xfers"], max(asked * seconds / 1000, 2) + late
    ok(-slack <= off <= slack + loop["backlog"],
       f"{row['xfers']} xfers in {seconds} s at {asked}/s, backlog {loop['backlog']}")
    ok(row["response"]["mean_ns"] >= row["latency"]["mean_ns"], "the response has the service in it")
    eq(sum(n for _, _, n in row["response_histogram_ns"]), row["xfers"], "responses")


for engine in ENGINES:
    @test(f"{engine}: 2000/s on a LUN for 10 s")
    def _(engine=engine):
        with loop_of("64M") as lun:
            doc = result(0, "--engine", engine, "--qd", "16", "--rate", "2000", "--ramp", "1s", "--time", "10s",
                         lun)
            kept(doc["luns"][0], 2000, 10)
            kept(doc["total"], 2000, 10)


for engine, lanes in (("io_uring", ("--threads-per-lun", 2)), ("libaio", ("--threads-per-lun", 2)), ("sync", ())):
    @test(f"{engine}: several lanes have one schedule, and one order of blocks")
    def _(engine=engine, lanes=lanes):
        with loop_of("64M") as a, loop_of("64M") as b:
            doc = result(0, "--engine", engine, "--qd", 8, *lanes, "--pat", "seq", "--size", "4k", "--rate-total", 1500,
                         "--arrival", "poisson", "--seed", 3, "--time", "4s", a, b)
            for row in doc["luns"]:
                eq(row["open_loop"]["asked_per_s"], 750, "asked for")
                eq(row["kernel_bytes"], row["bytes_issued"], "bytes by the kernel's count")
                due = 750 * (doc["warmup_s"] + doc["window_s"])
                ok(abs(row["ios_issued"] - due) < 6 * due ** 0.5 + 50, f"{row['ios_issued']} of some {due:.0f}")
                eq(row["passes"], row["ios_issued"] / 16384, "passes")


@test("a rate that no host can keep: a backlog, bounds, and a finding, but no error")
def _():
    with loop_of("64M") as lun:
        doc = result(0, "--engine", "io_uring", "--qd", "4", "--rate", "10M", "--time", "1s", lun)
        row = doc["luns"][0]
        ok(row["open_loop"]["backlog_unissued"] > 1000000, "the backlog is told")
        ok(row["response"]["p99_is_lower_bound"] and row["response"]["p99_ns"] > 5e8, "p99 is a bound")
        ok(row["latency"]["p50_ns"] < row["response"]["p50_ns"], "the service is faster")
        ok("rate-not-kept" in codes(doc), str(codes(doc)))


@test("what cannot be done in time is skipped where that is asked for")
def _():
    with loop_of("64M") as lun:
        row = result(0, "--engine", "libaio", "--qd", "1", "--rate", "1M", "--catch-up", "none", "--time", "1s",
                     lun)["luns"][0]
        loop = row["open_loop"]
        ok(loop["missed"] > 100000, f"{loop['missed']} missed")
        ok(abs(loop["missed"] + row["xfers"] + loop["backlog"] - 1e6) < 1e4, "all that was due is told")
        eq((row["response"]["mean_ns"], row["response"]["p99_ns"]), (None, None), "response")


for engine in ENGINES:
    @test(f"{engine}: a signal ends a run that has nothing to do for minutes")
    def _(engine=engine):
        with loop_of("64M") as lun:
            p = start("--engine", engine, "--qd", 4, "--rate", "0.001", "--time", "1h", "--progress", "always", lun)
            wait_for(lambda: " left" in p.err_so_far(), "the measured time")
            before = time.monotonic()
            p.signal(signal.SIGINT)
            p.wait().expect(130)
            ok(time.monotonic() - before < 2, "it takes less than 2 s")


@test("sync sleeps until something is due: 64 threads cost no CPU")
def _():
    with loop_of("64M") as lun:
        doc = result(0, "--engine", "sync", "--qd", "64", "--rate", "20", "--ramp", "1s", "--time", "3s", lun)
        kept(doc["total"], 20, 3)
        ok(doc["cpu"]["cpus_used"] < 0.25, f"{doc['cpu']['cpus_used']} CPUs")


main()
