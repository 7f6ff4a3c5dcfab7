#!/usr/bin/python3
"""The time series of real I/O: it adds up whatever ends the run, and goes on whatever hangs."""

import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

ENGINES = ("io_uring", "libaio", "sync")


def adds_up(doc):
    """Of each LUN and of all together, the intervals make what the window has: exactly."""
    ends = doc["series"]["end_s"]
    eq(ends[-1], doc["window_s"], "the last end")
    ok(all(a < b for a, b in zip([0, *ends], ends)), f"ends: {ends}")
    for row in [doc["total"], *doc["luns"]]:
        for op in "read", "write":
            series = row["series"][op]
            if series is None:
                eq(row[op]["xfers"], 0, f"{op} xfers without a series")
                continue
            for key in "xfers", "bytes":
                eq(sum(series[key]), row[op][key], f"{op} {key}")
            eq(sum(series["errors"]), row[op]["errors"] - row[op]["errors_outside_window"], f"{op} errors")
            longest = [ns for ns in series["max_ns"] if ns is not None]
            if longest and not row[op]["latency"]["max_is_lower_bound"]:
                eq(max(longest), row[op]["latency"]["max_ns"], f"{op} max")


def result(path):
    doc = parse_json(pathlib.Path(path).read_text(), "the result")
    check_schema(doc, "schema/lunbench-result-1.schema.json")
    return doc


@test("intervals add up to the window, by time, by count, and mixed, on each engine", limit=120)
def _():
    with loop_of("32M", "random") as a, loop_of("32M", "random") as b, tmpdir() as d:
        for engine in ENGINES:
            for ends in (["--time", "1050ms"], ["--count", "3000"], ["--time", "500ms", "--threads-per-lun", "2"]):
                if engine == "sync" and ends[-2] == "--threads-per-lun":
                    ends = ends[:2]
                lunbench("--engine", engine, "--qd", "4", "--interval", "100ms", *ends, "--json", f"{d}/r", a, b).expect(0)
                doc = result(f"{d}/r")
                adds_up(doc)
                eq(doc["series"]["asked_interval_s"], 0.1, "interval")
        lunbench("--op", "rw", "--allow-write", "--qd", "4", "--interval", "100ms", "--time", "1s", "--json", f"{d}/r",
                 "--overwrite", a, "--overwrite", b, a, b).expect(0)
        doc = result(f"{d}/r")
        adds_up(doc)
        ok(sum(doc["total"]["series"]["write"]["xfers"]) > 0, "no writes")


@test("a signal ends the last interval; errors are in those that had them")
def _():
    with loop_of("32M", "random") as a, tmpdir() as d:
        job = start("--qd", "4", "--interval", "100ms", "--time", "100s", "--json", f"{d}/r", "--stream", f"{d}/s", a)
        wait_for(lambda: pathlib.Path(d, "s").exists() and pathlib.Path(d, "s").read_text().count("\n") > 3, "intervals")
        os.truncate(a.backing, 16 << 20)  # from here on half of it fails
        wait_for(lambda: '"errors": 0,' not in pathlib.Path(d, "s").read_text().splitlines()[-1], "errors")
        job.signal(signal.SIGINT)
        job.wait().expect(130)
        doc = result(f"{d}/r")
        adds_up(doc)
        errors = doc["total"]["series"]["read"]["errors"]
        eq(errors[0], 0, "errors of the first interval")
        ok(sum(errors) > 0, "no errors")


