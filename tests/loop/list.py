#!/usr/bin/python3
"""lunbench list: whether a write would be refused, and why; and that no LUN holds the list up."""

import contextlib
import json
import pathlib
import pwd
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

SCHEMA = "schema/lunbench-list-1.schema.json"
KEYS = ("write_refused", "write_refused_because", "write_override")


def rows(*luns, status=0, **how):
    """The three keys of each LUN, by its path, and the command's Result."""
    r = lunbench("list", "--json", "-", *map(os.fspath, luns), **how).expect(status)
    doc = json.loads(r.out)
    check_schema(doc, SCHEMA)
    return {x["name"]: tuple(x[k] for k in KEYS) for x in doc["luns"]}, r


def row(lun, **how):
    return rows(lun, **how)[0][os.fspath(lun)]


def put(lun, at, data):
    with open(lun, "r+b", buffering=0) as f:
        f.seek(at)
        f.write(data)
        os.fsync(f.fileno())


@test("a blank LUN would be written to; one with a file system or an ASM label would not, without --overwrite")
def _():
    with loop_of("16M") as blank, loop_of("16M", sector=4096) as big, loop_of("16M") as ext4, loop_of("16M") as asm:
        sh("mkfs.ext4", "-q", "-F", "-L", "data", os.fspath(ext4))
        put(asm, 32, b"ORCLDISKDATA01")
        found, _ = rows(blank, big, ext4, asm)
        eq([found[blank.path], found[big.path]], [(False, None, None)] * 2, "blank ones")
        has(found[ext4.path][1], '^ext4 file system "data", UUID [-0-9a-f]+$', "why")
        eq((found[ext4.path][0], found[ext4.path][2]), (True, True), "ext4")
        eq(found[asm.path], (True, "Oracle ASM disk DATA01", True), "ASM")
        r = lunbench("list", blank.path, asm.path).expect(0)
        has(r.out, rf"^{blank} .* allowed$", "stdout")
        has(r.out, rf"^{asm} .* refused\n    write refused: Oracle ASM disk DATA01; if all of it may be lost: --overwrite {asm}\n",
            "stdout")
        lacks(r.out.split(asm.path)[0], "write refused", "what stands under the blank one")
        # with no target, the same of all there is
        found, _ = rows()
        eq((found[blank.path], found[asm.path][0]), ((False, None, None), True), "among all")


@test("what is mounted, open elsewhere or read-only would be refused, and no --overwrite helps")
def _():
    with loop_of("16M") as used, loop_of("16M") as held, loop_of("16M", read_only=True) as ro, tmpdir() as d:
        sh("mkfs.ext4", "-q", "-F", used.path)
        with mounted(used.path, d), open(held, "rb"):
            found, _ = rows(used, held, ro)
            me = pathlib.Path("/proc/self/comm").read_text().strip()
            has(found[used.path][1], f"^ext4 file system, UUID .*, mounted on {d}$", "why")
            eq((found[used.path][0], found[used.path][2]), (True, False), "mounted")
            eq(found[held.path], (True, f"open in process {os.getpid()} ({me})", False), "open")
            eq(found[ro.path], (True, "read-only", False), "read-only")
        has(lunbench("list", used.path).expect(0).out, r"^    write refused: ext4 .*; if all of it may be lost: --overwrite", "stdout")
        eq(row(held), (False, None, None), "no longer open")


@test("looking changes nothing and leaves nothing open")
def _():
    with loop_of("8M", "random") as lun:
        before = lun.stat()
        eq(row(lun), (True, "unknown data, at byte 0", True), "row")
        eq((lun.stat() - before).writes, 0, "writes")
        os.close(os.open(lun, os.O_RDONLY | os.O_EXCL))


@test("who may not read a LUN sees that it is not known, and all the rest")
def _():
    need_root()
    nobody = pwd.getpwnam("nobody")

    def become():
        os.setgroups([])
        os.setgid(nobody.pw_gid)
        os.setuid(nobody.pw_uid)
    with loop_of("8M") as lun:
        found, r = rows(lun, before=become)
        eq(found[lun.path][0], None, "write_refused")
        has(found[lun.path][1], "^no right to read it: root could", "why")
        eq(found[lun.path][2], None, "write_override")
        eq(r.err, "", "stderr")
        r = lunbench("list", lun.path, before=become).expect(0)
        has(r.out, rf"^{lun} .* unknown\n    write unknown: no right to read it: root could", "stdout")


@test("a LUN that hangs is told after 5 s, and the others are all the same", limit=60)
def _():
    with loop_of("16M") as first, freezable("16M") as hung, loop_of("16M") as last:
        hung.freeze()
        found, r = rows(first, hung, last)
        eq(found[hung.path], (None, "no answer for 5 s", None), "the one that hangs")
        eq([found[first.path], found[last.path]], [(False, None, None)] * 2, "the others")
        between(r.secs, 4.9, 8, "seconds")
        # nor does what is left behind hold its reader up
        r = run("sh", "-c", '"$@" | cat', "sh", program(), "list", hung.path).expect(0)
        has(r.out, rf"^{hung} .* no answer$", "stdout")
        between(r.secs, 4.9, 8, "seconds")
        hung.thaw()
        eq(row(hung)[0], True, "once it answers")


@test("many that hang are waited for side by side, and what comes after them is still looked at", limit=120)
def _():
    with contextlib.ExitStack() as stack:
        blank = stack.enter_context(loop_of("16M"))
        hung = stack.enter_context(freezable("16M"))
        all_hung = [hung] + [stack.enter_context(loop(hung)) for _ in range(19)]
        stack.callback(hung.thaw)  # before they are taken down
        hung.freeze()
        found, r = rows(*all_hung, blank)
        between(r.secs, 9.9, 14, "seconds for 20 of them")
        eq([found[x.path] for x in all_hung], [(None, "no answer for 5 s", None)] * 20, "those that hang")
        eq(found[blank.path], (False, None, None), "the one behind them")


main()
