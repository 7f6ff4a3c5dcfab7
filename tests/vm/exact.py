#!/usr/bin/python3
"""Latencies and counts on a disk that is known exactly."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbguest import Guest  # noqa: E402
from lbtest import *  # noqa: E402,F403

DEVICE_NS = 5_000_000
guest = Guest()

for engine in ("io_uring", "libaio", "sync"):
    @test(f"{engine}: mean and p50 are what the disk takes")
    def _(engine=engine):
        latency = guest.result(engine).expect(0).json["total"]["latency"]
        near(latency["mean_ns"], DEVICE_NS, "mean_ns", rel=0.01)
        near(latency["p50_ns"], DEVICE_NS, "p50_ns", rel=0.01)
        ok(latency["min_ns"] >= DEVICE_NS, f"min_ns: {latency['min_ns']}: no read can be quicker than the disk")

    @test(f"{engine}: exactly --count xfers, and as many I/Os as the kernel saw")
    def _(engine=engine):
        lun = guest.result(engine).expect(0).json["luns"][0]
        eq(lun["xfers"], 200, "xfers")
        eq((lun["kernel_ios"], lun["kernel_bytes"]), (lun["ios_issued"], lun["bytes_issued"]), "the kernel's reads and bytes in the run")
        kernel = int(guest.fact(f"{engine}.reads_after")) - int(guest.fact(f"{engine}.reads_before"))
        # io_uring has looked once for NOWAIT before
        eq(kernel - lun["ios_issued"], 1 if engine == "io_uring" else 0, "reads by the kernel's count beside them")

main()
