#!/usr/bin/python3
"""Every header compiles alone, under gcc and clang."""

import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

HEADERS = sorted(p for d in ("src", "engines") for p in (ROOT / d).glob("*.h"))

for compiler in ("gcc", "clang"):
    @test(f"every header compiles alone with {compiler}")
    def _(compiler=compiler):
        need(shutil.which(compiler), f"needs {compiler}")
        ok(HEADERS, "there is no header")
        wrong = []
        for h in HEADERS:
            # included twice: its guard is tested too
            done = subprocess.run([compiler, "-std=c11", "-D_GNU_SOURCE", f"-I{ROOT}/src", f"-I{ROOT}/engines", "-Wall", "-Wextra",
                                   "-Werror", "-fsyntax-only", "-x", "c", "-"], input=f'#include "{h}"\n#include "{h}"\n',
                                  capture_output=True, text=True)
            if done.returncode:
                wrong.append(done.stderr)
        ok(not wrong, "\n".join(wrong))

main()
