#!/usr/bin/python3
"""check_json.py WRITER SCHEMA GOLDEN

Has WRITER write a document of every kind of run and checks each against SCHEMA and against itself.
GOLDEN is a document as it must stay within this schema version; LB_GOLDEN_UPDATE=1 writes it anew.
"""

import copy
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("skipped: no python3-jsonschema")
    sys.exit(77)

PERCENTILES = {"p50_ns": 500000, "p90_ns": 900000, "p99_ns": 990000, "p99_9_ns": 999000,
               "p99_99_ns": 999900}


def strictly(pairs):
    keys = [k for k, _ in pairs]
    assert len(keys) == len(set(keys)), f"duplicate keys in {keys}"
    return dict(pairs)


def no_constant(name):
    raise AssertionError(f"{name} is no JSON")


def load(text):
    assert "-0," not in text and "-0\n" not in text and "-0.0" not in text
    return json.loads(text, object_pairs_hook=strictly, parse_constant=no_constant)


def check_schema(node, where="schema"):
    """Every object names all its keys, requires them all and allows no other."""
    if isinstance(node, list):
        for i, item in enumerate(node):
            check_schema(item, f"{where}[{i}]")
    if not isinstance(node, dict):
        return
    if "properties" in node and node.get("type") in ("object", ["object", "null"]):
        assert node["additionalProperties"] is False, where
        assert node["required"] == list(node["properties"]), where
    for key, value in node.items():
        check_schema(value, f"{where}.{key}")


def bucket_edges(ns):
    """The edges of the bucket that NS lies in, worked out from hist.h's words alone."""
    if ns >= 2**41:
        return 2**41, None
    width = max(1, 2 ** (ns.bit_length() - 7))
    low = ns // width * width
    return low, low + width


