#!/usr/bin/python3
"""mesontap.py BUILD SUITE...: runs these suites of tests of a meson build and writes the TAP of all of them as one.

Meson's own output has one line for each program; the tests within it are in its log. A program that
died, or that did not keep its plan, is one more test that failed.
"""

import json
import pathlib
import re
import subprocess
import sys

build = pathlib.Path(sys.argv[1])
log = build / "meson-logs/testlog.json"
log.unlink(missing_ok=True)
done = subprocess.run(["meson", "test", "-C", build, *(f"--suite={s}" for s in sys.argv[2:])], capture_output=True, text=True)
if not log.exists():
    print("not ok 1 - meson test")
    print("#", (done.stdout + done.stderr).strip().replace("\n", "\n# "))
    print("1..1")
    sys.exit(1)

n = failed = 0


def result(good, name, said=""):
    global n, failed
    n += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {n} - {name}")
    for line in said.splitlines()[-60:]:
        print("#", line)


for line in log.read_text().splitlines():
    program = json.loads(line)
    name = program["name"].split(" / ")[-1].split(":")[-1]
    had = had_failed = 0
    plan = None
    for tap in program.get("stdout", "").splitlines():
        if m := re.match(r"1\.\.(\d+)", tap):
            plan = int(m[1])
        elif m := re.match(r"(?:not )?ok *\d* *# SKIP *(.*)", tap):  # cmocka calls a skipped test "not ok"
            had += 1
            result(True, f"{name}: {m[1]} # SKIP")
        elif m := re.match(r"(not )?ok *\d* *-? *(.*)", tap):
            had += 1
            had_failed += bool(m[1])
            result(not m[1], f"{name}: {m[2]}")
        elif tap.startswith("#") and not re.match(r"# (not )?ok", tap):  # why it failed
            print(tap)
    if had_failed:
        print("#", program.get("stderr", "").strip().replace("\n", "\n# "))
    if had != plan or (program["returncode"] and not had_failed):
        result(False, f"{name}: {had} tests of {plan}, status {program['returncode']}, {program['result']}",
               program.get("stdout", "") + program.get("stderr", ""))
print(f"1..{n}")
sys.exit(1 if failed else 0)
