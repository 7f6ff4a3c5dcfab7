#!/usr/bin/python3
"""--stream: lines while the run goes on, to whoever reads them, slowly or not at all."""

import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

SCHEMA = "schema/lunbench-stream-1.schema.json"
RUN = ["--engine", "null", "--qd", "2", "--time", "300ms", "--interval", "50ms", "--scratch", "2x1M"]
LONG = ["--engine", "null", "--time", "100s", "--scratch", "1x1M"]  # were it run, it would show
VIRTUAL = ["--engine", "null", "--qd", "1", "--null-latency", "10ms", "--scratch", "1x1M"]


def lines_of(text):
    """Each line valid by itself; the first and the last are what they should be."""
    lines = [parse_json(line, "a line") for line in text.splitlines()]
    for line in lines[:20] + lines[-1:]:  # all are alike
        check_schema(line, SCHEMA, f"the line of type {line['type']}")
    eq([line["type"] for line in lines if line["type"] in ("begin", "end")], ["begin", "end"], "types")
    eq((lines[0]["type"], lines[-1]["type"]), ("begin", "end"), "types of the first line and the last")
    return lines


def whole(text):
    """All intervals are there, and add up to what the last line says."""
    lines = lines_of(text)
    intervals = [line for line in lines if line["type"] == "interval"]
    end = lines[-1]
    eq([i["begin_s"] for i in intervals], [0, *[i["end_s"] for i in intervals[:-1]]], "begins")
    eq(intervals[-1]["end_s"], end["window_s"], "the end of the last")
    for key in "xfers", "bytes", "errors":
        eq(sum(i["total"]["read"][key] for i in intervals), end[key], f"{key} of all")
        for i in intervals:
            eq(sum(lun["read"][key] for lun in i["luns"]), i["total"]["read"][key], f"{key} of the LUNs")
    names = [lun["lun"] for lun in lines[0]["luns"]]
    for i in intervals:
        eq([lun["lun"] for lun in i["luns"]], names, "LUNs of an interval")
    eq(end["lines_dropped"], 0, "lines dropped")
    return lines


@test("--stream - takes the place of the text")
def _():
    r = lunbench(*RUN, "--stream", "-").expect(0)
    lines = whole(r.out)
    eq(lines[0]["luns"][1]["lun"], "scratch1", "the second LUN")
    eq((lines[-1]["status"], lines[-1]["complete"], lines[-1]["ended_by"]), (0, True, "time"), "how it ended")


@test("--stream FILE grows during the run, beside text and JSON that say the same")
def _():
    with tmpdir() as d:
        path = pathlib.Path(d, "s")
        job = start("--engine", "null", "--qd", "1", "--time", "3s", "--interval", "50ms", "--scratch", "1x1M",
                    "--stream", path, "--json", f"{d}/r.json")
        wait_for(lambda: path.exists() and path.read_text().count("\n") >= 4, "four lines")
        ok(job.alive(), "the run was over when they came")
        job.wait().expect(0, out=r"^Total ")
        lines = whole(path.read_text())
        doc = parse_json(pathlib.Path(d, "r.json").read_text())
        eq(lines[-1]["xfers"], doc["total"]["xfers"], "xfers")
        eq([line["end_s"] for line in lines[1:-1]], doc["series"]["end_s"], "ends of intervals")
        eq(lines[0]["start_utc"], doc["start_utc"], "start")


@test("on a virtual clock: at the end, to the exact figure")
def _():
    r = lunbench(*VIRTUAL, "--null-script", "stall:1s:2s", "--time", "4s", "--stream", "-").expect(0)
    lines = whole(r.out)
    eq([line["total"]["read"]["xfers"] for line in lines[1:-1]], [99, 0, 1, 99], "xfers of each interval")
    eq([line["total"]["silent_luns"] for line in lines[1:-1]], [0, 1, 0, 0], "silent LUNs")
    eq(lines[0]["start_utc"], None, "start")