@test("a LUN that hangs: intervals end in time, with zeros for it, and the gap so far", limit=120)
def _():
    with loop_of("32M", "random") as good, tmpdir() as d:
        for engine in ENGINES:
            with freezable("32M") as lun:
                stream = pathlib.Path(d, f"s-{engine}")
                job = start("--engine", engine, "--qd", "2", "--interval", "100ms", "--time", "4s", "--drain", "0",
                            "--stream", stream, "--json", f"{d}/r", good, lun)
                wait_for(lambda: stream.exists() and stream.read_text().count("\n") > 5, "intervals")
                lun.freeze()
                job.wait().expect(1)
                lun.thaw()
            doc = result(f"{d}/r")
            adds_up(doc)
            ends, total = doc["series"]["end_s"], doc["total"]["series"]
            hung = next(row for row in doc["luns"] if row["name"] == str(lun))["series"]
            between(len(ends), 12, 40, f"{engine}: intervals")
            tail = next(i for i in range(len(ends)) if not any(hung["read"]["xfers"][i:]))
            between(tail, 4, len(ends) - 3, f"{engine}: the first silent interval")
            for i in range(tail + 1, len(ends)):
                eq((total["silent_luns"][i], hung["in_flight"][i], hung["read"]["p99_ns"][i]), (1, 2, None), f"{engine}: interval {i}")
                between(hung["longest_gap_ns"][i] / 1e9, ends[i] - ends[tail], ends[i] - (ends[tail - 2] if tail > 1 else 0),
                        f"{engine}: the gap by the end of interval {i}")
            eq(total["longest_gap_ns"][-1], hung["longest_gap_ns"][-1], f"{engine}: the longest gap of any LUN")
            ok(all(total["read"]["xfers"][:tail]), f"{engine}: the other LUN")
            lines = [parse_json(line) for line in stream.read_text().splitlines()]
            eq([line["end_s"] for line in lines[1:-1]], ends, f"{engine}: ends in the stream")


@test("a stall in the stream: a line when it is noticed, and one when it is over", limit=120)
def _():
    with freezable("32M") as lun, tmpdir() as d:
        stream = pathlib.Path(d, "s")

        def events():
            return [e for e in map(parse_json, stream.read_text().splitlines()) if e["type"] == "event"]

        job = start("--qd", "2", "--interval", "100ms", "--time", "100s", "--stall", "500ms", "--stream", stream, lun)
        wait_for(lambda: stream.exists() and stream.read_text().count("\n") > 3, "intervals")
        lun.freeze()
        wait_for(events, "the event")
        time.sleep(1)
        eq([(e["kind"], e["lun"], e["end_s"]) for e in events()], [("stall", str(lun), None)], "the event that lasts")
        lun.thaw()
        wait_for(lambda: len(events()) > 1, "its end")
        job.signal(signal.SIGINT)
        job.wait().expect(130)
        first, last = events()[:2]
        eq((last["event"], last["begin_s"]), (first["event"], first["begin_s"]), "number and begin")
        ok(last["end_s"] - last["begin_s"] > 1.5, f"it ended after {last['end_s'] - last['begin_s']} s")
        for line in stream.read_text().splitlines():
            check_schema(parse_json(line), "schema/lunbench-stream-1.schema.json")


@test("a parent that is stopped for a while: a longer interval that says so, and all adds up")
def _():
    with loop_of("32M", "random") as a, tmpdir() as d:
        stream = pathlib.Path(d, "s")
        job = start("--qd", "4", "--interval", "100ms", "--time", "4s", "--json", f"{d}/r", "--stream", stream, a)
        wait_for(lambda: stream.exists() and stream.read_text().count("\n") > 3, "intervals")
        job.signal(signal.SIGSTOP)
        time.sleep(1)
        job.signal(signal.SIGCONT)
        job.wait().expect(0)
        doc = result(f"{d}/r")
        adds_up(doc)
        ends = doc["series"]["end_s"]
        lengths = [b - a for a, b in zip([0, *ends], ends)]
        ok(max(lengths) > 0.9, f"the longest interval: {max(lengths)} s")
        at = lengths.index(max(lengths))
        xfers = doc["total"]["series"]["read"]["xfers"]
        ok(xfers[at] > 2 * xfers[at - 1], f"xfers before and in the long interval: {xfers[at - 1:at + 1]}")


main()
