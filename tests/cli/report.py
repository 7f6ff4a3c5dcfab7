#!/usr/bin/python3
"""lunbench report --outage: what the outages of a saved result cost, with the figures of the run itself."""

import json
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

SCHEMA = "schema/lunbench-outage-1.schema.json"


def virtual_run(d, *args, luns=2, time="60s", latency="1ms", status=0):
    """The text and the document of a run on a virtual clock, saved as d/r.json: 4000 xfers a second and LUN."""
    names = [f"lun{i}" for i in range(luns)]
    for name in names:
        make_file(f"{d}/{name}", "64M")
    r = lunbench("--engine", "null", "--null-latency", latency, "--qd", "4", "--time", time, "--json", "r.json", *args, *names, cwd=d)
    r.expect(status)
    doc = parse_json(pathlib.Path(f"{d}/r.json").read_text())
    check_schema(doc, "schema/lunbench-result-1.schema.json")
    return r, doc


def report(path, *args, status=0, **how):
    """The text and the document of one report, which say the same."""
    text = lunbench("report", "--outage", path, *args, **how).expect(status)
    doc = lunbench("report", "--outage", path, "--json", "-", *args, **how).expect(status).json
    check_schema(doc, SCHEMA)
    eq(text.err, "", "stderr")
    return text.out, doc


def same_figures(saved, doc):
    """The report has the figures that the result has."""
    eq(doc["total"]["outages"], saved["total"]["outages"], "outages of all together")
    eq([(x["name"], x["outages"]) for x in doc["luns"]], [(x["name"], x["outages"]) for x in saved["luns"]], "outages of the LUNs")
    eq((doc["events"], doc["events_dropped"]), (saved["events"], saved["events_dropped"]), "events")
    for key in ("complete", "ended_by", "host", "start_utc", "window_s"):
        eq(doc[key], saved[key], key)
    eq(doc["intervals"], len(saved["series"]["end_s"]), "intervals")
    eq(doc["interval_s"], saved["series"]["interval_s"], "interval")


def lost(row, base, begin, end):
    """By the columns, at intervals of a second."""
    return sum(base - n for n in row["series"]["read"]["xfers"][begin:end])


@test("a stall that is over: its figures to the xfer, in the run's text, its JSON, and the report")
def _():
    with tmpdir() as d:
        r, saved = virtual_run(d, "--null-script", "stall:20s:7500ms@0")
        out, doc = report("r.json", cwd=d)
        same_figures(saved, doc)
        rows = [(saved["luns"][0], 4000.0, 100.0, "lun0"), (saved["total"], 8000.0, 50.0, "all together")]
        for row, base, fall, name in rows:
            eq(len(row["outages"]), 1, "outages")
            o = row["outages"][0]
            eq((o["begin_s"], o["end_s"], o["recovered"], o["baseline_xfer_per_s"], o["fall_pct"]), (20.0, 28.0, True, base, fall), name)
            eq((o["below_95_pct_s"], o["lost_xfers"]), (8.0, lost(row, base, 20, 28)), name)
            near(o["lost_xfers"], 7.5 * 4000, "lost", abs=8)
            near(o["mean_fall_pct"], 100 * o["lost_xfers"] / (8 * base), "mean fall", abs=1e-9)
            eq(o["worst_max_ns"], max(row["series"]["read"]["max_ns"][27:29]), "longest")
            eq(o["catch_up_s"], 0.0, "burst")
            for text in (r.out, out):
                has(" ".join(text.split()), rf" 20\.0 to 28\.0 s OUTAGE of {name}: {base:.0f} xfer/sec fell by {fall:.0f}%, on the mean by "
                    rf"{o['mean_fall_pct']:.0f}%; below 95% for 8\.0 s; recovered after 8\.0 s; {o['lost_xfers']:.0f} xfers lost; "
                    r"worst p99 1\.01ms, longest I/O 7\.50s")
        eq(saved["luns"][1]["outages"], [], "of the LUN that went on")
        has(out, r"^r\.json: 2 LUNs measured for 60\.000 s on ", "the head")


@test("the stall itself is an event, on the one time line with what it cost")
def _():
    with tmpdir() as d:
        r, saved = virtual_run(d, "--null-script", "stall:20s:7500ms@0")
        out, doc = report("r.json", cwd=d)
        eq([(e["kind"], e["lun"]) for e in doc["events"]], [("stall", "lun0")], "events")
        ok(saved["luns"][0]["outages"][0]["beside_event"], "beside the event")
        lines = out[out.index("what befell the LUNs"):].splitlines()
        eq(out[out.index("what befell the LUNs"):], r.out[r.out.index("what befell the LUNs"):].split("\n\n")[0] + "\n", "the time line")
        begins = [float(m[1]) for line in lines if (m := re.match(r"  +([\d.]+) ", line))]
        eq(begins, sorted(begins), "times")
        eq(len(begins), 3, "lines that have a time")
        has(lines[1], r"^  20\.0 to 27\.5 s  lun0: nothing came back for 7\.5 s", "its first line")


