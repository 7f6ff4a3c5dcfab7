#!/usr/bin/python3
"""2000 LUNs, on the guest's virtual time."""

import datetime
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbguest import Guest  # noqa: E402
from lbtest import *  # noqa: E402,F403

guest = Guest()


def secs(what):
    return float(guest.fact(f"{what}_ended")) - float(guest.fact(f"{what}_began"))


@test("2000 LUNs are listed, and looked at for what a write would do, within the 30 s that this takes at most")
def _():
    eq((guest.fact("list_status"), guest.fact("list_luns")), ("0", "2000"), "status and LUNs")
    note(f"list: {secs('list'):.2f} s")
    between(secs("list"), 0, 33, "seconds to list")


@test("a run on 2000 LUNs does its first I/O within 4 s")
def _():
    eq((guest.fact("run_status"), guest.fact("run_luns")), ("0", "2000"), "status and LUNs")
    start, window, warmup = guest.fact("run_times").split()
    opened = datetime.datetime.fromisoformat(start[:26] + "+00:00").timestamp()
    # the guest's clock told whole seconds, so this is up to one too many
    first = opened - float(warmup) - int(guest.fact("run_epoch"))
    note(f"first I/O after {first:.2f} s, all at work {float(warmup):.2f} s later; all but the window took {secs('run') - float(window):.2f} s")
    between(first, 0, 4, "seconds to the first I/O")


main()
