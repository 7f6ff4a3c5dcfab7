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

from lbtest import Result, between, check_schema, eq, fail, has, near


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


def events_of(doc, lun, kind):
    """Of a LUN's row in a result: its events of that kind."""
    return [event for event in doc["events"] if event["lun"] == lun["name"] and event["kind"] == kind]


def states_of(doc, lun, path=None):
    """The states that a path of the LUN, or the device itself, went through, as (from, to)."""
    return [(event["from_state"], event["to_state"]) for event in events_of(doc, lun, "path") if event["path"] == path]


def is_seen(at_s, since_s, what):
    """The devices are looked at once a second."""
    between(at_s, since_s, since_s + 1.3, f"{what}: seen at, s")


def errors_are(doc, lun, op, errno, meaning):
    """All of the LUN's errors are of one kind, and one burst on the time line."""
    kinds = [(kind["op"], kind["errno"], kind["meaning"]) for kind in lun["errors_by_kind"]]
    eq(kinds, [(op, errno, meaning)], f"{lun['name']}: kinds of errors")
    first, last = (lun["errors_by_kind"][0][which] for which in ("first", "last"))
    eq(first, {key: lun["first_error"][key] for key in first}, f"{lun['name']}: the first error, of that kind and of all")
    bursts = [(event["begin_s"], event["end_s"], event["ios"]) for event in events_of(doc, lun, "errors")]
    eq(bursts, [(first["at_s"], last["at_s"], lun["errors"])], f"{lun['name']}: bursts of errors")


def lost_is(doc, lun, since_s, why):
    """The LUN was given up a second after since_s at the latest, and its rates are of the time until then."""
    is_seen(lun["lost_s"], since_s, f"{lun['name']}: lost")
    has(lun["lost_why"], why, "why it is lost")
    eq([(event["begin_s"], event["text"]) for event in events_of(doc, lun, "lost")], [(lun["lost_s"], lun["lost_why"])], "events")
    eq(lun["lived_s"], lun["lost_s"], "lived")
    near(lun["xfer_per_s"] * lun["lived_s"], lun["xfers"], "xfers by the rate", rel=1e-6)


def stall_is(doc, lun, begin_s, end_s):
    """The LUN stalled once, from begin_s to end_s after the window's opening (None: to the end)."""
    stalls = events_of(doc, lun, "stall")
    eq((lun["stalls"], len(stalls)), (1, 1), f"{lun['name']}: stalls in its row, and events of one")
    near(stalls[0]["begin_s"], begin_s, f"{lun['name']}: begin of the stall, s", abs=0.2)
    if end_s is None:
        eq(stalls[0]["end_s"], None, f"{lun['name']}: end of the stall")
        end_s = doc["window_s"]
    else:
        near(stalls[0]["end_s"], end_s, f"{lun['name']}: end of the stall, s", abs=0.2)
    near(lun["longest_gap_s"], end_s - begin_s, f"{lun['name']}: longest gap, s", rel=0.1)
    near(lun["longest_gap_at_s"], begin_s, f"{lun['name']}: begin of the longest gap, s", abs=0.2)
    near(lun["stalled_s"], lun["longest_gap_s"], f"{lun['name']}: stalled, s", abs=0.001)


def series_is(doc, lun, op, per_s, silent=()):
    """The LUN's series: per_s xfers a second, but none in the time `silent` (begin and end, after the window's opening)."""
    begin_s, end_s = silent or (doc["window_s"], doc["window_s"])
    column = lun["series"][op]["xfers"]
    eq(sum(column), lun["xfers"], f"{lun['name']}: xfers of the series")
    since_s = 0.0
    for until_s, xfers in zip(doc["series"]["end_s"], column, strict=True):
        what = f"{lun['name']}: xfers from {since_s:.3f} to {until_s:.3f} s"
        # what was in flight when it began still came back
        if begin_s + 0.1 < since_s and until_s < end_s:
            eq(xfers, 0, what)
        elif until_s < begin_s or end_s + 0.1 < since_s:
            near(xfers, per_s * (until_s - since_s), what, abs=0.05 * per_s + 3)
        since_s = until_s


def is_untouched(doc, lun, qd, device_s):
    """A healthy LUN whose I/Os take device_s each did all it could in the window, whatever befell the others."""
    window_s = doc["window_s"]
    near(lun["xfers"], qd * window_s / device_s, f"{lun['name']}: xfers", rel=0.02)
    near(lun["latency"]["p50_ns"] / 1e9, device_s, f"{lun['name']}: p50, s", rel=0.02)
    between(lun["latency"]["max_ns"] / 1e9, device_s, device_s + 0.02, f"{lun['name']}: longest latency, s")
    between(lun["longest_gap_s"], 0, device_s + 0.02, f"{lun['name']}: longest gap, s")
    series_is(doc, lun, "read" if lun["series"]["read"] else "write", qd / device_s)
    eq((lun["errors"], lun["outstanding"], lun["stalls"]), (0, 0, 0), f"{lun['name']}: errors, outstanding, stalls")
    eq([event for event in doc["events"] if event["lun"] == lun["name"]], [], f"{lun['name']}: events")
