#!/usr/bin/python3
"""What a run does with LUNs that fail, shrink or go, while others are well; each engine against real devices."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

ENGINES = ("io_uring", "libaio", "sync")
QD = 8


def fails_from(lun, size):
    """What lies past SIZE of LUN's file gives EIO from now on."""
    os.truncate(lun.backing, size)


def options(engine, *more):
    return ["--engine", engine, "--size", "4k", "--qd", str(QD), "--json", "-", *more]


def is_well(doc, row):
    eq((row["lost_s"], row["lost_why"], row["errors"], row["errors_by_kind"]), (None, None, 0, []), "what befell the good LUN")
    eq(row["lived_s"], doc["window_s"], "seconds that the good LUN lived")
    ok(row["xfers"] > 100, f"the good LUN has {row['xfers']} xfers")


def is_lost(row, why):
    ok(re.fullmatch(why, row["lost_why"] or ""), f"lost because: {row['lost_why']}")
    near(row["lived_s"], row["lost_s"], "seconds it lived and when it was lost", abs=1e-6)
    near(row["xfer_per_s"], row["xfers"] / row["lived_s"], "its rate", rel=1e-6)


for engine in ENGINES:
    @test(f"{engine}: errors are counted by kind, and the LUN goes on")
    def _(engine=engine):
        with loop_of("8M", "random") as bad, loop_of("8M", "random") as good:
            fails_from(bad, 4 << 20)
            doc = lunbench(*options(engine, "--time", "1s"), bad, good).expect(1).json
            row, fine = doc["luns"]
            is_well(doc, fine)
            eq((row["lost_s"], row["lived_s"], doc["complete"]), (None, doc["window_s"], True), "lost; lived; complete")
            kind, = row["errors_by_kind"]
            eq((kind["op"], kind["errno"], kind["meaning"], kind["moved_bytes"]), ("read", "EIO", "I/O error", None), "the kind")
            eq((kind["count"], kind["count_outside_window"]), (row["errors"], row["errors_outside_window"]), "how many")
            for at in (kind["first"], kind["last"]):
                between(at["offset_bytes"], 4 << 20, (8 << 20) - 4096, "its offset")
                ok(at["at_s"] <= doc["window_s"] + 0.5, f"at {at['at_s']} s")
            ok(kind["first"]["at_s"] <= kind["last"]["at_s"], "the last is before the first")
            eq(row["first_error"]["offset_bytes"], kind["first"]["offset_bytes"], "offset of the first error")
            eq(doc["total"]["errors_by_kind"], row["errors_by_kind"], "the total's kinds")

    @test(f"{engine}: no storm of errors, with --max-errors 0")
    def _(engine=engine):
        with loop_of("8M", "random") as bad, loop_of("8M", "random") as good:
            fails_from(bad, 0)
            before = bad.stat()
            doc = lunbench(*options(engine, "--time", "2s", "--max-errors", "0"), bad, good).expect(1).json
            row, fine = doc["luns"]
            is_well(doc, fine)
            # each place in flight fails at 0, 1, 3, 7 ... 1023 ms, and once more by the end
            between(row["errors"], QD * 5, QD * 13, "errors")
            ok((bad.stat() - before).reads <= QD * 13, "more reads by the kernel's count")
            eq((row["lost_s"], row["xfers"]), (None, 0), "lost; xfers")

    @test(f"{engine}: a LUN that only fails is given up after --max-errors")
    def _(engine=engine):
        with loop_of("8M", "random") as bad, loop_of("8M", "random") as good:
            fails_from(bad, 0)
            doc = lunbench(*options(engine, "--time", "2s", "--max-errors", "20"), bad, good).expect(1).json
            row, fine = doc["luns"]
            is_well(doc, fine)
            eq(row["lost_why"], "20 errors in a row, the last EIO, I/O error", "why")
            between(row["errors"], 20, 20 + QD, "errors")
            eq((row["xfers"], row["outstanding"]), (0, 0), "xfers; outstanding")
            eq((doc["complete"], doc["ended_by"]), (True, "time"), "the end")

    @test(f"{engine}: --on-error lun gives up at the first error, --on-error stop ends the run")
    def _(engine=engine):
        with loop_of("8M", "random") as bad, loop_of("8M", "random") as good:
            going = start(*options(engine, "--time", "3s", "--on-error", "lun"), bad, good)
            time.sleep(1.5)
            fails_from(bad, 4 << 20)
            doc = going.wait(10).expect(1).json
            row, fine = doc["luns"]
            is_well(doc, fine)
            is_lost(row, "EIO, I/O error")
            between(row["errors"], 1, QD, "errors")
            ok(row["xfers"] > 100, f"{row['xfers']} xfers before")
            eq((doc["complete"], doc["ended_by"], doc["window_s"]), (True, "time", 3), "the end")
            near(doc["total"]["xfer_per_s"], doc["total"]["xfers"] / 3, "the total's rate: over the window", rel=1e-6)

            doc = lunbench(*options(engine, "--time", "30s", "--on-error", "stop"), bad, good).expect(1).json
            eq((doc["complete"], doc["ended_by"]), (False, "error"), "the end")
            between(doc["total"]["errors"], 1, QD, "errors")

    @test(f"{engine}: a LUN that shrinks in the run is lost, and says so")
    def _(engine=engine):
        with loop_of("8M", "random") as bad, loop_of("8M", "random") as good:
            going = start(*options(engine, "--time", "4s", "--max-errors", "0"), bad, good)
            time.sleep(1.5)
            fails_from(bad, 4 << 20)
            bad.refresh_size()
            doc = going.wait(10).expect(1).json
            row, fine = doc["luns"]
            is_well(doc, fine)
            is_lost(row, "shrunk from 8M to 4M")
            # 1.5 s with how long it took to begin, and at most as long as between two looks
            between(row["lost_s"], 0.5, 3.5, "lost, s")
            ok(row["xfers"] > 100, f"{row['xfers']} xfers before")
            eq(row["outstanding"], 0, "outstanding")


@test("a file that is cut short is lost; nothing but zero bytes comes past its end")
def _():
    with tmpdir() as d:
        bad, good = make_file(f"{d}/bad", "8M", "random"), make_file(f"{d}/good", "8M", "random")
        going = start(*options("libaio", "--time", "3s"), bad, good)
        time.sleep(1)
        os.truncate(bad, 4 << 20)
        row, fine = going.wait(10).expect(1).json["luns"]
        is_lost(row, "shrunk from 8M to 4M")
        ok(all(k["errno"] is None and k["meaning"] in ("nothing moved", "moved in part") for k in row["errors_by_kind"]),
           f"kinds: {row['errors_by_kind']}")
        eq(fine["lost_s"], None, "the other one")


@test("when every LUN is lost the run ends, and has the figures until then")
def _():
    with loop_of("8M", "random") as a, loop_of("8M", "random") as b:
        going = start("--size", "4k", "--time", "60s", a, b)
        time.sleep(1)
        for lun in (a, b):
            fails_from(lun, 0)
        r = going.wait(20).expect(1)
        ok("INCOMPLETE: all LUNs were lost; ended after " in r.out, "the text does not say how it ended")
        ok("2 LUNS LOST *" in r.out, "the text does not say that they were lost")
        ok(re.search(r"\d\.\d{3}\* +\d", r.out), "no row is marked")


main()
