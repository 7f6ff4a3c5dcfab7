#!/usr/bin/python3
"""What a real stall cost: a LUN that is frozen for a while, by each engine."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403


def stalled_run(d, engine, lun, good):
    """The text and document of 20 s in which LUN is frozen after about 8 s, and for how long it was."""
    run = start("--engine", engine, "--qd", "4", "--time", "20s", "--stall", "1s", "--json", f"{d}/r.json", lun.path, good.path)
    time.sleep(8)
    begin = time.monotonic()
    lun.freeze()
    time.sleep(4)
    lun.thaw()
    frozen_s = time.monotonic() - begin
    return run.wait().expect(0).out, parse_json(pathlib.Path(f"{d}/r.json").read_text()), frozen_s


for engine in ("io_uring", "libaio", "sync"):
    @test(f"{engine}: what a LUN lost while it was frozen, beside its stall; a report says the same")
    def _(engine=engine):
        with freezable("16M") as lun, loop_of("16M", "random") as good, tmpdir() as d:
            text, saved, frozen_s = stalled_run(d, engine, lun, good)
            row = saved["luns"][0]
            ok(row["outages"], f"no outage:\n{text}")
            # on a busy machine there may be more of them
            o = max(row["outages"], key=lambda o: o["lost_xfers"])
            (stall,) = [e for e in saved["events"] if e["kind"] == "stall" and e["lun"] == row["name"]]
            eq((o["beside_event"], o["fall_pct"]), (True, 100.0), "outage")
            ok(o["begin_s"] <= stall["begin_s"] + 1 and stall["end_s"] - 1 <= o["end_s"], f"{o} beside {stall}")
            between(o["below_95_pct_s"], frozen_s - 1.5, 20, "time below")
            ok(o["lost_xfers"] > (frozen_s - 1) * 0.9 * o["baseline_xfer_per_s"], f"lost: {o}")
            out = lunbench("report", "--outage", f"{d}/r.json").expect(0).out
            told = out[out.index("what befell the LUNs"):].strip()
            has(told, "OUTAGE of ", "the report")
            ok(told in text, f"the run says otherwise:\n{text}\n{told}")


main()