def check_figures(doc, fig):
    hist, lat, n = fig["histogram_ns"], fig["latency"], fig["xfers"]
    assert sum(count for _, _, count in hist) == n
    for low, high, _ in hist:
        assert (low, high) == bucket_edges(low)
    assert [b[0] for b in hist] == sorted({b[0] for b in hist})
    for key, ppm in PERCENTILES.items():
        if n * (1000000 - ppm) < 1000000 or doc["window_s"] is None:
            assert lat[key] is None, key
            continue
        rank, seen = -(-n * ppm // 1000000), 0
        for low, high, count in hist:
            seen += count
            if seen >= rank:
                break
        assert lat[key.replace("_ns", "_is_lower_bound")] is (high is None)
        if high is None:
            assert lat[key] == max(low, lat["min_ns"])
        elif lat["max_is_lower_bound"]:  # the xfers' own maximum is not in the document then
            assert low <= lat[key] < high, key
        else:
            assert lat[key] == max(min(high - 1, lat["max_ns"]), lat["min_ns"]), key
    assert (lat["min_ns"] is None) == (n == 0)
    if doc["window_s"] is None:
        assert lat["max_ns"] is None and not lat["max_is_lower_bound"]
    elif lat["max_is_lower_bound"]:
        assert lat["max_ns"] >= max(fig["late_max_ns"] or 0, fig["outstanding_max_age_ns"] or 0)
        assert fig["late"] or fig["outstanding"]
    else:
        assert not fig["outstanding"]
    lived_s = fig.get("lived_s", doc["window_s"])
    if not lived_s:
        assert fig["xfer_per_s"] is None and fig["bytes_per_s"] is None
    else:
        assert math.isclose(fig["xfer_per_s"] * lived_s, n, abs_tol=1e-9)
        assert math.isclose(fig["bytes_per_s"] * lived_s, fig["bytes"], abs_tol=1e-9)


def check_series(doc):
    """Columns of one length; LUNs add up to the total, and intervals to what the window has."""
    ends = doc["series"]["end_s"]
    assert ends == sorted(set(ends)) and (not ends or ends[-1] == doc["window_s"])
    assert (doc["series"]["interval_s"] is None) == (not ends)
    is_open = doc["total"]["open_loop"] is not None
    for row in [doc["total"], *doc["luns"]]:
        assert len(row["series"]["in_flight"]) == len(row["series"]["longest_gap_ns"]) == len(ends)
        backlog = row["series"]["backlog"]
        assert len(backlog) == len(ends) if is_open else backlog is None
        for op in "read", "write":
            columns = row["series"][op]
            if columns is None:
                continue
            for key, column in columns.items():
                assert len(column) == len(ends) if is_open or not key.startswith("response") else column is None, key
            assert sum(columns["xfers"]) == row[op]["xfers"] and sum(columns["bytes"]) == row[op]["bytes"]
            for xfers, mean, p99, longest in zip(*[columns[k] for k in ("xfers", "mean_ns", "p99_ns", "max_ns")]):
                assert (mean is None) == (longest is None) == (xfers == 0)
                assert p99 is None or xfers >= 100 and p99 <= longest
    for op in "read", "write":
        if ends and doc["total"]["series"][op]:
            for key in "xfers", "bytes", "errors":
                luns = [lun["series"][op][key] for lun in doc["luns"]]
                assert doc["total"]["series"][op][key] == [sum(column) for column in zip(*luns)]


def check_open_loop(doc, fig, loop):
    """What an open loop adds: to each figure a response, to each row how its schedule was kept."""
    assert (fig["response"] is None) == (fig["response_histogram_ns"] is None) == (loop is None)
    if loop is None:
        return
    response, hist = fig["response"], fig["response_histogram_ns"]
    assert list(response) == list(fig["latency"])
    assert sum(count for _, _, count in hist) == fig["xfers"]
    assert loop["backlog_unissued"] <= loop["backlog"]
    assert (loop["backlog_oldest_age_ns"] is None) == (loop["backlog"] == 0)
    known = [key for key in PERCENTILES if response[key] is not None]
    assert sorted(known, key=lambda key: response[key]) == known
    if loop["missed"]:
        assert not known and response["mean_ns"] is None
    elif not loop["backlog_unissued"] and not fig["outstanding"]:
        assert not any(response[key.replace("_ns", "_is_lower_bound")] for key in known)
        for key in known:
            assert response[key] >= fig["latency"][key] * (1 - 1 / 64), key
    elif response["mean_ns"] is not None:
        assert response["mean_is_lower_bound"]


def check_document(name, doc):
    for row in (doc["total"], *doc["luns"]):
        for fig in (row, row["read"], row["write"]):
            check_open_loop(doc, fig, row["open_loop"])
    check_series(doc)
    check_figures(doc, doc["total"])
    for lun in doc["luns"]:
        check_figures(doc, lun)
        assert set(lun) > set(doc["total"])
    for key in ("xfers", "bytes", "errors", "errors_outside_window", "late", "outstanding",
                "ios_issued", "bytes_issued", "sampled_blocks"):
        assert doc["total"][key] == sum(lun[key] for lun in doc["luns"]), (name, key)
    summed = {}
    for lun in doc["luns"]:
        for low, _, count in lun["histogram_ns"]:
            summed[low] = summed.get(low, 0) + count
    assert summed == {low: count for low, _, count in doc["total"]["histogram_ns"]}
    assert doc["complete"] == (doc["ended_by"] in ("time", "count", "steady"))
    if doc["signal"]:
        assert doc["status"] > 128 and doc["ended_by"] == "signal"


def float_keys(node, path=""):
    """Keys whose values are written with a point: one type for a key, whatever the value."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from float_keys(value, f"{path}.{key}")
    elif isinstance(node, list):
        for value in node:
            yield from float_keys(value, path)
    elif isinstance(node, (int, float)) and not isinstance(node, bool):
        yield path, type(node)


def must_fail(validator, doc, what, change):
    bad = copy.deepcopy(doc)
    change(bad)
    assert not validator.is_valid(bad), f"the schema lets pass: {what}"


def main():
    writer, schema_path, golden_path = sys.argv[1:]
    schema = json.loads(pathlib.Path(schema_path).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    types = {}
    docs = {}
    with tempfile.TemporaryDirectory() as tmp:
        subprocess.run([writer, tmp], check=True)
        for path in sorted(pathlib.Path(tmp).iterdir()):
            text = path.read_text(encoding="utf-8", errors="strict")
            doc = docs[path.stem] = load(text)
            for error in validator.iter_errors(doc):
                sys.exit(f"{path.stem}: {error.json_path}: {error.message}")
            check_document(path.stem, doc)
            for key, kind in float_keys(doc):
                assert types.setdefault(key, kind) is kind, f"{key}: {kind} and {types[key]}"
            if path.stem == pathlib.Path(golden_path).stem:
                if os.environ.get("LB_GOLDEN_UPDATE"):
                    pathlib.Path(golden_path).write_text(text)
                assert text == pathlib.Path(golden_path).read_text(), "differs from golden"
            print(f"ok {len(docs)} - {path.stem}")
    four = docs["four"]
    must_fail(validator, four, "a key too many", lambda d: d.update(x=1))
    must_fail(validator, four, "a key missing", lambda d: d["luns"][0].pop("late"))
    must_fail(validator, four, "a string", lambda d: d["total"].update(xfer_per_s="100%"))
    must_fail(validator, four, "a -1", lambda d: d["luns"][3].update(queue_depth=-1))
    must_fail(validator, four, "null xfers", lambda d: d["total"].update(xfers=None))
    assert four["options"]["qd"] == {"value": "64", "source": "command line"}
    assert four["options"]["pat"] == {"value": "rand", "source": "default"}
    assert four["engine"]["asked"] == "auto"
    assert four["plan"]["phases"][0]["count"] == 50000
    assert four["start_utc"] == "2023-11-14T22:13:20.000000000Z"
    assert [t["fate"] for t in docs["refused"]["targets"]] == ["fit", "refused", "passed_over"]
    assert docs["refused"]["targets"][1] == {
        "name": "/dev/mapper/\ufffd\"\\\x01", "fate": "refused", "status": 3,
        "why": "no such device: \ufffd("}
    assert docs["errors"]["luns"][1]["first_error"] == {
        "errno": "EIO", "errno_number": 5, "moved_bytes": None, "offset_bytes": 53687091200,
        "at_s": -0.25}
    assert docs["errors"]["luns"][2]["first_error"]["moved_bytes"] == 1536
    assert docs["errors"]["luns"][1]["errors_by_kind"][1] == {
        "op": "read", "errno": "EBADE", "errno_number": 52, "moved_bytes": None,
        "meaning": "reservation conflict", "count": 2, "count_outside_window": 0,
        "first": {"offset_bytes": 0, "at_s": 7}, "last": {"offset_bytes": 16384, "at_s": 7.001}}
    assert [f["count"] for f in docs["errors"]["total"]["errors_by_kind"]] == [3012, 2, 1]
    lost = docs["lost"]["luns"]
    assert [l["lived_s"] for l in lost] == [10, 4, 0, 10]
    assert [l["lost_s"] for l in lost] == [None, 4, -0.1, None]
    assert [l["lost_why"] for l in lost[:2]] == [None, "ENODEV, device gone"]
    assert [l["xfer_per_s"] for l in lost] == [l["xfers"] / l["lived_s"] if l["lived_s"] else None for l in lost]
    series = docs["series"]
    assert series["series"]["end_s"] == [1.0, 2.0, 3.0, 4.0, 5.003, 6.0, 7.0, 8.0, 9.0, 10.0]
    assert series["total"]["series"]["silent_luns"] == [0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
    assert series["luns"][1]["series"]["longest_gap_ns"][3:6] == [1000000000, 2003000000, 0]
    assert series["total"]["series"]["longest_gap_ns"][4] == 2003000000
    assert series["luns"][1]["series"]["read"]["xfers"] == 3 * [700] + 2 * [0] + 5 * [700]
    assert series["luns"][1]["series"]["read"]["p99_ns"][3:5] == [None, None]
    cliff = docs["cliff"]
    assert cliff["series"]["asked_interval_s"] == 1.0 and cliff["series"]["interval_s"] == 2.0
    assert cliff["total"]["series"]["read"] is None
    assert cliff["total"]["series"]["write"]["xfers"][1799:1801] == [2000, 860]
    assert cliff["total"]["series"]["write"]["p99_ns"][5] == 400000
    assert cliff["luns"][0]["series"]["write"]["p99_ns"][5] is None
    assert cliff["trend"] == {
        "worst_begin_s": 5000.0, "worst_end_s": 5002.0, "worst_xfer_per_s": 429.5,
        "first_quarter_xfer_per_s": 1000.0, "last_quarter_xfer_per_s": 430.0}
    assert [f["code"] for f in cliff["findings"]] == ["rate-drifts"]
    steady = docs["steady"]
    assert steady["ended_by"] == "steady" and steady["complete"] and steady["status"] == 0
    state = steady["steady_state"]
    assert (state["on"], state["unit"], state["window_s"], state["reached"]) == ("p99", "ns", 60.0, True)
    assert state["at_s"] == steady["window_s"] == state["windows"][4]["end_s"]
    values = [w["value"] for w in state["windows"]]
    assert math.isclose(state["mean"], sum(values) / 5)
    assert math.isclose(state["range_pct"], 100 * (max(values) - min(values)) / state["mean"])
    assert docs["four"]["steady_state"]["reached"] is None
    must_fail(validator, series, "a null count", lambda d: d["luns"][0]["series"]["read"]["xfers"].__setitem__(0, None))
    assert docs["extremes"]["total"]["histogram_ns"][-1] == [2**41, None, 1]
    patterns = [docs[d]["plan"]["phases"][0]["streams"][0] for d in ("four", "extremes", "late")]
    assert [tuple(p[k] for k in ("pattern", "zipf_theta", "hot_blocks_pct", "hot_xfers_pct")) for p in patterns] == [
        ("rand", None, None, None), ("zipf", 0.99, None, None), ("hot", None, 20.0, 80.5)]
    print(f"ok {len(docs) + 1} - the schema refuses what is wrong, and the documents say what the runs were")
    print(f"1..{len(docs) + 1}")


main()
