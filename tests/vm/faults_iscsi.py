#!/usr/bin/python3
"""An iSCSI target that goes and comes back, or does not, and what is said of it."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbguest import Guest, errors_are, is_untouched, lost_is, stall_is, states_of  # noqa: E402
from lbtest import *  # noqa: E402,F403

ENGINES = ("io_uring", "libaio", "sync")
DEVICE_S, QD, WINDOW_S = 0.05, 2, 18.0
REPLACEMENT_S = 5  # the session's replacement_timeout: from then on its I/O fails
guest = Guest()


def lun_of(name, status):
    """The LUN's row, and the whole result; the healthy LUN beside it felt nothing."""
    doc = guest.doc(name, status)
    eq((doc["complete"], doc["ended_by"], doc["window_s"]), (True, "time", WINDOW_S), "the end")
    lun, healthy = doc["luns"]
    is_untouched(doc, healthy, QD, DEVICE_S)
    return lun, doc


def fails_from(name, target):
    """Its I/O waits until the kernel gives the session up, and fails from then on, not in a storm."""
    lun, doc = lun_of(name, 1)
    near(lun["first_error"]["at_s"], guest.secs(doc, f"{target}.noticed") + REPLACEMENT_S, "first error, s", abs=0.6)
    between(lun["errors"], 2 * 5, 2 * 22, "errors")
    eq(lun["outstanding"], 0, "outstanding")
    stall_is(doc, lun, guest.secs(doc, f"{target}.cut"), lun["first_error"]["at_s"])
    errors_are(doc, lun, "read", "EIO", "I/O error")
    return lun, doc


for engine in ENGINES:
    @test(f"{engine}: a session cut for less than its replacement timeout: no error, and a stall as long as that")
    def _(engine=engine):
        lun, doc = lun_of(f"short.{engine}", 0)
        gap_s = guest.secs("short.cut", "short.back")
        eq((lun["errors"], lun["outstanding"]), (0, 0), "errors, outstanding")
        near(lun["latency"]["max_ns"] / 1e9, gap_s, "longest latency, s", rel=0.1)
        near(lun["xfers"], QD * (WINDOW_S - gap_s) / DEVICE_S, "xfers", rel=0.03)
        stall_is(doc, lun, guest.secs(doc, "short.cut"), guest.secs(doc, "short.back"))
        eq(states_of(doc, lun), [("running", "blocked"), ("blocked", "running")], "what the device went through")

    @test(f"{engine}: a session that comes back with another LUN: that is told from the one that was, which is lost")
    def _(engine=engine):
        lun, doc = lun_of(f"other.{engine}", 1)
        lost_is(doc, lun, guest.secs(doc, "other.rescanned"), f"^another LUN is in its place: {guest.fact('other.wwid')}$")
        stall_is(doc, lun, guest.secs(doc, "other.cut"), guest.secs(doc, "other.back"))
        eq(lun["errors"], 0, "errors")

    @test(f"{engine}: a session cut for longer: I/O waits, then fails, and goes on when it is back")
    def _(engine=engine):
        lun, doc = fails_from(f"long.{engine}", "long")
        lost_s = guest.secs("long.cut", "long.back")
        eq(states_of(doc, lun), [("running", "blocked"), ("blocked", "transport-offline"), ("transport-offline", "running")],
           "what the device went through")
        between(lun["xfers"], QD * (WINDOW_S - lost_s - 1.2) / DEVICE_S, QD * (WINDOW_S - lost_s) / DEVICE_S, "xfers")

    @test(f"{engine}: a session cut for good: I/O waits, then fails, and the report is on time")
    def _(engine=engine):
        lun, doc = fails_from(f"gone.{engine}", "gone")
        near(lun["xfers"], QD * guest.secs(doc, "gone.cut") / DEVICE_S, "xfers", rel=0.05)
        eq(states_of(doc, lun), [("running", "blocked"), ("blocked", "transport-offline")], "what the device went through")
        between(guest.secs(doc, f"gone.{engine}.ended"), WINDOW_S, WINDOW_S + 0.3, "seconds from the window's opening to the prompt")


@test("no thread of lunbench is held in the kernel")
def _():
    eq(guest.fact("stuck"), "0", "threads")


main()