@test("a LUN that goes for good never recovers; its last second belongs to it")
def _():
    with tmpdir() as d:
        _, saved = virtual_run(d, "--null-script", "gone:30s:ENODEV@1", luns=4, time="40500ms", status=1)
        out, doc = report("r.json", cwd=d)
        same_figures(saved, doc)
        (o,) = saved["luns"][1]["outages"]
        eq((o["begin_s"], o["recovered"], o["fall_pct"]), (30.0, False, 100.0), "outage")
        near(o["end_s"], 40.5, "end", abs=1e-6)
        near(o["lost_xfers"], 10.5 * 4000, "lost", abs=8)
        (o,) = saved["total"]["outages"]
        near(o["fall_pct"], 25, "fall of all together", abs=0.5)
        has(" ".join(out.split()), r"; NOT RECOVERED; \d+ xfers lost; ", "the text")


@test("in open loop what was due in a stall is made up in a burst, or with --catch-up none it is lost")
def _():
    for catch_up, end, lost_xfers in (("qd", 27.0, 7000), ("none", 28.0, 7496)):
        with tmpdir() as d:
            r, saved = virtual_run(d, "--null-script", "stall:20s:7500ms@0", "--rate", "1000", "--catch-up", catch_up)
            out, doc = report("r.json", cwd=d)
            same_figures(saved, doc)
            (o,) = saved["luns"][0]["outages"]
            eq((o["begin_s"], o["end_s"], o["baseline_xfer_per_s"]), (20.0, end, 1000.0), catch_up)
            near(o["lost_xfers"], lost_xfers, "lost", abs=8)
            xfers = saved["luns"][0]["series"]["read"]["xfers"]
            burst = [n for n in xfers[27:31] if n > 1050]
            eq((o["catch_up_s"], o["catch_up_xfers"]), (float(len(burst)), float(sum(burst) - 1000 * len(burst))), "burst")
            if catch_up == "qd":
                ok(o["worst_p99_ns"] > 7e9, f"worst p99 is of responses: {o['worst_p99_ns']}")
                near(o["catch_up_xfers"], o["lost_xfers"], "made up", abs=8)
                near(o["catch_up_pct"], 300, "its height", abs=1)
                has(" ".join(out.split()), r" xfers lost, then up to 400% for 3\.0 s, \d+ more than the baseline; ", "the text")
            else:
                eq((burst, o["catch_up_pct"]), ([], 0.0), "no burst")


@test("two stalls are two outages, and noise of a fifth is none")
def _():
    with tmpdir() as d:
        _, saved = virtual_run(d, "--null-script", "stall:20s:3s@0,stall:40s:6s@0")
        _, doc = report("r.json", cwd=d)
        same_figures(saved, doc)
        eq([(o["begin_s"], o["baseline_xfer_per_s"]) for o in saved["luns"][0]["outages"]], [(20.0, 4000.0), (40.0, 4000.0)], "outages")
    with tmpdir() as d:
        _, saved = virtual_run(d, "--seed", "7", time="300s", latency="exp:100ms")
        out, doc = report("r.json", cwd=d)
        spread = saved["luns"][0]["series"]["read"]["xfers"]
        ok(min(spread) < 0.7 * sum(spread) / len(spread), f"it is noisy: {min(spread)}")
        same_figures(saved, doc)
        eq(doc["total"]["outages"], [], "outages")
        has(out, r"^no outage in 300 intervals of 1 s$", "the text")


@test("results of every kind are taken: refused, too short, incomplete, and by the standard input")
def _():
    with tmpdir() as d:
        lunbench("--json", f"{d}/r.json", f"{d}/none").expect(3)
        out, doc = report(f"{d}/r.json")
        has(out, r"r\.json: nothing was measured \(refused\)$", "the text")
        eq((doc["window_s"], doc["complete"], doc["intervals"], doc["luns"]), (None, False, 0, []), "the document")
        virtual_run(d, time="3s")
        out, doc = report(f"{d}/r.json")
        has(out, r"^3 intervals: fewer than the 5 that can tell of an outage$", "the text")
        run = start("--engine", "null", "--time", "60s", "--json", f"{d}/r.json", f"{d}/lun0", f"{d}/lun1")
        time.sleep(0.5)
        run.signal(signal.SIGINT)
        run.wait().expect(130)
        with open(f"{d}/r.json", "rb") as f:
            out = lunbench("report", "--outage", "-", stdin=f).expect(0).out
        has(out, r"^stdin: INCOMPLETE: 2 LUNs measured for 0\.\d+ s from 20\S+Z on ", "the text")


