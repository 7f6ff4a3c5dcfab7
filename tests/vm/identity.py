#!/usr/bin/python3
"""Which LUN is which on a host with multipath, partitions, volumes and a thin pool; what list says of them."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbguest import Guest  # noqa: E402
from lbtest import *  # noqa: E402,F403

guest = Guest()
MAPS = [f"/dev/mapper/mpath{x}" for x in "abc"]


def paths():
    return [f"/dev/{guest.fact(x)}" for x in ("path1", "path2")]


def document(name):
    doc = json.loads(guest.result(name).expect(0).out)
    check_schema(doc, "schema/lunbench-list-1.schema.json")
    return doc


def row(name, lun):
    return next(x for x in document(name)["luns"] if x["name"] == lun)


def measured(name):
    return [x["name"] for x in guest.result(name).expect(0).json["luns"]]


def why(name, status=None):
    """What is said of each target that was not measured."""
    r = guest.result(name).expect(status) if status else guest.result(name)
    return dict(re.match(r"lunbench: (/\S+): (.*)", line).groups() for line in r.err.splitlines())


@test("a map's WWID is multipath's, and its paths' is the same, though SCSI spells it otherwise")
def _():
    wwid = guest.fact("uuid").removeprefix("mpath-")
    a = row("list", MAPS[0])
    eq((a["wwid"], a["dm_name"], a["dm_type"], a["kernel_name"], a["vendor"], a["product"]),
       (wwid, "mpatha", "mpath", guest.fact("dm"), "3PARdata", "VV"), "mpatha")
    path = document("list_path")["luns"][0]
    eq((path["wwid"], path["path_of"], path["serial"]), (wwid, "mpatha", a["serial"]), "its path")
    eq(guest.result("map").expect(0).json["luns"][0]["wwid"], wwid, "WWID in a result")


@test("the paths of a map: names, HCTL, state and queue depth; they have no rows of their own")
def _():
    doc = document("list")
    eq([x["name"] for x in doc["luns"]], MAPS, "rows")
    eq(len({x["wwid"] for x in doc["luns"]}), 3, "WWIDs")
    a = doc["luns"][0]
    eq(sorted(f"/dev/{p['name']}" for p in a["paths"]), sorted(paths()), "paths")
    for p in a["paths"]:
        ok(re.fullmatch(r"\d+:0:0:\d+", p["hctl"]), f"hctl {p['hctl']}")
        ok((p["state"], p["dm_state"]) == ("running", "active") and p["queue_depth"] > 0, f"{p}")
    eq(sorted(a["lies_on"]), sorted(p["name"] for p in a["paths"]), "lies_on")
    eq((a["held_by"], a["in_use"]), (["mpatha1"], None), "held by")
    table = guest.result("table").expect(0).out
    has(table, r"^/dev/mapper/mpatha +dm-\d+ +64M +3PARdata VV +3[0-9a-f]{16} +512 +2 of 2 +refused +mpatha1, unused$", "table")
    has(table, rf"^  {guest.fact('path1')} +\d+:0:0:\d+ +active running +queue depth \d+$", "table")


@test("a path that is offline shows in its map's row")
def _():
    a = row("offline", MAPS[0])
    eq(sorted(p["state"] for p in a["paths"]), ["offline", "running"], "states")


@test("a path that device-mapper has failed is told, and is a finding, though SCSI's state is running")
def _():
    name = guest.fact("path1")
    for lun in (row("failed", MAPS[0]), guest.result("failed_run").expect(0).json["luns"][0]):
        eq({p["name"]: (p["state"], p["dm_state"]) for p in lun["paths"]},
           {name: ("running", "failed"), guest.fact("path2"): ("running", "active")}, "states")
    table = guest.result("failed_table").expect(0).out
    has(table, r"^/dev/mapper/mpatha .* 1 of 2 ", "table")
    has(table, rf"^  {name} +\d+:0:0:\d+ +failed running +queue depth \d+$", "table")
    has(" ".join(guest.result("failed_check").out.split()), rf"1 of 2 paths are up: {name} failed, though running", "check")


@test("two paths, or a path and its map: status 2, and the map to use is named")
def _():
    one, two = paths()
    wwid = guest.fact("uuid").removeprefix("mpath-")
    eq(why("two_paths", 2), {two: f"the same LUN as {one}, by another path (WWID {wwid}): give their map /dev/mapper/mpatha"}, "two paths")
    path = "a path of /dev/mapper/mpatha, which is given too: give the map alone"
    eq(why("path_and_map", 2), {one: path, two: path}, "paths and map")
    eq(why("no_map", 2), {two: f"the same LUN as {one}, by another path (WWID {wwid}): give one of them, or set multipath up and give the map"},
       "two paths without a map")
    eq(list(why("two_names", 2).values()), ["the same device as /dev/mapper/mpatha: give it once"], "two names")


@test("a multipath map without a uuid is known by its table")
def _():
    eq(why("plain", 2), {paths()[0]: "a path of /dev/mapper/plain, which is given too: give the map alone"}, "plain")
    plain = document("plain_list")["luns"][0]
    eq((plain["dm_type"], plain["wwid"], [p["dm_state"] for p in plain["paths"]]), ("mpath", None, ["active", "active"]), "plain")


@test("a partition beside its map, or beside the map of its disk, is passed over; alone it is measured")
def _():
    inside = "passed over: lies inside /dev/mapper/mpatha, which is measured whole"
    eq(measured("part_of_path"), [MAPS[0]], "LUNs measured")
    eq(why("part_of_path"), {f"{paths()[0]}1": inside}, "stderr")
    eq(measured("part_alone"), ["/dev/mapper/mpatha1"], "LUNs measured")
    part = guest.result("part_alone").json["luns"][0]
    eq((part["wwid"], part["dm_type"], sorted(part["lies_on"])),
       (None, "part", sorted(["mpatha", guest.fact("path1"), guest.fact("path2")])), "mpatha1")


@test("/dev/mapper/* on a host whose maps have partitions, volumes and a thin pool: each LUN once")
def _():
    eq(measured("glob"), MAPS, "LUNs measured")
    said = why("glob")
    eq(sorted(said), sorted(["/dev/mapper/control", *(f"{m}1" for m in MAPS)]), "notes")
    eq(measured("glob_all"), MAPS, "LUNs measured")
    said = why("glob_all")
    for inner, outer in (("mpatha1", "mpatha"), ("vg-lv", "mpatha"), ("vg-thin", "mpathb"), ("vg-pool", "mpathb"), ("vg-pool_tmeta", "mpathb")):
        eq(said[f"/dev/mapper/{inner}"], f"passed over: lies inside /dev/mapper/{outer}, which is measured whole", inner)


@test("a thin pool's innards are measured and said to be in use; what lies on them is passed over")
def _():
    eq(measured("thin"), ["/dev/mapper/vg-lv", "/dev/mapper/vg-pool_tdata", "/dev/mapper/vg-pool_tmeta"], "LUNs measured")
    eq(sorted(x for x in why("thin")), ["/dev/mapper/vg-pool", "/dev/mapper/vg-thin"], "passed over")
    used = {f["lun"]: f["text"] for f in guest.result("thin").json["findings"] if f["code"] == "in-use"}
    eq(sorted(used), ["/dev/mapper/vg-pool_tdata", "/dev/mapper/vg-pool_tmeta"], "in use")
    has(used["/dev/mapper/vg-pool_tdata"], "^held by vg-pool: ", "finding")
    thin, tdata = document("list_thin")["luns"]
    eq((thin["dm_type"], tdata["dm_type"], tdata["held_by"]), ("thin", "linear", ["vg-pool", "vg-thin"]), "types")


@test("a LUN whose volume is mounted is measured and said to be in use, through its path too")
def _():
    eq(measured("mounted"), [MAPS[0]], "LUNs measured")
    for run in ("mounted", "mounted_path"):
        doc = guest.result(run).expect(0).json
        used = [f["text"] for f in doc["findings"] if f["code"] == "in-use"]
        eq(len(used), 1, f"findings of {run}")
        has(used[0], r"^mounted on /u01 \(vg-lv\): ", run)
    has(guest.result("mounted_table").expect(0).out, r"2 of 2 +refused +mounted on /u01 \(vg-lv\)$", "table")


@test("the list does not wait for a suspended map or a dead disk")
def _():
    has(guest.result("suspended").expect(0).out, r"^/dev/mapper/mpathc .* refused +mpathc is SUSPENDED; mpathc1, unused$", "table")
    between(int(guest.fact("ended")) - int(guest.fact("began")), 0, 5, "seconds with a suspended map")
    has(guest.result("dead").expect(0).out, "^/dev/mapper/plain ", "table")
    between(int(guest.fact("dead_ended")) - int(guest.fact("dead_began")), 0, 12, "seconds with a dead disk, which is given 5 s to answer")


main()
