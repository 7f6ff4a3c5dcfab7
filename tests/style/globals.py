#!/usr/bin/python3
"""No object of lunbench's has data that can be written, except the stop flag."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

ALLOWED = {"lb_stop"}
# .data.rel.ro is read-only once the program is loaded
WRITABLE = re.compile(r"\.(data|bss|tdata|tbss)(?!\.rel\.ro)|\*COM\*")


@test("there is no global that can be written but " + " ".join(sorted(ALLOWED)))
def _():
    build = pathlib.Path(program()).parent
    objects = sorted(o for o in build.rglob("*.o") if re.search(r"(^|_)(src|engines)_", o.name))
    ok(objects, f"{build} has no objects of src/ or engines/")
    found = []
    for o in objects:
        for line in sh("objdump", "-t", str(o)).splitlines():
            # address, flags (the 7th is O for an object), section, size, name
            m = re.match(r"[0-9a-f]+ (.{7}) (\S+)\s+[0-9a-f]+ (.*)", line)
            if m and m[1][6] == "O" and WRITABLE.match(m[2]):
                name = re.sub(r"\.\d+$", "", m[3].replace(".hidden ", "").strip())
                if name not in ALLOWED:
                    found.append(f"{o.name}: {name} in {m[2]}")
    ok(not found, "\n".join(found))


main()
