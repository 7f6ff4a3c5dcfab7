#!/usr/bin/python3
"""Files stay under about 500 lines and functions under about 60."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

FILE_LINES, FUNCTION_LINES = 550, 66  # "about"
SOURCES = sorted(p for d in ("src", "engines") for p in (ROOT / d).glob("*.[ch]"))


@test(f"no file of src/ or engines/ has more than {FILE_LINES} lines")
def _():
    long = [f"{p.relative_to(ROOT)}: {n}" for p in SOURCES if (n := len(p.read_text().splitlines())) > FILE_LINES]
    ok(not long, "\n".join(long))


@test(f"no function has more than {FUNCTION_LINES} lines")
def _():
    long = []
    for p in SOURCES:
        lines = p.read_text().splitlines()
        begin = None
        for n, line in enumerate(lines):
            if line == "{":  # only a function's brace stands alone in the first column
                begin = n
            elif line.startswith("}") and begin is not None:
                if n - begin - 1 > FUNCTION_LINES:
                    name = re.sub(r"\(.*", "", lines[begin - 1]).split()
                    long.append(f"{p.relative_to(ROOT)}:{begin}: {name[-1] if name else '?'}: {n - begin - 1}")
                begin = None
    ok(not long, "\n".join(long))


main()
