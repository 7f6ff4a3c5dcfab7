#!/usr/bin/python3
"""LUNs that hang and come back: told while it lasts, and in the result with begin and end, by each engine."""

import contextlib
import datetime
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

ENGINES = ("io_uring", "libaio", "sync")
NEAR_S = 0.7  # a freeze takes a moment, and so does a busy machine
SCHEMA = "schema/lunbench-result-1.schema.json"


class Hang:
    """The LUN hangs from `since` to `until`, on the clock of time.time()."""

    def __init__(self, lun):
        self.lun = lun
        lun.freeze()
        self.since = time.time()

    def end(self):
        self.lun.thaw()
        self.until = time.time()
        return self


def opened(doc):
    return datetime.datetime.fromisoformat(doc["start_utc"][:26] + "+00:00").timestamp()


def events(doc, *kinds):
    return [e for e in doc["events"] if e["kind"] in kinds]


def judge(doc, event, lun, hang, ended=True):
    """It is the stall of that LUN."""
    eq((event["kind"], event["lun"]), ("stall", lun.path), "the event")
    near(event["begin_s"] + opened(doc), hang.since, "its begin", abs=NEAR_S)
    if ended:
        near(event["end_s"] + opened(doc), hang.until, "its end", abs=NEAR_S)
    else:
        eq(event["end_s"], None, "its end")


@test("a LUN that hangs for 3 s: an event, a gap of 3 s, notes, status 0; its sibling has none", limit=90)
def _():
    with freezable("8M") as lun, loop_of("8M", "random") as good, tmpdir() as d:
        runs = {e: start("--engine", e, "--qd", "4", "--time", "7", "--stall", "1", "--json", f"{d}/{e}.json", lun, good)
                for e in ENGINES}
        time.sleep(1.5)
        hang = Hang(lun)
        for r in runs.values():
            wait_for(lambda r=r: "nothing came back" in r.err_so_far(), "the note", 10)
        time.sleep(max(0, 3 - (time.time() - hang.since)))
        hang.end()
        for e, r in runs.items():
            doc = r.wait(60).expect(0, err=rf"(?s)^lunbench: [0-9.]+ s: {lun.path}: nothing came back for 1\.[0-9] s, 4 in flight$"
                                           rf".*^lunbench: [0-9.]+ s: {lun.path}: answering again after [0-9.]+ s$",
                                    out=rf"(?s)what befell the LUNs.* to .*{lun.path}: nothing came back for")
            doc = parse_json(pathlib.Path(f"{d}/{e}.json").read_text())
            check_schema(doc, SCHEMA)
            stalls = events(doc, "stall")
            eq(len(stalls), 1, f"{e}: stalls")
            judge(doc, stalls[0], lun, hang)
            eq(stalls[0]["ios"], 4, f"{e}: I/Os in flight")
            row, other = doc["luns"]
            length = stalls[0]["end_s"] - stalls[0]["begin_s"]
            near(row["longest_gap_s"], length, f"{e}: longest gap", abs=0.001)
            near(row["longest_gap_at_s"], stalls[0]["begin_s"], f"{e}: when", abs=0.001)
            near(row["stalled_s"], length, f"{e}: stalled", abs=0.001)
            eq((row["stalls"], other["stalls"]), (1, 0), f"{e}: stalls of each LUN")
            near(doc["total"]["longest_gap_s"], row["longest_gap_s"], f"{e}: total", abs=0)
            ok([f for f in doc["findings"] if f["code"] == "stall" and f["lun"] == lun.path], f"{e}: no finding")
            ok(other["xfers"] > row["xfers"], f"{e}: the sibling was slower")


@test("a LUN that hangs past the end: an event without an end, I/O outstanding, status 1", limit=90)
def _():
    with freezable("8M") as lun, tmpdir() as d:
        runs = {e: start("--engine", e, "--qd", "2", "--time", "4", "--stall", "1", "--drain", "1", "--json", f"{d}/{e}.json", lun)
                for e in ENGINES}
        time.sleep(1.5)
        hang = Hang(lun)
        for e, r in runs.items():
            r.wait(60).expect(1, out="(?s)STILL OUT.* s to the end  .*nothing came back")
            doc = parse_json(pathlib.Path(f"{d}/{e}.json").read_text())
            check_schema(doc, SCHEMA)
            judge(doc, events(doc, "stall")[0], lun, hang, ended=False)
            row = doc["luns"][0]
            eq((row["stalls"], row["outstanding"]), (1, 2), f"{e}: stalls, I/O outstanding")
            near(row["longest_gap_s"], 4 - row["longest_gap_at_s"], f"{e}: the gap is up to the window's end", abs=0.001)
        hang.end()


