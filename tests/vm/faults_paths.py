#!/usr/bin/python3
"""Paths that die under a run, and what is said of it."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbguest import Guest, is_untouched  # noqa: E402
from lbtest import *  # noqa: E402,F403

ENGINES = ("io_uring", "libaio", "sync")
DEVICE_S, QD, WINDOW_S = 0.05, 2, 10.0
guest = Guest()


def luns_of(name, status):
    """The map's row, and the whole result; the healthy LUN beside it felt nothing."""
    doc = guest.doc(name, status)
    eq((doc["complete"], doc["ended_by"], doc["window_s"]), (True, "time", WINDOW_S), "the end")
    lun, healthy = doc["luns"]
    is_untouched(healthy, WINDOW_S, QD, DEVICE_S)
    return lun, doc


def events(doc, kind, lun=None):
    return [e for e in doc["events"] if e["kind"] == kind and (lun is None or e["lun"] == lun["name"])]


def near_look(event, secs, what):
    """The device's own events are found by a look each second."""
    between(event["begin_s"] - secs, -0.1, 1.3, f"{what}: seconds from what happened to the look that found it")


def is_stall(event, begin_s, end_s, what):
    near(event["begin_s"], begin_s, f"{what}: begin of the stall", abs=0.2)
    if end_s is None:
        eq(event["end_s"], None, f"{what}: end of the stall")
    else:
        near(event["end_s"] - event["begin_s"], end_s - begin_s, f"{what}: its length", rel=0.1)


def xfers_in(secs):
    return secs * QD / DEVICE_S


for engine in ENGINES:
    for lost in ("offline", "deleted"):
        @test(f"{engine}: one of two paths is {lost}: hardly felt, no error")
        def _(engine=engine, lost=lost):
            lun, doc = luns_of(f"{lost}.{engine}", 0)
            eq((lun["errors"], lun["outstanding"]), (0, 0), "errors, outstanding")
            near(lun["xfers"], xfers_in(WINDOW_S), "xfers", rel=0.03)
            between(lun["latency"]["max_ns"] / 1e9, DEVICE_S, 0.5, "longest latency, s")
            path = guest.fact(f"{lost}.paths").split()[0]
            states = [(e["from_state"], e["to_state"]) for e in events(doc, "path", lun) if e["path"] == path]
            ok(("running", {"offline": "offline", "deleted": "gone"}[lost]) in states, f"states of {path}: {states}")
            ok(("active", "failed") in states, f"states of {path}: {states}")
            live = events(doc, "paths", lun)
            eq((live[0]["from"], live[0]["to"]), (2, 1), "live paths")
            near_look(live[0], guest.secs(doc, "lost"), "live paths")
            if lost == "offline":
                ok(("offline", "running") in states and ("failed", "active") in states, f"states of {path}: {states}")
                eq((live[-1]["from"], live[-1]["to"]), (1, 2), "live paths at the end")
                near_look(live[-1], guest.secs(doc, "offline.back"), "live paths at the end")
            eq((events(doc, "stall"), lun["stalls"]), ([], 0), "stalls")

    @test(f"{engine}: no path for 4 s, queued: no error, and the longest latency tells the gap")
    def _(engine=engine):
        lun, doc = luns_of(f"queued.{engine}", 0)
        gap = guest.secs("lost", "queued.back")
        eq((lun["errors"], lun["outstanding"]), (0, 0), "errors, outstanding")
        near(lun["latency"]["max_ns"] / 1e9, gap, "longest latency, s", rel=0.1)
        near(lun["xfers"], xfers_in(WINDOW_S - gap), "xfers", rel=0.05)
        stalls = events(doc, "stall")
        eq([e["lun"] for e in stalls], [lun["name"]], "stalls")
        is_stall(stalls[0], guest.secs(doc, "lost"), guest.secs(doc, "queued.back"), engine)
        near(lun["longest_gap_s"], stalls[0]["end_s"] - stalls[0]["begin_s"], "longest gap", abs=0.001)
        eq([(e["from"], e["to"]) for e in events(doc, "paths", lun)][0][0], 2, "live paths before")
        eq(min(e["to"] for e in events(doc, "paths", lun)), 0, "live paths meanwhile")

    @test(f"{engine}: no path for 4 s, not queued: errors, few of them, and the run goes on when one is back")
    def _(engine=engine):
        lun, doc = luns_of(f"failed.{engine}", 1)
        gap, lost_s = guest.secs("lost", "failed.back"), guest.secs(doc, "lost")
        eq(lun["outstanding"], 0, "outstanding")
        # each of the two I/Os is tried again after 1 ms, doubling to a second
        between(lun["errors"], 2 * 10, 2 * 20, "errors")
        eq(lun["first_error"]["errno"], "EIO", "first error")
        near(lun["first_error"]["at_s"], lost_s, "first error, s", abs=0.2)
        burst = events(doc, "errors", lun)[0]
        near(burst["begin_s"], lost_s, "first of the errors, s", abs=0.2)
        between(burst["end_s"], lost_s + gap - 1.2, lost_s + gap + 0.1, "last of them, s")
        eq(burst["ios"], lun["errors"], "how many")
        between(lun["xfers"], xfers_in(WINDOW_S - gap - 1.2), xfers_in(WINDOW_S - gap), "xfers")
        between(lun["latency"]["max_ns"] / 1e9, DEVICE_S, 2 * DEVICE_S, "longest latency, s")

    @test(f"{engine}: no path until the end, queued: the report is on time, and the prompt back")
    def _(engine=engine):
        lun, doc = luns_of(f"down.{engine}", 1)
        between(guest.secs(doc, f"down.{engine}.ended"), 12, 12.3, "seconds from the window's opening to the prompt: --drain 2")
        eq((lun["errors"], lun["outstanding"], lun["latency"]["max_is_lower_bound"]), (0, QD, True), "errors, outstanding")
        near(lun["outstanding_max_age_ns"] / 1e9, 12 - guest.secs(doc, "lost"), "age of the oldest, s", rel=0.03)
        is_stall(events(doc, "stall")[0], guest.secs(doc, "lost"), None, engine)
        near(lun["xfers"], xfers_in(guest.secs(doc, "lost")), "xfers", rel=0.05)


@test("the path that was lost: the other served")
def _():
    for lost in ("offline", "deleted"):
        has(guest.fact(f"status.{lost}"), r" \d+:\d+ F .* \d+:\d+ A ", f"{lost}: the map's status")


@test("stopped by hand while no path is left: a report 1.5 s later")
def _():
    doc = guest.doc("stopped", 143)
    between(guest.secs("signal", "stopped.ended"), 1.4, 2, "seconds from the signal to the prompt")
    eq((doc["complete"], doc["signal"], doc["luns"][0]["outstanding"]), (False, "SIGTERM", QD), "the end")


@test("what hangs stays behind, and goes when a path is back")
def _():
    ok(int(guest.fact("stuck")) > 0, "nothing hung")
    eq(guest.fact("stuck_after"), "0", "threads left")


main()
