#!/usr/bin/python3
"""A short real run with each engine: also what the sanitizers watch."""

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

for engine in ("io_uring", "libaio", "sync"):
    @test(f"a short run with {engine}")
    def _(engine=engine):
        workers = () if engine == "sync" else ("--workers", "2")
        r = lunbench("--engine", engine, "--size", "4k", "--qd", "8", "--time", "1s", *workers,
                     "--scratch", "3x8M", "--json", "-")
        r.expect(0)
        doc = r.json
        eq(doc["engine"]["used"], engine, "engine.used")
        ok(doc["total"]["xfers"] > 0, "no xfers")
        eq(sum(lun["bytes"] for lun in doc["luns"]), doc["total"]["bytes"], "the bytes of the LUNs")


@test("how busy the busiest worker was is known of every run of 100 ms and more")
def _():
    for engine in ("io_uring", "libaio", "sync", "null"):
        for _ in range(8):
            doc = lunbench("--engine", engine, "--size", "4k", "--qd", "4", "--time", "0.1", "--scratch", "2x1M", "--json", "-").expect((0, 1)).json
            share = doc["cpu"]["busiest_worker_share"]
            ok(share is not None and 0 <= share < 1.2, f"{engine}: busiest_worker_share {share}")
            ok(0 < doc["cpu"]["cpus_used"], "cpus_used")


@test("a run on a virtual clock that is stopped has no figures, and says why")
def _():
    args = ("--engine", "null", "--null-latency", "1us", "--time", "1h", "--scratch", "1x1M")
    for as_json in ((), ("--json", "-")):
        r = start(*args, *as_json)
        time.sleep(0.5)
        r.signal(2)
        r = r.wait().expect(130)
        if as_json:
            total = r.json["total"]
            eq((r.json["window_s"], total["xfers"], total["errors"], total["outstanding"], r.json["findings"]), (None, 0, 0, 0, []), "figures")
        else:
            has(r.out, "^INCOMPLETE: stopped by SIGINT before its end, without which a virtual clock measures nothing$", "the report")


main()
