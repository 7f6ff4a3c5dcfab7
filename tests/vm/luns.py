#!/usr/bin/python3
"""Many LUNs in one run."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbguest import Guest  # noqa: E402
from lbtest import *  # noqa: E402,F403

guest = Guest()

for engine in ("io_uring", "libaio", "sync"):
    @test(f"{engine}: sixteen LUNs are measured alike, a 4Kn one among them, and the kernel's counts are ours")
    def _(engine=engine):
        doc = guest.result(engine).expect(0).json
        rows = doc["luns"]
        eq([row["name"] for row in rows], [f"/dev/lun{n:02}" for n in range(16)], "names")
        eq([row["logical_block_bytes"] for row in rows], [512] * 15 + [4096], "logical blocks")
        eq([row["kernel_bytes"] for row in rows], [row["bytes_issued"] for row in rows], "bytes by the kernel's counts")
        for row in rows:
            between(row["latency"]["min_ns"], 10_000_000, 20_000_000, f"min_ns of {row['name']}")
            ok(row["xfers"] >= 40, f"{row['name']}: {row['xfers']} xfers")
        xfers = sorted(row["xfers"] for row in rows)
        ok(xfers[-1] - xfers[0] <= 0.2 * xfers[-1], f"xfers differ: {xfers}")
        eq(doc["total"]["xfers"], sum(xfers), "total")


@test("of the sixteen only the 4Kn one is unfit for 512 bytes, and named")
def _():
    r = guest.result("small").expect(2)
    eq((r.out, r.err), ("", "lunbench: /dev/lun15: logical block 4096, --size 512 is not a multiple\n"), "stdout and stderr")


main()
