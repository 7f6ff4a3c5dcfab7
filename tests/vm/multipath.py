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
        kernel = int(guest.fact(f"{engine}.reads_after")) - int(guest.fact(f"{engine}.reads_before"))
        eq(doc["luns"][0]["ios_issued"], kernel, "ios_issued beside the kernel's reads")


@test("auto takes libaio on a device without NOWAIT, and says why")
def _():
    used = guest.result("auto").expect(0).json["engine"]
    eq(used["used"], "libaio", "engine.used")
    ok(used["reason"], "engine.reason is empty")


@test("an engine that was asked for is the one that is used")
def _():
    for engine in ("io_uring", "libaio", "sync"):
        eq(guest.result(engine).expect(0).json["engine"]["used"], engine, "engine.used")


main()
