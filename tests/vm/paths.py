#!/usr/bin/python3
"""Paths that come and go under a run, and what is said of it."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbguest import Guest  # noqa: E402
from lbtest import *  # noqa: E402,F403

ENGINES = ("io_uring", "libaio", "sync")
guest = Guest()


def doc_of(name, status):
    doc = guest.result(name).expect(status).json
    check_schema(doc, "schema/lunbench-result-1.schema.json")
    return doc


def secs(name):
    return float(guest.fact(f"{name}.ended")) - float(guest.fact(f"{name}.began"))


for engine in ENGINES:
    @test(f"{engine}: a path that dies, and none left for 1.5 s, are waited out: no error, and the longest latency tells the gap")
    def _(engine=engine):
        doc = doc_of(f"lost.{engine}", 0)
        eq((doc["complete"], doc["window_s"], doc["total"]["errors"]), (True, 6.0, 0), "the end")
        lun, healthy = doc["luns"]
        between(lun["latency"]["max_ns"] / 1e9, 1.3, 4, "longest latency, s")
        between(lun["xfers"], 100, 0.95 * healthy["xfers"], "xfers, in less time than the healthy LUN")

    @test(f"{engine}: no path left until the end: the report is on time, and the prompt back")
    def _(engine=engine):
        doc = doc_of(f"down.{engine}", 1)
        # what it takes to start and to write the report is left to how busy the machine is
        between(secs(f"down.{engine}"), 10, 14, "seconds to the prompt")
        eq((doc["complete"], doc["window_s"], doc["total"]["errors"]), (True, 8.0, 0), "the end")
        lun, healthy = doc["luns"]
        eq((lun["outstanding"], lun["latency"]["max_is_lower_bound"]), (4, True), "outstanding")
        between(lun["outstanding_max_age_ns"] / 1e9, 3, 9.5, "age of the oldest, s")
        ok(lun["xfers"] > 50, f"xfers until then: {lun['xfers']}")
        eq(healthy["outstanding"], 0, "outstanding of the healthy LUN")
        eq(healthy["latency"]["max_is_lower_bound"] and healthy["latency"]["max_ns"] > 2e9, False, "its longest latency is a bound")


@test("a path was lost, the other came back")
def _():
    has(guest.fact("paths"), r" 8:0 F .* 8:16 A ", "the map's status")


@test("stopped by hand while no path is left: a report 1.5 s later")
def _():
    doc = doc_of("stopped", 143)
    between(float(guest.fact("stopped.ended")) - float(guest.fact("signal")), 1.4, 3, "seconds from the signal to the prompt: 1.5, and to write")
    eq((doc["complete"], doc["signal"], doc["luns"][0]["outstanding"]), (False, "SIGTERM", 4), "the end")


@test("what hangs stays behind, and goes when a path is back")
def _():
    ok(int(guest.fact("left")) > 0, "nothing hung")
    eq(guest.fact("left_after"), "0", "threads left")


main()
