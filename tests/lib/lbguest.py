"""What a guest handed over by tests/vm/guest-lib.sh, for the host's half of a VM test.

    from lbguest import Guest
    guest = Guest()                         # from the file named by the first argument
    int(guest.fact("reads_before"))         # fact reads_before 17
    guest.secs("lost", "back")              # mark lost, mark back: the seconds between them
    guest.result("uring").expect(0).json    # run uring lunbench ... --json -
"""

import datetime
import pathlib
import sys

from lbtest import Result, between, check_schema, eq, fail, near


class Guest:
    def __init__(self, output=None):
        self._facts, self._texts = {}, {}
        data = pathlib.Path(output or sys.argv.pop(1)).read_bytes()
        inside = None
        for line in data.split(b"\n"):
            word, _, rest = line.partition(b" ")
            if inside is not None and word != b"#end":
                self._texts[inside].append(line)
            elif word == b"#begin":
                inside = rest.decode()
                self._texts[inside] = []
            elif word == b"#end":
                inside = None
            elif word == b"#fact":
                name, _, value = rest.decode("utf-8", "replace").partition(" ")
                self._facts[name] = value

    def fact(self, name):
        if name not in self._facts:
            fail(f"the guest gave no fact {name!r}; it gave: {' '.join(self._facts)}")
        return self._facts[name]

    def secs(self, since, until):
        """Between two times that the guest took; `since` may be a result document: from its window's opening."""
        begin = opening_s(since) if isinstance(since, dict) else float(self.fact(since))
        return float(self.fact(until)) - begin

    def result(self, name):
        """The command that the guest ran as `run NAME`, as lbtest's lunbench() gives it."""
        status = int(self.fact(f"{name}.status"))
        return Result([name], status, self._text(f"{name}.out"), self._text(f"{name}.err"), 0.0, None)

    def doc(self, name, status):
        """Its result, which keeps to the schema, of a run that ended with this status."""
        doc = self.result(name).expect(status).json
        check_schema(doc, "schema/lunbench-result-1.schema.json")
        return doc

    def _text(self, name):
        # each line had a | put before it; one more newline was written after the last
        lines = self._texts.get(name, [])
        return b"\n".join(line[1:] for line in lines)


def opening_s(doc):
    """When the window of a result opened, since the epoch."""
    whole, _, fraction = doc["start_utc"].rstrip("Z").partition(".")
    return datetime.datetime.fromisoformat(whole + "+00:00").timestamp() + float("0." + fraction)


def is_untouched(lun, window_s, qd, device_s):
    """A healthy LUN whose I/Os take device_s each did all it could in a window, whatever befell the others."""
    near(lun["xfers"], qd * window_s / device_s, f"{lun['name']}: xfers", rel=0.02)
    near(lun["latency"]["p50_ns"] / 1e9, device_s, f"{lun['name']}: p50, s", rel=0.02)
    between(lun["latency"]["max_ns"] / 1e9, device_s, device_s + 0.02, f"{lun['name']}: longest latency, s")
    eq((lun["errors"], lun["outstanding"]), (0, 0), f"{lun['name']}: errors, outstanding")