@test("a LUN that answers only after the measured time: the event has its end, status 0", limit=90)
def _():
    with freezable("8M") as lun, tmpdir() as d:
        runs = {e: start("--engine", e, "--qd", "2", "--time", "3", "--stall", "1", "--json", f"{d}/{e}.json", lun) for e in ENGINES}
        time.sleep(1.5)
        hang = Hang(lun)
        time.sleep(3)
        hang.end()
        for e, r in runs.items():
            r.wait(60).expect(0)
            doc = parse_json(pathlib.Path(f"{d}/{e}.json").read_text())
            judge(doc, events(doc, "stall")[0], lun, hang)
            ok(events(doc, "stall")[0]["end_s"] > 3, f"{e}: it ended in the measured time")
            between(doc["luns"][0]["longest_gap_s"], 0.5, 3, f"{e}: the gap in the measured time")


@test("--progress never: no notes")
def _():
    with freezable("8M") as lun:
        r = start("--qd", "2", "--time", "4", "--stall", "0.5", "--progress", "never", lun)
        time.sleep(1.5)
        hang = Hang(lun)
        time.sleep(1.5)
        hang.end()
        r.wait(60).expect(0, out="nothing came back", err=r"\A\Z")


@test("a standard error that is full holds up nobody: notes are lost, the run ends in time")
def _():
    with freezable("8M") as lun:
        r, w = os.pipe()
        os.set_blocking(w, False)
        with contextlib.suppress(BlockingIOError):
            while os.write(w, b"x" * 4096):
                pass
        os.set_blocking(w, True)
        job = start("--qd", "2", "--time", "4", "--stall", "0.5", "--progress", "always", "--json", "-", lun,
                    before=lambda: os.dup2(w, 2))
        time.sleep(1.5)
        hang = Hang(lun)
        time.sleep(1.5)
        hang.end()
        done = job.wait(60).expect(0)
        eq((done.json["window_s"], done.json["luns"][0]["stalls"]), (4.0, 1), "window and stalls")
        ok(done.secs < 10, f"{done.secs:.1f} s")
        os.close(r)
        os.close(w)


@test("I/O errors: when they began and ended")
def _():
    with loop_of("8M", "random") as lun:
        r = start("--qd", "1", "--time", "3", "--max-errors", "0", "--progress", "always", "--json", "-", lun)
        wait_for(lambda: "xfer/sec" in r.err_so_far(), "it is under way", 20)
        since = time.time()
        os.truncate(lun.backing, 0)
        doc = r.wait(60).expect(1, err="I/O error").json
        check_schema(doc, SCHEMA)
        burst = events(doc, "errors")
        eq((len(burst), burst[0]["lun"]), (1, lun.path), "the event")
        near(burst[0]["begin_s"] + opened(doc), since, "its begin", abs=NEAR_S)
        between(burst[0]["end_s"], 1.8, 4.1, "its end")  # the last may be a back-off of a second before the end
        eq(burst[0]["ios"], doc["total"]["errors"], "errors")


@test("libaio: LUNs that wait with a worker held in io_submit are named, and have no gap", limit=90)
def _():
    # each transfer is split, so that one fills the queue of the LUN that hangs, though the qd is below nr_requests; of
    # the other 40 at least 8 have no part in the batch of at most 32 that is being submitted then
    with freezable("64M") as lun, tmpdir() as d:
        others = [make_file(f"{d}/{i}", 4 << 20, "random") for i in range(40)]
        (lun.sys / "queue/max_sectors_kb").write_text("4")
        ok(int((lun.sys / "queue/nr_requests").read_text()) <= 256, "one transfer does not fill the queue")
        r = start("--engine", "libaio", "--workers", "1", "--qd", "2", "--size", "1M", "--time", "8",
                  "--stall", "2", "--json", "-", lun, *others)
        time.sleep(3)
        hang = Hang(lun)
        time.sleep(4)
        hang.end()
        doc = r.wait(60).expect(0, err="held (a worker )?in a call that submits").json
        check_schema(doc, SCHEMA)
        held = [e for e in events(doc, "held") if e["end_s"] - e["begin_s"] > 2]
        eq(len(held), 1, "holds while it hung")
        # it is held by the first batch with a part for the LUN that is submitted after the queue is full
        between(held[0]["begin_s"] + opened(doc) - hang.since, -NEAR_S, 2, "s from the hang to the hold")
        near(held[0]["end_s"] + opened(doc), hang.until, "end of the hold", abs=NEAR_S)
        has(held[0]["text"], r"with it waited \S+, \S+, \S+ and \d+ more$", "who waited")
        stalled = {e["lun"] for e in events(doc, "stall")}
        ok(lun.path in stalled, "the LUN that hung has no stall")
        ok(held[0]["luns_held"] >= 8, f"{held[0]['luns_held']} LUNs waited")
        ok(len(stalled) <= 41 - held[0]["luns_held"], f"{len(stalled)} LUNs stalled, {held[0]['luns_held']} waited")
        eq(len([row for row in doc["luns"] if row["longest_gap_s"] >= 2]), len(stalled), "LUNs with a gap of 2 s or more")


main()