@test("what is no result, or has no series, is status 2 with what is wrong and where")
def _():
    with tmpdir() as d:
        _, saved = virtual_run(d, luns=1, time="6s")

        def refused(change, said):
            doc = json.loads(json.dumps(saved))
            change(doc)
            pathlib.Path(f"{d}/x.json").write_text(json.dumps(doc))
            r = lunbench("report", "--outage", "x.json", cwd=d).expect(2)
            eq((r.out, r.err), ("", f"lunbench: x.json: {said}\n"), "what it says")

        refused(lambda x: x.pop("schema"), 'is no result of lunbench: it has no "schema"')
        refused(lambda x: x.update(schema="lunbench-list/1"), "is a lunbench-list/1, not the result of a run, a lunbench-result/1")
        refused(lambda x: x.pop("series"), "has no time series: an older lunbench wrote it")
        refused(lambda x: x["series"]["end_s"].__setitem__(3, 1.0), "series.end_s: item 3 is not later than the one before")
        refused(lambda x: x["series"]["end_s"].pop(), "total.series.read.xfers: has 6 items where series.end_s has 5".replace("total", "luns[0]"))
        refused(lambda x: x["total"]["series"]["read"]["xfers"].__setitem__(0, "1"), "total.series.read.xfers[0]: is a string, not a number")
        refused(lambda x: x["total"]["series"]["read"]["xfers"].__setitem__(2, -1), "total.series.read.xfers: item 2 is no count")
        refused(lambda x: x["luns"][0]["series"]["read"]["max_ns"].__setitem__(2, 1e300), "luns[0].series.read.max_ns: item 2 is no latency")
        refused(lambda x: x["luns"][0].pop("name"), "luns[0].name: is missing: a string")
        refused(lambda x: x.update(events=[{"kind": "stall", "lun": "x", "begin_s": 1.0}]), "events[0]: is of a LUN that is not among the luns")
        refused(lambda x: x.update(luns=7), "luns: is a number, not an array")
        for text, said in (("", "x.json:1:1: there is nothing in it"), ('{"schema": ', "x.json:1:12: the text ends too early"),
                           ("[]", 'x.json: is no result of lunbench: it has no "schema"'), ("lun0\n", "x.json:1:1: unexpected character")):
            pathlib.Path(f"{d}/x.json").write_text(text)
            eq(lunbench("report", "--outage", "x.json", cwd=d).expect(2).err, f"lunbench: {said}\n", "stderr")
        lunbench("report", "--outage", "none", cwd=d).expect(2, err="^lunbench: none cannot be read: No such file or directory$")
        lunbench("report", "--outage", ".", cwd=d).expect(2, err="^lunbench: . cannot be read: Is a directory$")
        # an event of a kind that is not known yet is no fault
        doc = dict(saved, events=[{"kind": "later", "lun": None, "begin_s": 1.0, "end_s": None}])
        pathlib.Path(f"{d}/x.json").write_text(json.dumps(doc))
        eq(report("x.json", cwd=d)[1]["events"], [], "events")


@test("usage, and where the report goes")
def _():
    with tmpdir() as d:
        virtual_run(d, luns=1, time="6s")
        lunbench("report", cwd=d).expect(2, err="^lunbench: lunbench report needs --outage RESULT.json: a result that --json wrote$")
        lunbench("report", "--outage", "r.json", "lun0", cwd=d).expect(2, err="^lunbench: lunbench report looks at no target: lun0 is one too many$")
        lunbench("report", "--outage", "r.json", "--qd", "4", cwd=d).expect(2, err="is of no use to lunbench report, which takes --outage and --json$")
        lunbench("--outage", "r.json", "lun0", cwd=d).expect(2, err='^lunbench: --outage: "r.json" is of a run that is over: lunbench report --outage$')
        before = pathlib.Path(f"{d}/r.json").read_bytes()
        lunbench("report", "--outage", "r.json", "--json", "r.json", cwd=d).expect(2, err="^lunbench: --json: r.json is the result that is read: give another name$")
        eq(pathlib.Path(f"{d}/r.json").read_bytes(), before, "the result")
        lunbench("report", "--outage", "r.json", "--json", "o.json", cwd=d).expect(0, out="^no outage in 6 intervals of 1 s$")
        check_schema(parse_json(pathlib.Path(f"{d}/o.json").read_text()), SCHEMA)
        lunbench("report", "--outage", "none", "--json", "o2.json", cwd=d).expect(2)
        ok(not pathlib.Path(f"{d}/o2.json").exists(), "a document of nothing")
        with open("/dev/full", "w") as full:
            lunbench("report", "--outage", "r.json", cwd=d, stdout=full).expect(4)
        make_file(f"{d}/report", "1M")
        lunbench("--engine", "null", "--time", "50ms", "./report", cwd=d).expect(0)


@test("outages and events are described alike in both schemas")
def _():
    here, there = (json.loads((ROOT / f"schema/lunbench-{name}-1.schema.json").read_text())["$defs"] for name in ("outage", "result"))
    for key in ("outage", "event"):
        eq(here[key], there[key], key)


main()
