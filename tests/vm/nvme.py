#!/usr/bin/python3
"""An NVMe namespace behind two controllers: its paths, reads and writes of it."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbguest import Guest  # noqa: E402
from lbtest import *  # noqa: E402,F403

guest = Guest()
LUN = "/dev/nvme0n1"
WWID = "uuid.12345678-0000-4000-8000-0123456789ab"


def document(name, status=0):
    doc = guest.result(name).expect(status).json
    check_schema(doc, "schema/lunbench-result-1.schema.json")
    return doc


def path(lun, name):
    return next(p for p in lun["paths"] if p["name"] == name)


def findings(name):
    return {f["code"]: f["text"] for f in document(name)["findings"]}


@test("both controllers are paths of the one LUN, with state, transport and address, in the list and in a result")
def _():
    doc = json.loads(guest.result("list").expect(0).out)
    check_schema(doc, "schema/lunbench-list-1.schema.json")
    rows = [x for x in doc["luns"] if "nvme" in x["name"]]
    eq([x["name"] for x in rows], [LUN], "rows")
    for lun in (rows[0], document("both")["luns"][0]):
        eq((lun["wwid"], lun["serial"], lun["product"], lun["dm_type"]), (WWID, "LB0001", "Linux", None), "who it is")
        eq(len(lun["paths"]), 2, "paths")
        for i in (0, 1):
            p = path(lun, f"nvme0c{i}n1")
            eq((p["controller"], p["state"], p["transport"]), (f"nvme{i}", "live", "tcp"), f"path {i}")
            has(p["address"], rf"^traddr=127\.0\.0\.1,trsvcid=442{i}\b", f"path {i}")
            eq((p["hctl"], p["dm_state"], p["queue_depth"]), (None, None, None), "what only SCSI has")
    table = guest.result("table").expect(0).out
    has(table, rf"^{LUN} +nvme0n1 +64M +Linux +{WWID} +512 +2 of 2 +allowed$", "table")
    has(table, r"^  nvme0c1n1 +nvme1 +tcp +live +traddr=127\.0\.0\.1,trsvcid=4421\b", "table")


@test("one controller only is a finding, a lost one too, and the run goes on by the other")
def _():
    eq(findings("one")["single-path"], "there is one path only: its rate is that of one port, and nothing is left when it is lost", "one")
    eq(findings("lost")["paths-down"], "1 of 2 paths are up: nvme0c1n1 connecting", "lost")
    eq({"single-path", "paths-down"} & set(findings("both")), set(), "findings with both")
    has(guest.result("lost_table").expect(0).out, r"^  nvme0c1n1 +nvme1 +tcp +connecting ", "table")


@test("reads, and writes that are asked for, are counted without errors; a device that counts nothing is no finding")
def _():
    for name in ("one", "both", "written", "named", "lost"):
        doc = document(name)
        lun = doc["luns"][0]
        eq((lun["xfers"], lun["errors"], doc["ended_by"]), (2000, 0, "count"), f"{name}: xfers, errors, end")
        ok(lun["kernel_bytes"] in (None, lun["bytes_issued"]), f"{name}: {lun['kernel_bytes']} bytes by the kernel's count")
        eq("kernel-count" in findings(name), False, f"{name}: finding")


@test("writes need consent, and a signature the LUN's own name; nothing changes without")
def _():
    has(guest.result("unasked").expect(2).err, "say --allow-write$", "unasked")
    has(guest.result("fs").expect(2).err, rf'ext4 file system "data", UUID .*; if all of it may be lost: --overwrite {re.escape(WWID)}$', "fs")
    eq([guest.fact(f"{x}.same") for x in ("unasked", "written", "fs")], ["yes", "no", "yes"], "the LUN is as it was")


main()
