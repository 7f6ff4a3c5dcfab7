#!/usr/bin/python3
"""LUNs that hang, fail, shrink, go, or fill up under a run, and what is said of them."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbguest import Guest, errors_are, events_of, is_seen, is_untouched, lost_is, series_is, stall_is, states_of  # noqa: E402
from lbtest import *  # noqa: E402,F403

ENGINES = ("io_uring", "libaio", "sync")
DEVICE_S, QD, WINDOW_S = 0.05, 2, 12.0
guest = Guest()


def lun_of(name, status, window_s=WINDOW_S, qd=QD, device_s=DEVICE_S):
    """The LUN's row, and the whole result; the healthy LUN beside it felt nothing."""
    doc = guest.doc(name, status)
    eq((doc["complete"], doc["ended_by"], doc["window_s"]), (True, "time", window_s), "the end")
    lun, healthy = sorted(doc["luns"], key=lambda lun: "healthy" in lun["name"])
    is_untouched(doc, healthy, qd, device_s)
    return lun, doc


def only(events):
    eq(len(events), 1, f"events of {events}")
    return events[0]


def fails_from(doc, lun, event, n_errors):
    """I/O fails from that moment on, and is not tried in a storm."""
    since_s = guest.secs(doc, event)
    near(lun["first_error"]["at_s"], since_s, "first error, s", abs=0.25)
    near(lun["xfers"], QD * since_s / DEVICE_S, "xfers until then", rel=0.1)
    eq(lun["outstanding"], 0, "outstanding")
    between(lun["errors"], 1, n_errors, "errors")


