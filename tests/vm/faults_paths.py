#!/usr/bin/python3
"""Paths that die under a run, and what is said of it."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbguest import Guest, errors_are, events_of, is_seen, is_untouched, series_is, stall_is, states_of  # noqa: E402
from lbtest import *  # noqa: E402,F403

ENGINES = ("io_uring", "libaio", "sync")
DEVICE_S, QD, WINDOW_S = 0.05, 2, 10.0
guest = Guest()


def luns_of(name, status):
    """The map's row, and the whole result; the healthy LUN beside it felt nothing."""
    doc = guest.doc(name, status)
    eq((doc["complete"], doc["ended_by"], doc["window_s"]), (True, "time", WINDOW_S), "the end")
    lun, healthy = doc["luns"]
    is_untouched(doc, healthy, QD, DEVICE_S)
    return lun, doc


def live_paths(doc, lun):
    """How many there were, from first to last."""
    events = events_of(doc, lun, "paths")
    is_seen(events[0]["begin_s"], guest.secs(doc, "lost"), "fewer paths")
    return [events[0]["from"]] + [event["to"] for event in events]


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
            between(lun["longest_gap_s"], 0, 0.5, "longest gap, s")
            states, path = states_of(doc, lun, guest.fact(f"{lost}.paths").split()[0]), guest.fact(f"{lost}.paths").split()[1]
            if lost == "offline":
                eq((sorted(states), live_paths(doc, lun)),
                   ([("active", "failed"), ("failed", "active"), ("offline", "running"), ("running", "offline")], [2, 1, 2]),
                   "what the path went through, live paths")
            else:
                eq((sorted(states), live_paths(doc, lun)), ([("active", "failed"), ("running", "gone")], [2, 1]),
                   "what the path went through, live paths")
            eq(states_of(doc, lun, path), [], "what the other path went through")

    @test(f"{engine}: no path for 4 s, queued: no error, and a stall as long as that")
    def _(engine=engine):
        lun, doc = luns_of(f"queued.{engine}", 0)
        gap = guest.secs("lost", "queued.back")
        eq((lun["errors"], lun["outstanding"]), (0, 0), "errors, outstanding")
        near(lun["latency"]["max_ns"] / 1e9, gap, "longest latency, s", rel=0.1)
        near(lun["xfers"], xfers_in(WINDOW_S - gap), "xfers", rel=0.05)
        stall_is(doc, lun, guest.secs(doc, "lost"), guest.secs(doc, "queued.back"))
        series_is(doc, lun, "read", QD / DEVICE_S, (guest.secs(doc, "lost"), guest.secs(doc, "queued.back")))
        live = live_paths(doc, lun)
        eq((live[0], min(live), live[-1]), (2, 0, 1), "live paths, at first, fewest, at last")
        said = guest.result(f"queued.{engine}").err
        has(said, r"NO ANSWER: /dev/mapper/queued for 3 s$", "the live line")
        has(said, r"/dev/mapper/queued: nothing came back for 2\.\d s, 2 in flight$", "notes")
        has(said, r"/dev/mapper/queued: answering again after 4\.\d s$", "notes")

    @test(f"{engine}: no path for 4 s, not queued: errors, few of them, and the run goes on when one is back")
    def _(engine=engine):
        lun, doc = luns_of(f"failed.{engine}", 1)
        gap, lost_s = guest.secs("lost", "failed.back"), guest.secs(doc, "lost")
        eq(lun["outstanding"], 0, "outstanding")
        # each of the two I/Os is tried again after 1 ms, doubling to a second
        between(lun["errors"], 2 * 10, 2 * 20, "errors")
        errors_are(doc, lun, "read", "EIO", "I/O error")
        live = live_paths(doc, lun)
        eq((live[0], min(live), live[-1]), (2, 0, 1), "live paths, at first, fewest, at last")
        near(lun["first_error"]["at_s"], lost_s, "first error, s", abs=0.2)
        between(lun["xfers"], xfers_in(WINDOW_S - gap - 1.2), xfers_in(WINDOW_S - gap), "xfers")
        between(lun["latency"]["max_ns"] / 1e9, DEVICE_S, 2 * DEVICE_S, "longest latency, s")

    @test(f"{engine}: no path until the end, queued: the report is on time, and the prompt back")
    def _(engine=engine):
        lun, doc = luns_of(f"down.{engine}", 1)
        between(guest.secs(doc, f"down.{engine}.ended"), 12, 12.3, "seconds from the window's opening to the prompt: --drain 2")
        eq((lun["errors"], lun["outstanding"], lun["latency"]["max_is_lower_bound"]), (0, QD, True), "errors, outstanding")
        near(lun["outstanding_max_age_ns"] / 1e9, 12 - guest.secs(doc, "lost"), "age of the oldest, s", rel=0.03)
        near(lun["xfers"], xfers_in(guest.secs(doc, "lost")), "xfers", rel=0.05)
        stall_is(doc, lun, guest.secs(doc, "lost"), None)
        eq(live_paths(doc, lun)[-1], 0, "live paths at last")


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
