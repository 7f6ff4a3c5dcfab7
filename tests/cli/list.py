#!/usr/bin/python3
"""lunbench list: what it takes, where it goes, and that its document is what the schema says."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

SCHEMA = "schema/lunbench-list-1.schema.json"


def documented(*args, status=0, **how):
    r = lunbench("list", "--json", "-", *args, **how).expect(status)
    doc = json.loads(r.out)
    check_schema(doc, SCHEMA)
    eq(doc["status"], status, "status")
    return doc, r


@test("all there is, as a table and as a document, at once")
def _():
    r = lunbench("list").expect(0)
    eq(r.err, "", "stderr")
    doc, _ = documented()
    eq(doc["targets"], [], "targets")
    if doc["luns"]:
        has(r.out, r"^LUN +kernel +size +what +WWID +block +paths +write +in use$", "stdout")
    for lun in doc["luns"]:
        has(r.out, f"^{re.escape(lun['name'])} ", "stdout")
    ok(r.secs < 2, f"took {r.secs:.1f} s")


@test("files are listed, and what is no LUN is named with its status")
def _():
    with tmpdir() as d:
        make_file(f"{d}/list", "3M")
        missing, null = f"{d}/missing", "/dev/null"
        doc, r = documented("./list", cwd=d)
        eq([(x["name"], x["kind"], x["size_bytes"], x["wwid"]) for x in doc["luns"]], [("./list", "file", 3 << 20, None)], "rows")
        doc, r = documented(f"{d}/list", missing, status=3)
        eq(r.err, f"lunbench: {missing}: no such device\n", "stderr")
        eq([t["fate"] for t in doc["targets"]], ["fit", "refused"], "fates")
        for order in ((missing, null), (null, missing)):
            doc, r = documented(*order, status=2)
            eq(doc["luns"], [], "rows")
            has(r.err, "^lunbench: /dev/null: a character device, not a block device or a file$", "stderr")


@test("options of a run are refused, and --targets and --json FILE are not")
def _():
    for option in (("--qd", "4"), ("--scratch", "1x1M"), ("--time", "1s"), ("--hist",)):
        r = lunbench("list", *option).expect(2)
        has(r.err, f"^lunbench: {option[0]}: .* is of no use to lunbench list, which takes --targets and --json$", "stderr")
        eq(r.out, "", "stdout")
    with tmpdir() as d:
        make_file(f"{d}/lun", "3M")
        pathlib.Path(f"{d}/targets").write_text(f"# mine\n{d}/lun\n")
        r = lunbench("list", "--targets", f"{d}/targets", "--json", f"{d}/list.json").expect(0)
        has(r.out, f"^{d}/lun +3M +file +(allowed|refused)$", "stdout")
        doc = json.loads(pathlib.Path(f"{d}/list.json").read_text())
        check_schema(doc, SCHEMA)
        eq([x["name"] for x in doc["luns"]], [f"{d}/lun"], "rows")
        pathlib.Path(f"{d}/targets").write_text("# none\n")
        lunbench("list", "--targets", f"{d}/targets").expect(2, err="names no target")
    lunbench("list", "").expect(2, err="target 1 has an empty name")


@test("a target that is not there and was meant as something else is told so")
def _():
    with tmpdir() as d:
        for args, hint in ((("--hist", "each"), " (--hist=each?)"), (("lsit",), " (lunbench list?)"), (("chek",), " (lunbench check?)"),
                           (("write",), " (--op=write?)"), (("list", "none"), " (--hist=none?)"), (("./each",), ""), (("listen",), "")):
            r = lunbench(*args, cwd=d).expect(3)
            eq(r.err, f"lunbench: {args[-1]}: no such device{hint}\n", "stderr")
        make_file(f"{d}/each", "1M")
        lunbench("list", "each", cwd=d).expect(0)


@test("list is a command in the first place alone; a list that cannot be written is status 4")
def _():
    lunbench("--qd", "1", "list").expect(3, err="^lunbench: list: no such device \\(lunbench list\\?\\)$")
    with open("/dev/full", "w") as full:
        lunbench("list", stdout=full).expect(4, err="cannot write the standard output: No space left on device")
    lunbench("list", "--json", "/dev/full").expect(4)
    lunbench("list", "--help").expect(0, out="lunbench list")


@test("rows of a list and of a result have the same keys, described alike")
def _():
    rows = []
    for name, where in (("list", ("properties", "luns", "items")), ("result", ("$defs", "lun"))):
        schema = json.loads((ROOT / f"schema/lunbench-{name}-1.schema.json").read_text())
        for key in where:
            schema = schema[key]
        eq(schema["required"], list(schema["properties"]), f"required keys of {name}")
        rows.append(schema["properties"])
    here, there = rows
    eq(sorted(set(here) - set(there)), ["in_use", "path_of", "suspended", "write_override", "write_refused", "write_refused_because"], "keys of the list alone")
    for key in set(here) & set(there) - {"name"}:
        eq(here[key], there[key], key)


main()