@test("events stand among the intervals in which they begin")
def _():
    r = lunbench(*VIRTUAL, "--null-script", "stall:1s:7s", "--time", "10s", "--interval", "2s", "--stream", "-").expect(0)
    lines = whole(r.out)
    eq([line["type"] for line in lines], ["begin", "event", *["interval"] * 5, "end"], "types")
    event = lines[1]
    eq((event["event"], event["kind"], event["lun"], event["begin_s"], event["end_s"], event["ios"]), (0, "stall", "scratch0", 0.99, 8.0, 1), "the stall")
    r = lunbench(*VIRTUAL, "--until", "steady", "--steady-window", "1s", "--stream", "-").expect(0)
    lines = whole(r.out)
    eq([(line["kind"], line["lun"], line["begin_s"], line["end_s"]) for line in lines if line["type"] == "event"], [("steady", None, 5.0, 5.0)], "events")
    eq(lines[-1]["ended_by"], "steady", "how it ended")


@test("a run that is refused, or stopped, says so in its last line")
def _():
    r = lunbench("/dev/lunbench-test-is-not-there", "--stream", "-").expect(3)
    lines = lines_of(r.out)
    eq((len(lines), lines[0]["luns"], lines[1]["ended_by"], lines[1]["status"]), (2, [], "refused", 3), "the lines")
    with tmpdir() as d:
        path = pathlib.Path(d, "s")
        job = start(*LONG, "--interval", "50ms", "--stream", path)
        wait_for(lambda: path.exists() and path.read_text().count("\n") >= 4, "four lines")
        job.signal(signal.SIGINT)
        job.wait().expect(130)
        lines = whole(path.read_text())
        eq((lines[-1]["signal"], lines[-1]["complete"]), ("SIGINT", False), "how it ended")


@test("a disk that is full: status 4, and the run goes on and is reported")
def _():
    with tmpdir() as d:
        r = lunbench(*RUN, "--stream", "/dev/full", "--json", f"{d}/r.json").expect(4, out=r"^Total ", err=r"^lunbench: cannot write /dev/full: No space left on device$")
        doc = parse_json(pathlib.Path(d, "r.json").read_text())
        eq((doc["complete"], doc["status"], doc["window_s"]), (True, 4, 0.3), "the result")


@test("a reader that goes away: status 4, and the run goes on")
def _():
    with tmpdir() as d:
        for close_first in (True, False):
            read_end, write_end = os.pipe()
            if close_first:
                os.close(read_end)
            job = start(*RUN, "--stream", "-", "--json", f"{d}/r.json", stdout=write_end)
            os.close(write_end)
            if not close_first:
                os.read(read_end, 10)
                os.close(read_end)
            job.wait().expect(4, err=r"^lunbench: cannot write the standard output: Broken pipe$")
            doc = parse_json(pathlib.Path(d, "r.json").read_text())
            eq((doc["complete"], doc["window_s"]), (True, 0.3), "the result")


@test("a reader that does not read: the run ends in time, and then waits for it", limit=120)
def _():
    with tmpdir() as d:
        result = pathlib.Path(d, "r.json")
        luns = []
        for i in range(40):
            luns.append(f"{d}/lun{i}")
            with open(luns[-1], "wb") as f:
                f.truncate(1 << 20)
        read_end, write_end = os.pipe()
        job = start("--engine", "null", "--qd", "1", "--time", "2s", "--interval", "10ms", *luns,
                    "--stream", "-", "--json", result, stdout=write_end)
        os.close(write_end)
        wait_for(result.exists, "the result", limit=60)  # far more than the pipe holds was to be written
        eq(parse_json(result.read_text())["window_s"], 2.0, "seconds measured")
        ok(job.alive(), "it did not wait for its reader")
        with os.fdopen(read_end) as f:
            lines = whole(f.read())
        job.wait().expect(0)
        ok(len(lines) > 20, f"{len(lines)} lines")