for engine in ENGINES:
    @test(f"{engine}: suspended for 10 s and resumed: no error, and a stall as long as that")
    def _(engine=engine):
        lun, doc = lun_of(f"suspended.{engine}", 0, window_s=22.0)
        gap_s = guest.secs("suspended.begin", "suspended.end")
        between(gap_s, 9.9, 11, "suspended for, s")
        near(lun["latency"]["max_ns"] / 1e9, gap_s, "longest latency, s", rel=0.02)
        near(lun["xfers"], QD * (22 - gap_s) / DEVICE_S, "xfers", rel=0.03)
        eq((lun["errors"], lun["outstanding"]), (0, 0), "errors, outstanding")
        stall_is(doc, lun, guest.secs(doc, "suspended.begin"), guest.secs(doc, "suspended.end"))
        series_is(doc, lun, "read", QD / DEVICE_S, (guest.secs(doc, "suspended.begin"), guest.secs(doc, "suspended.end")))
        outage = only(lun["outages"])
        eq((outage["recovered"], outage["beside_event"], outage["fall_pct"]), (True, True, 100), "outage: recovered, beside an event, fall")
        near(outage["begin_s"], guest.secs(doc, "suspended.begin"), "outage: begin, s", abs=1.1)
        near(outage["end_s"], guest.secs(doc, "suspended.end"), "outage: end, s", abs=1.1)
        near(outage["baseline_xfer_per_s"], QD / DEVICE_S, "outage: baseline", rel=0.06)
        near(outage["lost_xfers"], gap_s * QD / DEVICE_S, "outage: xfers lost", rel=0.1)
        event = only(events_of(doc, lun, "suspended"))
        is_seen(event["begin_s"], guest.secs(doc, "suspended.begin"), "suspended")
        is_seen(event["end_s"], guest.secs(doc, "suspended.end"), "resumed")

    @test(f"{engine}: suspended past the deadline: the report is on time, and the prompt back")
    def _(engine=engine):
        lun, doc = lun_of(f"hung.{engine}", 1)
        between(guest.secs(doc, f"hung.{engine}.ended"), WINDOW_S + 2, WINDOW_S + 2.3, "seconds from the window's opening to the prompt: --drain 2")
        eq((lun["errors"], lun["outstanding"], lun["latency"]["max_is_lower_bound"]), (0, QD, True), "errors, outstanding")
        near(lun["outstanding_max_age_ns"] / 1e9, WINDOW_S + 2 - guest.secs(doc, "hung.begin"), "age of the oldest, s", rel=0.03)
        stall_is(doc, lun, guest.secs(doc, "hung.begin"), None)
        event = only(events_of(doc, lun, "suspended"))
        is_seen(event["begin_s"], guest.secs(doc, "hung.begin"), "suspended")
        eq(event["end_s"], None, "resumed")

    @test(f"{engine}: I/O that takes 45 s is waited for, and counted, late or not")
    def _(engine=engine):
        lun, doc = lun_of(f"slow.{engine}", 0, window_s=50.0)
        eq((lun["xfers"], lun["late"], lun["errors"], lun["outstanding"]), (QD, QD, 0, 0), "xfers, late, errors, outstanding")
        # a timer of the kernel's that far ahead is up to 2 s late
        between(lun["latency"]["min_ns"] / 1e9, 45, 47.2, "shortest latency, s")
        between(lun["late_max_ns"] / 1e9, 45, 47.2, "longest latency of the late, s")
        near(lun["longest_gap_s"], lun["latency"]["max_ns"] / 1e9, "longest gap, s", rel=0.01)
        eq(lun["stalls"], 1, "stalls")

    @test(f"{engine}: an error table swapped in: EIO from then on, few of them")
    def _(engine=engine):
        lun, doc = lun_of(f"swapped.{engine}", 1)
        fails_from(doc, lun, "swapped.begin", QD * 20)
        errors_are(doc, lun, "read", "EIO", "I/O error")
        eq((lun["lost_s"], lun["lived_s"]), (None, WINDOW_S), "lost, lived")

    @test(f"{engine}: 100 errors in a row: the LUN is given up, the other goes on")
    def _(engine=engine):
        lun, doc = lun_of(f"given_up.{engine}", 1, window_s=8.0, qd=16)
        lost_is(doc, lun, guest.secs(doc, "swapped.begin"), r"^\d+ errors in a row, the last EIO, I/O error$")
        between(lun["errors"], 100, 100 + 16, "errors")

    @test(f"{engine}: --on-error stop: the first error ends the run, and what was measured until then is told")
    def _(engine=engine):
        doc = guest.doc(f"stopped.{engine}", 1)
        lun, healthy = sorted(doc["luns"], key=lambda lun: "healthy" in lun["name"])
        eq((doc["complete"], doc["ended_by"]), (False, "error"), "the end")
        near(doc["window_s"], guest.secs(doc, "swapped.begin"), "window, s", abs=0.25)
        near(lun["first_error"]["at_s"], doc["window_s"], "first error, s", abs=0.01)
        between(lun["errors"], 1, QD, "errors")
        is_untouched(doc, healthy, QD, DEVICE_S)

    for how, why in (("removed", "the device is gone"), ("deleted", "the device is gone|ENODEV, device gone")):
        @test(f"{engine}: a LUN that is {how}: it is lost, at most a second later, and there is no jump to one that takes its place")
        def _(engine=engine, how=how, why=why):
            lun, doc = lun_of(f"{how}.{engine}", 1)
            fails_from(doc, lun, f"{how}.begin", QD * 10)
            lost_is(doc, lun, guest.secs(doc, f"{how}.begin"), why)
            eq(states_of(doc, lun), [("running", "gone")], "what the device went through")
            eq(lun["wwid"], guest.fact(f"{how}.wwid"), "WWID")

    @test(f"{engine}: a LUN that shrinks: it is lost, at most a second later")
    def _(engine=engine):
        lun, doc = lun_of(f"shrunk.{engine}", 1)
        since_s = guest.secs(doc, "shrunk.begin")
        lost_is(doc, lun, since_s, "^shrunk from 64M to 8M$")
        ok(lun["first_error"]["offset_bytes"] >= 8 << 20, f"first error at {lun['first_error']['offset_bytes']}")
        event = only(events_of(doc, lun, "size"))
        eq((event["from"], event["to"]), (64 << 20, 8 << 20), "sizes")
        is_seen(event["begin_s"], since_s, "another size")

    @test(f"{engine}: commands that are lost: waited out, and told by the longest latency")
    def _(engine=engine):
        lun, doc = lun_of(f"lossy.{engine}", 0, window_s=20.0, qd=1)
        eq((lun["errors"], lun["outstanding"]), (0, 0), "errors, outstanding")
        # aborted after 3 s, to the kernel's whole seconds; what is lost a second and a third time, after 6 and 9
        between(lun["latency"]["max_ns"] / 1e9, 3, 12, "longest latency, s")
        # with one I/O in flight the longest latency is the longest gap
        near(lun["longest_gap_s"], lun["latency"]["max_ns"] / 1e9, "longest gap, s", rel=0.01)
        between(lun["stalled_s"], lun["stalls"] * 5, 20, "stalled, s")

    @test(f"{engine}: a thin pool that fills up: ENOSPC, and what it has room for goes on")
    def _(engine=engine):
        lun, doc = lun_of(f"thin.{engine}", 1, window_s=4.0, device_s=0.02)
        errors_are(doc, lun, "write", "ENOSPC", "pool or device full")
        between(lun["write"]["xfers"], 20, 0.5 * QD * 4 / 0.005, "writes")
        between(lun["errors"], 10, QD * 4 / 0.001, "errors")


@test("what hangs stays behind, and goes when the map is resumed")
def _():
    ok(int(guest.fact("stuck")) > 0, "nothing hung")
    eq(guest.fact("stuck_after"), "0", "threads left")


@test("the pool was full")
def _():
    has(guest.fact("pool"), r" (\d+)/\1 - out_of_data_space ", "its status")


main()
