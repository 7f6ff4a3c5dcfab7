#!/usr/bin/python3
"""Who may include what, and who may end the process or print an error: the house rules of CONTRIBUTING.md."""

import fnmatch
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

LEAVES = {"err.h", "units.h", "clock.h", "rng.h", "hist.h", "fault.h", "perm.h", "zipf.h"}

# For the files on the left, the headers of our own that they may include.
MAY_INCLUDE = {
    "engines/*.[ch]": {"engine.h", "opt.h", "err.h", "clock.h"},
    **{f"src/{leaf[:-2]}.[ch]": LEAVES for leaf in sorted(LEAVES)},
    "src/report_*.[ch]": {"result.h", "list.h", "saved.h", "units.h", "err.h", "hist.h", "clock.h", "report.h", "report_*.h", "json_out.h", "table.h"},
    "src/data.[ch]": {"err.h", "rng.h"},
}
# null is made of several files, and draws its latencies by chance
ALSO = {"engines/null*.[ch]": {"null_*.h", "rng.h", "units.h"}}
JSON_C = ["src/report_json*.c", "src/profile.c", "src/json_*.c"]  # who may include json-c
EXITS = {"src/main.c": "exit|_exit|_Exit|quick_exit|abort", "src/run.c": "_exit", "src/judge.c": "_exit", "src/supervise.c": "_exit"}
# who may write there; supervise.c tells the live line where it goes
STDERR = ["src/main.c", "src/err.c", "src/progress.c", "src/supervise.c"]


def code(path):
    """The text without comments and the contents of strings, each line where it was."""
    def blank(m):
        return re.sub(r"[^\n]", " ", m[0]) if m[0].startswith("/") else '""'
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, (ROOT / path).read_text(), flags=re.DOTALL)


def sources():
    return sorted(str(p.relative_to(ROOT)) for d in ("src", "engines") for p in (ROOT / d).glob("*.[ch]"))


def is_any(name, patterns):
    return any(fnmatch.fnmatch(name, p) for p in patterns)


def includes(path, which):
    for n, line in enumerate((ROOT / path).read_text().splitlines(), 1):
        if m := re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line):
            if m[1] in which:
                yield n, m[2]


def none(offences):
    ok(not offences, "\n".join(offences))


for where, allowed in MAY_INCLUDE.items():
    @test(f"{where} includes only {' '.join(sorted(allowed))}")
    def _(where=where, allowed=allowed):
        offences = []
        for f in [f for f in sources() if fnmatch.fnmatch(f, where)]:
            also = set().union(*(more for files, more in ALSO.items() if fnmatch.fnmatch(f, files)))
            offences += [f"{f}:{n}: {h}" for n, h in includes(f, '"')
                         if not is_any(h.split("/")[-1], allowed | also | {pathlib.Path(f).stem + ".h"})]
        none(offences)


@test("json-c is included only by " + " ".join(JSON_C))
def _():
    none([f"{f}:{n}: {h}" for f in sources() if not is_any(f, JSON_C) for n, h in includes(f, '<"')
          if "json-c" in h or h == "json.h"])


@test("only main.c ends the process, and the child of run.c itself")
def _():
    offences = []
    for f in sources():
        allowed = EXITS.get(f, "")
        for n, line in enumerate(code(f).splitlines(), 1):
            for call in re.findall(r"(?<![\w.>])(_?_?exit|_Exit|quick_exit|abort)\s*\(", line):
                if call not in allowed.split("|"):
                    offences.append(f"{f}:{n}: {call}()")
    none(offences)


@test("only " + " ".join(STDERR) + " write to stderr")
def _():
    none([f"{f}:{n}: {line.strip()}" for f in sources() if f not in STDERR for n, line in enumerate(code(f).splitlines(), 1)
          if re.search(r"\bstderr\b|\bperror\s*\(|\bSTDERR_FILENO\b", line)])


main()