@test("a signal ends the wait for a reader")
def _():
    with tmpdir() as d:
        result = pathlib.Path(d, "r.json")
        read_end, write_end = os.pipe()
        fill = os.dup(write_end)
        os.set_blocking(fill, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(fill, bytes(4096))
        os.set_blocking(fill, True)
        os.close(fill)
        job = start(*RUN, "--stream", "-", "--json", result, stdout=write_end)
        os.close(write_end)
        wait_for(result.exists, "the result", limit=60)
        for _ in range(2):  # the first may come before the report is done
            time.sleep(0.5)
            job.signal(signal.SIGTERM)
        job.wait().expect(143)
        os.close(read_end)


@test("a reader that is far too slow: lines are dropped, counted, and told", limit=180)
def _():
    with tmpdir() as d:
        result = pathlib.Path(d, "r.json")
        where = d + 8 * ("/" + "x" * 200)  # a line of 500 long names is nearly a megabyte
        os.makedirs(where)
        luns = []
        for i in range(500):
            luns.append(f"{where}/lun{i}")
            with open(luns[-1], "wb") as f:
                f.truncate(1 << 20)
        read_end, write_end = os.pipe()
        job = start("--engine", "null", "--qd", "1", "--time", "5s", "--interval", "50ms", *luns,
                    "--stream", "-", "--json", result, stdout=write_end)
        os.close(write_end)
        wait_for(result.exists, "the result", limit=120)
        doc = parse_json(result.read_text())
        eq((doc["window_s"], doc["complete"], doc["status"]), (5.0, True, 4), "the result")
        with os.fdopen(read_end) as f:
            lines = lines_of(f.read())
        job.wait().expect(4)
        dropped = lines[-1]["lines_dropped"]
        ok(dropped > 0, "no line was dropped")
        has([f["text"] for f in doc["findings"] if f["code"] == "stream-dropped"][0], rf"^{dropped} lines ", "the finding")
        eq(len(lines) - 2 + dropped, len(doc["series"]["end_s"]), "intervals, told and dropped")


@test("what is in FILE: a stream or a result is written over when the run begins, all else is refused")
def _():
    with tmpdir() as d:
        path = pathlib.Path(d, "s")
        lunbench(*RUN, "--stream", path).expect(0)
        with open(path, "a") as f:
            f.write("x" * 100000)
        inode = os.stat(path).st_ino
        lunbench(*RUN, "--stream", path).expect(0)
        whole(path.read_text())
        eq(os.stat(path).st_ino, inode, "inode")
        path.write_text("precious\n")
        r = lunbench(*LONG, "--stream", path).expect(2, out=r"\A\Z")
        has(r.err, rf"^lunbench: --stream: {path} is a file of 9 bytes that is no result of lunbench: ", "stderr")
        eq(path.read_text(), "precious\n", "the file")
        lunbench(*LONG, "--stream", f"{d}/none/s").expect(4, err=r"^lunbench: cannot write .*/none/s: No such file or directory$")
        eq(os.listdir(d), ["s"], "files")


@test("--stream to a block device: the LUN whose file name was forgotten stays whole")
def _():
    with loop_of("4M", "random") as lun:
        before = pathlib.Path(lun.path).read_bytes()
        lunbench(*LONG, "--stream", lun).expect(2, err=rf"^lunbench: --stream: {lun} is a block device, not a file: ")
        ok(pathlib.Path(lun.path).read_bytes() == before, "the LUN's content has changed")


@test("--stream and --json have places of their own, and only a run has a stream")
def _():
    with tmpdir() as d:
        os.symlink("new", f"{d}/link")
        for json_to, stream_to in (("-", "-"), (f"{d}/a", f"{d}/a"), (f"{d}/new", f"{d}/./link")):
            lunbench(*LONG, "--json", json_to, "--stream", stream_to).expect(2, out=r"\A\Z", err=r"^lunbench: --stream: .*is where --json goes: give it another place$")
        eq(os.listdir(d), ["link"], "files")
    lunbench("check", "x", "--stream", "-").expect(2, err="--stream: \"-\" is of a run")
    lunbench("list", "--stream", "-").expect(2, err="--stream")


@test("--stream to a FIFO waits for its reader before the run")
def _():
    with tmpdir() as d:
        os.mkfifo(f"{d}/fifo")
        job = start(*RUN, "--stream", f"{d}/fifo")
        wait_for(lambda: "waiting for a reader" in job.err_so_far(), "the note")
        has(job.err_so_far(), r"^lunbench: --stream: waiting for a reader of ", "stderr")
        with open(f"{d}/fifo") as f:
            whole(f.read())
        job.wait().expect(0, out=r"^Total ")


main()
