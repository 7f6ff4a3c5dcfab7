#!/usr/bin/python3
"""lunbench check: what would stop or distort a run, in text and JSON, without one."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

SCHEMA = "schema/lunbench-check-1.schema.json"


def check(status, *args, **how):
    """The text and the JSON of one check, which say the same; both take no time."""
    r = lunbench("check", *args, **how).expect(status)
    ok(r.secs < 2, f"it took {r.secs:.1f} s")
    doc = lunbench("check", "--json", "-", *args, **how).expect(status).json
    check_schema(doc, SCHEMA)
    eq(doc["status"], status, "status")
    text = " ".join(r.out.split())
    for row in doc["stops"] + doc["findings"]:
        has(text, re.escape(f"{row['code']}: "), "the text")
    return r, doc


def codes(doc, key):
    return [row["code"] for row in doc[key]]


@test("nothing to say is said, with what is fine, and is status 0")
def _():
    with scratch_file("8M", "random") as f:
        r, doc = check(0, "--engine", "libaio", "--qd", "4", "--size", "4k", f)
        eq(r.err, "", "stderr")
        lines = r.out.splitlines()
        eq(lines[0], "read rand 4k, qd 4 per LUN, 1 LUN; libaio, 1 worker", "the first line")
        has(r.out, "^nothing would stop or distort this run$", "the text")
        has(" ".join(r.out.split()), r" fine: 4 of \d+ aio slots by fs.aio-max-nr, 1 of \d+ threads by kernel.pid_max, ", "the text")
        eq((doc["stops"], doc["findings"], doc["error"]), ([], [], None), "what it found")
        ok({"aio-slots", "pid-max", "memory"} <= set(codes(doc, "fine")), f"fine: {doc['fine']}")
        eq(doc["engine"]["used"], "libaio", "engine")
        eq((doc["plan"]["workers"], doc["plan"]["phases"][0]["streams"][0]["qd_per_lun"]), (1, 4), "plan")


@test("the shape of the run comes from the same options, and distortions alone are status 0")
def _():
    with scratch_file("8M", "random") as a, scratch_file("16M", "random") as b:
        r, doc = check(0, a, b)
        eq(codes(doc, "findings"), ["sizes-differ"], "findings")
        has(r.out, "^findings$", "the text")
        lacks(r.out, "nothing would stop", "the text")
        eq(doc["findings"][0]["lun"], None, "whose finding")


@test("everything that stops the run is named in one go, status 3, and nothing goes to stderr")
def _():
    with scratch_file("1G") as f:
        args = ("--engine", "libaio", "--threads-per-lun", "512", "--workers", "512", "--qd", "4096", "--size", "64M", f)
        r, doc = check(3, *args)
        eq(r.err, "", "stderr")
        has(r.out, "^stops the run$", "the text")
        has(" ".join(r.out.split()), r" memory: the run needs 257G memory for buffers and figures, and this host leaves \d+M \(", "the text")
        ok("memory" in codes(doc, "stops"), f"stops: {doc['stops']}")
        has(doc["error"], "^the run needs 257G", "error")
        # the run itself says it on stderr, a line each, and has begun nothing
        r = lunbench(*args, "--json", "-").expect(3)
        eq(r.err, "".join(f"lunbench: {row['text']}\n" for row in r_stops(doc, r)), "stderr")
        eq((r.json["ended_by"], r.json["complete"], r.json["total"]["xfers"]), ("refused", False, 0), "the end")
        ok(r.rusage.ru_maxrss < 200 << 10, f"{r.rusage.ru_maxrss} KiB of memory taken")


def r_stops(doc, r):
    """The stops of a check, with the figures that moved since as the run had them."""
    lines = [line.removeprefix("lunbench: ") for line in r.err.splitlines()]
    eq(len(lines), len(doc["stops"]), "reasons")
    for line, row in zip(lines, doc["stops"]):
        eq(re.sub(r"\d+", "N", line), re.sub(r"\d+", "N", row["text"]), "reason")
    return [{"text": line} for line in lines]


@test("unfit targets are refused as a run refuses them, with a document that says so")
def _():
    with tmpdir() as d:
        r, doc = check(2, d, f"{d}/none")
        eq(r.out, "", "stdout")
        has(r.err, f"^lunbench: {d}: a directory, not a block device or a file$", "stderr")
        has(r.err, f"^lunbench: {d}/none: no such device$", "stderr")
        eq([t["fate"] for t in doc["targets"]], ["refused", "refused"], "targets")
        eq((doc["stops"], doc["fine"]), ([], []), "what was not looked at")
        r, doc = check(3, f"{d}/none")
        eq(doc["targets"][0]["why"], "no such device", "why")


@test("usage: no target, --scratch, an unknown option, and a file of that name")
def _():
    lunbench("check").expect(2, err="^lunbench: no target given")
    lunbench("check", "--scratch", "1x1M").expect(2, err='^lunbench: --scratch: "1x1M" makes LUNs for a run')
    lunbench("check", "--frob", "x").expect(2, err='^lunbench: unknown option "--frob"')
    lunbench("check", "--help").expect(0, out="^Usage: lunbench")
    with tmpdir() as d:
        make_file(f"{d}/check", "1M", "random")
        lunbench("check", cwd=d).expect(2)
        for args in (["./check"], ["--", "check"], ["--qd", "1", "check"]):
            eq(lunbench("--engine", "null", "--time", "50ms", "--json", "-", *args, cwd=d).expect(0).json["complete"], True, "complete")


@test("its reports that cannot be written are status 4")
def _():
    with scratch_file("1M", "random") as f, open("/dev/full", "wb") as full:
        lunbench("check", f, stdout=full).expect(4, err="^lunbench: cannot write ")
        lunbench("check", f, "--json", "/dev/full").expect(4, out="^fine:", err="^lunbench: cannot write ")


main()
