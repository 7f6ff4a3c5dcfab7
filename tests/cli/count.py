#!/usr/bin/python3
"""--count where several workers share a LUN: the first LUN there has exactly so many, and none has more."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403


def counts(luns, *args):
    # 1: so short a window may have had nothing of the other LUN
    r = lunbench("--op", "read", "--progress", "never", "--json", "-", *args, *luns).expect((0, 1))
    eq(r.json["ended_by"], "count", "what ended the run")
    eq(r.json["total"]["xfers"], sum(lun["xfers"] for lun in r.json["luns"]), "total")
    return [lun["xfers"] for lun in r.json["luns"]]


# null is faster than any device: its workers reach the count within nanoseconds of each other
for name, args, numbers in (
        ("2 workers on each LUN", ("--engine", "null", "--qd", 32, "--workers", 4, "--threads-per-lun", 2), (1000, 99999)),
        ("4 workers on each LUN", ("--engine", "null", "--qd", 10, "--workers", 4, "--threads-per-lun", 4), (33, 70001)),
        ("engine sync, a worker for each transfer in flight", ("--engine", "sync", "--qd", 8, "--size", "4k"), (4, 1003))):
    @test(f"--count is exact: {name}")
    def _(args=args, numbers=numbers):
        with tmpdir() as where:
            luns = [make_file(f"{where}/{i}", "64M") for i in range(2)]
            for count in numbers:
                for _ in range(10):
                    got = counts(luns, *args, "--count", count)
                    eq(max(got), count, f"the most that a LUN has of {count}, of {got}")


main()
