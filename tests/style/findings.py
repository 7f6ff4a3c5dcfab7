#!/usr/bin/python3
"""Every finding's code that the source has is explained in the manual, and no other."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

CODES = (r'\badd\(\s*f,[^"]*?"([a-z-]+)"', r'\blb_findings_add\([^"]*?"([a-z-]+)"', r'^\s*\{"([a-z-]+)", NEED\(')


@test("the manual explains the code of every finding")
def _():
    in_source = set()
    for f in (ROOT / "src").glob("*.c"):
        for code in CODES:
            in_source |= set(re.findall(code, f.read_text(), re.MULTILINE))
    in_source -= {""}
    ok({"zeros", "shared-lun", "aio-slots"} <= in_source, f"found no more than {in_source}")
    in_manual = set()
    sections = re.split(r"^\.Sh ", (ROOT / "man/lunbench.8.in").read_text(), flags=re.MULTILINE)
    for section in sections:
        if section.startswith(("FINDINGS", "CHECK")):
            for tag in re.findall(r"^\.It Li (.*)", section, re.MULTILINE):
                in_manual |= set(tag.split(" , "))
    eq(sorted(in_manual), sorted(in_source), "codes in the manual and in the source")


main()
