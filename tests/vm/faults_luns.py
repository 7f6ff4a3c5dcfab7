#!/usr/bin/python3
"""LUNs that hang, fail, shrink, go, or fill up under a run, and what is said of them."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbguest import Guest, is_untouched  # noqa: E402
from lbtest import *  # noqa: E402,F403

ENGINES = ("io_uring", "libaio", "sync")
DEVICE_S, QD, WINDOW_S = 0.05, 2, 10.0
guest = Guest()


def lun_of(name, status, window_s=WINDOW_S, qd=QD, device_s=DEVICE_S):
    """The LUN's row, and the whole result; the healthy LUN beside it felt nothing."""
    doc = guest.doc(name, status)
    eq((doc["complete"], doc["ended_by"], doc["window_s"]), (True, "time", window_s), "the end")
    lun, healthy = sorted(doc["luns"], key=lambda lun: "healthy" in lun["name"])
    is_untouched(healthy, window_s, qd, device_s)
    return lun, doc


def event(doc, kind, lun):
    """The first of that kind, of that LUN."""
    found = [e for e in doc["events"] if e["kind"] == kind and e["lun"] == lun["name"]]
    ok(found, f"no event {kind} among {doc['events']}")
    return found[0]


def near_look(secs, doc, mark):
    """What the devices say is looked at once a second."""
    between(secs - guest.secs(doc, mark), -0.1, 1.3, f"seconds from {mark} to the look that found it")


def fails_from(name, event):
    """A LUN whose I/O fails from that moment on, and is not tried in a storm."""
    lun, doc = lun_of(name, 1)
    since_s = guest.secs(doc, event)
    near(lun["first_error"]["at_s"], since_s, "first error, s", abs=0.2)
    near(lun["xfers"], QD * since_s / DEVICE_S, "xfers until then", rel=0.1)
    eq(lun["outstanding"], 0, "outstanding")
    between(lun["errors"], 1, 2 * 20, "errors")
    return lun, doc


for engine in ENGINES:
    @test(f"{engine}: suspended for 10 s and resumed: no error, and the longest latency tells the gap")
    def _(engine=engine):
        lun, doc = lun_of(f"suspended.{engine}", 0, window_s=20.0)
        gap_s = guest.secs("suspended.begin", "suspended.end")
        between(gap_s, 9.9, 11, "suspended for, s")
        near(lun["latency"]["max_ns"] / 1e9, gap_s, "longest latency, s", rel=0.02)
        near(lun["xfers"], QD * (20 - gap_s) / DEVICE_S, "xfers", rel=0.03)
        eq((lun["errors"], lun["outstanding"]), (0, 0), "errors, outstanding")
        stall, suspended = event(doc, "stall", lun), event(doc, "suspended", lun)
        near(stall["begin_s"], guest.secs(doc, "suspended.begin"), "begin of the stall", abs=0.2)
        near(stall["end_s"] - stall["begin_s"], gap_s, "its length", rel=0.02)
        near(lun["longest_gap_s"], gap_s, "longest gap", rel=0.02)
        near_look(suspended["begin_s"], doc, "suspended.begin")
        near_look(suspended["end_s"], doc, "suspended.end")
        eq([e["lun"] for e in doc["events"] if e["lun"] != lun["name"]], [], "events of the healthy LUN")

    @test(f"{engine}: suspended past the deadline: the report is on time, and the prompt back")
    def _(engine=engine):
        lun, doc = lun_of(f"hung.{engine}", 1)
        between(guest.secs(doc, f"hung.{engine}.ended"), 12, 12.3, "seconds from the window's opening to the prompt: --drain 2")
        eq((lun["errors"], lun["outstanding"], lun["latency"]["max_is_lower_bound"]), (0, QD, True), "errors, outstanding")
        near(lun["outstanding_max_age_ns"] / 1e9, 12 - guest.secs(doc, "hung.begin"), "age of the oldest, s", rel=0.03)
        eq(event(doc, "suspended", lun)["end_s"], None, "end of the suspension")
        near_look(event(doc, "suspended", lun)["begin_s"], doc, "hung.begin")

    @test(f"{engine}: I/O that takes 45 s is waited for, and counted, late or not")
    def _(engine=engine):
        lun, doc = lun_of(f"slow.{engine}", 0, window_s=50.0)
        eq((lun["xfers"], lun["late"], lun["errors"], lun["outstanding"]), (QD, QD, 0, 0), "xfers, late, errors, outstanding")
        # a timer of the kernel's that far ahead is up to 2 s late
        between(lun["latency"]["min_ns"] / 1e9, 45, 47.2, "shortest latency, s")
        between(lun["late_max_ns"] / 1e9, 45, 47.2, "longest latency of the late, s")

    @test(f"{engine}: an error table swapped in: EIO from then on, few of them")
    def _(engine=engine):
        lun, doc = fails_from(f"swapped.{engine}", "swapped.begin")
        eq(lun["first_error"]["errno"], "EIO", "first error")

    @test(f"{engine}: a LUN that LIO no longer serves")
    def _(engine=engine):
        fails_from(f"removed.{engine}", "removed.begin")

    @test(f"{engine}: a device that is deleted: no jump to the new one that shows up in its place")
    def _(engine=engine):
        lun, doc = fails_from(f"deleted.{engine}", "deleted.begin")
        eq(lun["wwid"], guest.fact("deleted.wwid").replace("naa.", "3"), "WWID")
        gone = event(doc, "path", lun)
        eq((gone["path"], gone["from_state"], gone["to_state"]), (None, "running", "gone"), "its state")
        near_look(gone["begin_s"], doc, "deleted.begin")

    @test(f"{engine}: a LUN that shrinks: errors where it was")
    def _(engine=engine):
        lun, doc = lun_of(f"shrunk.{engine}", 1)
        between(lun["first_error"]["at_s"], guest.secs(doc, "shrunk.begin") - 0.1, guest.secs(doc, "shrunk.begin") + 1, "first error, s")
        ok(lun["first_error"]["offset_bytes"] >= 8 << 20, f"first error at {lun['first_error']['offset_bytes']}")
        size = event(doc, "size", lun)
        eq((size["from"], size["to"]), (lun["size_bytes"], 8 << 20), "its size")

    @test(f"{engine}: commands that are lost: waited out, and told by the longest latency")
    def _(engine=engine):
        lun, doc = lun_of(f"lossy.{engine}", 0, window_s=20.0, qd=1)
        eq((lun["errors"], lun["outstanding"]), (0, 0), "errors, outstanding")
        # aborted after 3 s, to the kernel's whole seconds; what is lost a second and a third time, after 6 and 9
        between(lun["latency"]["max_ns"] / 1e9, 3, 12, "longest latency, s")

    @test(f"{engine}: a thin pool that fills up: ENOSPC, and what it has room for goes on")
    def _(engine=engine):
        lun, doc = lun_of(f"thin.{engine}", 1, window_s=4.0, device_s=0.005)
        eq((lun["first_error"]["errno"], lun["read"]["ios_issued"]), ("ENOSPC", 0), "first error; reads")
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
