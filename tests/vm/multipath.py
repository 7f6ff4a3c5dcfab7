#!/usr/bin/python3
"""Each engine on a multipath map, and the choice of auto."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbguest import Guest  # noqa: E402
from lbtest import *  # noqa: E402,F403

guest = Guest()

for engine in ("io_uring", "libaio", "sync", "auto"):
    @test(f"{engine} measures a multipath map")
    def _(engine=engine):
        doc = guest.result(engine).expect(0).json
        ok(doc["total"]["xfers"] >= 2000, f"total.xfers: {doc['total']['xfers']}")
        lun = doc["luns"][0]
        eq(lun["kernel_bytes"], lun["bytes_issued"], "bytes by the kernel's count")
        kernel = int(guest.fact(f"{engine}.reads_after")) - int(guest.fact(f"{engine}.reads_before"))
        eq(kernel - lun["ios_issued"], 0, "reads by the kernel's count, merged ones too, beside them: a look for NOWAIT is refused")


@test("auto takes libaio on a device without NOWAIT, and says why")
def _():
    used = guest.result("auto").expect(0).json["engine"]
    eq(used["used"], "libaio", "engine.used")
    eq(used["why"], "/dev/mapper/mpatha has no NOWAIT: io_uring would hand every transfer to kernel threads", "engine.why")
    text = " ".join(guest.result("text").expect(0).out.split())
    has(text, "libaio.*/dev/mapper/mpatha has no NOWAIT", "the report")


@test("io_uring asked for by name works there, and is a finding with its cost")
def _():
    found = {e: [f["lun"] for f in guest.result(e).json["findings"] if f["code"] == "uring-punts"] for e in ("io_uring", "libaio", "auto")}
    eq(found, {"io_uring": ["/dev/mapper/mpatha"], "libaio": [], "auto": []}, "findings")


@test("an engine that was asked for is the one that is used")
def _():
    for engine in ("io_uring", "libaio", "sync"):
        eq(guest.result(engine).expect(0).json["engine"]["used"], engine, "engine.used")


main()
