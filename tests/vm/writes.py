#!/usr/bin/python3
"""Writes to a multipath map: what the kernel counted of them, and what was refused."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbguest import Guest  # noqa: E402
from lbtest import *  # noqa: E402,F403

guest = Guest()
FS = 'ext4 file system "data", UUID 5f6cf9d2-0dd6-4bb4-a0a7-97d7cbd2d0e6'


def writes(name):
    return int(guest.fact(f"{name}.writes_after")) - int(guest.fact(f"{name}.writes_before"))


def written(name):
    """It passed the interlock, and the map had the writes that were counted and no other."""
    doc = guest.result(name).expect(0).json
    check_schema(doc, "schema/lunbench-result-1.schema.json")
    lun = doc["luns"][0]
    eq((lun["xfers"], lun["errors"], doc["ended_by"]), (500, 0, "count"), f"{name}: xfers, errors, end")
    eq(lun["read"]["ios_issued"] + lun["write"]["ios_issued"], lun["ios_issued"], f"{name}: reads and writes issued")
    eq(writes(name), lun["write"]["ios_issued"], f"{name}: writes by the kernel's count")
    eq(lun["kernel_bytes"], lun["bytes_issued"], f"{name}: bytes by the kernel's count")
    eq(guest.fact(f"{name}.same"), "no", f"{name}: the map is as it was")
    return lun


def refused(name, *said):
    """With nothing written."""
    r = guest.result(name).expect(2)
    for text in said:
        has(r.err, re.escape(text), f"{name}: stderr")
    eq((guest.fact(f"{name}.same"), writes(name)), ("yes", 0), f"{name}: the map is as it was; writes by the kernel's count")


for engine in ("io_uring", "libaio", "sync"):
    @test(f"{engine}: a blank map is written to when that is allowed, and again: lunbench knows its own data")
    def _(engine=engine):
        refused(f"{engine}.unasked", "--allow-write")
        for name in (f"{engine}.blank", f"{engine}.again"):
            lun = written(name)
            # sync deals from 8 decks, none of them to its end
            near(lun["write"]["xfers"], 150, "writes", abs=40 if engine == "sync" else 10)
            eq((lun["wwid"], lun["dm_type"]), (f"3{guest.fact('naa')}", "mpath"), "identity")

    @test(f"{engine}: a map with a file system is refused, and says what would name it; no other WWID does")
    def _(engine=engine):
        told = f"/dev/mapper/mpatha: not written to: {FS}; if all of it may be lost: --overwrite 3{guest.fact('naa')}"
        refused(f"{engine}.fs", told)
        refused(f"{engine}.other", "is none of the LUNs given")

    @test(f"{engine}: named by its WWID, in multipath's form or SCSI's, it is written to")
    def _(engine=engine):
        written(f"{engine}.named")
        written(f"{engine}.naa")


main()
