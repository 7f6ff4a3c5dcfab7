#!/usr/bin/python3
"""Where results go: stdout, stderr and --json FILE, when they are closed, full, missing or a LUN."""

import hashlib
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

# a run that takes no time and no device
RUN = ["--engine", "null", "--qd", "2", "--time", "20ms", "--scratch", "1x1M"]
MISSING = "/dev/lunbench-test-is-not-there"


def file_sha(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def closing(*fds):
    """For `before`: the command starts without these descriptors."""
    def close():
        for fd in fds:
            os.close(fd)
    return close


def nobody():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


def lunbench_as_nobody(*args):
    need_root()
    try:
        return lunbench(*args, before=nobody)
    except PermissionError:
        raise Skip("needs a program that others may run") from None


def refused_at_once(r, status, message):
    """Before any I/O, so nothing was measured; one line says why."""
    r.expect(status)
    eq(r.err, f"lunbench: {message}\n", "stderr")
    eq(r.out, "", "stdout")
    ok(r.secs < 2, f"it took {r.secs:.1f} s")


LONG = ["--engine", "null", "--time", "100s", "--scratch", "1x1M"]  # were it run, it would show


# ---- --json FILE

@test("--json in a directory that is missing")
def _():
    with tmpdir() as d:
        refused_at_once(lunbench(*LONG, "--json", f"{d}/none/r.json"), 4, f"cannot write {d}/none/r.json: No such file or directory")
        eq(os.listdir(d), [], "files")


@test("--json to a directory")
def _():
    with tmpdir() as d:
        refused_at_once(lunbench(*LONG, "--json", d), 4, f"cannot write {d}: Is a directory")
        eq(os.listdir(d), [], "files")


@test("--json in a directory and to a file that may not be written")
def _():
    with tmpdir() as d:
        os.chmod(d, 0o755)
        refused_at_once(lunbench_as_nobody(*LONG, "--json", f"{d}/r.json"), 4, f"cannot write {d}/r.json: Permission denied")
        eq(os.listdir(d), [], "files")
        os.chmod(d, 0o777)
        kept = pathlib.Path(d, "old.json")
        kept.write_text("old")
        os.chmod(kept, 0o444)
        refused_at_once(lunbench_as_nobody(*LONG, "--json", kept), 4, f"cannot write {kept}: Permission denied")
        eq(kept.read_text(), "old", "the old file")


@test("--json to a block device: the LUN whose file name was forgotten stays whole")
def _():
    with loop_of("4M", "random") as lun:
        before = file_sha(lun.path)
        message = f"--json: {lun} is a block device, not a file: is the file name missing?"
        refused_at_once(lunbench(*LONG, "--json", lun), 2, message)
        with tmpdir() as d:
            os.symlink(lun.path, f"{d}/link")
            refused_at_once(lunbench(*LONG, "--json", f"{d}/link"), 2, message.replace(str(lun), f"{d}/link"))
        eq(file_sha(lun.path), before, "the LUN's content")


@test("--json FILE appears whole, with the text on stdout, and through a link")
def _():
    with tmpdir() as d:
        real, link = pathlib.Path(d, "r.json"), f"{d}/link"
        real.write_text("x" * 100000)
        os.chmod(real, 0o640)
        os.symlink("r.json", link)
        lunbench(*RUN, "--json", link).expect(0, out=r"^Total ")
        parse_json(real.read_text(), "the file")
        ok(os.path.islink(link), "the link has become a file")
        eq(os.stat(real).st_mode & 0o7777, 0o640, "its mode")
        eq(sorted(os.listdir(d)), ["link", "r.json"], "files")


@test("--json to a FIFO and to /dev/null is written directly")
def _():
    with tmpdir() as d:
        fifo = f"{d}/fifo"
        os.mkfifo(fifo)
        reader = Running(["cat", fifo])
        lunbench(*RUN, "--json", fifo).expect(0)
        ok(reader.wait().expect(0).json["complete"], "not complete")
        lunbench(*RUN, "--json", "/dev/null").expect(0, out=r"^Total ")
        ok(not os.path.isfile("/dev/null"), "/dev/null has become a file")


@test("--json to a full device or file system: status 4, and the old file is as it was")
def _():
    lunbench(*RUN, "--json", "/dev/full").expect(4, out=r"^Total ", err="^lunbench: cannot write .*: No space left on device$")
    with tmpfs("64K") as d:
        kept = pathlib.Path(d, "old.json")
        kept.write_text("old")
        with open(f"{d}/fill", "wb", buffering=0) as f, contextlib.suppress(OSError):
            while f.write(bytes(4096)):
                pass
        lunbench(*RUN, "--json", kept).expect(4, out=r"^Total ", err=rf"^lunbench: cannot write {kept}: No space left on device$")
        eq(kept.read_text(), "old", "the old file")
        eq(sorted(os.listdir(d)), ["fill", "old.json"], "files")


@test("a usage error writes no JSON, a refused target does: alone on stdout")
def _():
    with tmpdir() as d:
        path = pathlib.Path(d, "r.json")
        path.write_text("old")
        lunbench("--size", "16q", "--json", path, MISSING).expect(2)
        eq(path.read_text(), "old", "the file after a usage error")
        r = lunbench("--size", "16q", "--json", "-", MISSING).expect(2)
        eq(r.out, "", "stdout after a usage error")
        for args in ([MISSING], [MISSING, "/"], ["/dev/null"]):
            status = 3 if args == [MISSING] else 2
            r = lunbench(*args, "--json", "-").expect(status)
            doc = r.json
            check_schema(doc, "schema/lunbench-result-1.schema.json")
            eq((doc["complete"], doc["ended_by"], doc["status"], doc["window_s"]), (False, "refused", status, None), "the end")
            eq([(t["name"], t["fate"]) for t in doc["targets"]], [(a, "refused") for a in args], "targets")
            for target in args:
                has(r.err, rf"^lunbench: {target}: ", "stderr")
        lunbench(MISSING, "--json", path).expect(3)
        ok(parse_json(path.read_text(), "the file")["complete"] is False, "complete")


# ---- stdout, stderr, stdin

@test("stdout full or its reader gone: status 4")
def _():
    for extra in ([], ["--json", "-"]):
        with open("/dev/full", "wb") as full:
            lunbench(*RUN, *extra, stdout=full).expect(4, err="^lunbench: cannot write ")
        r, w = os.pipe()
        os.close(r)
        with open(w, "wb") as pipe:
            done = lunbench(*RUN, *extra, stdout=pipe, before=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
            done.expect(4, err="^lunbench: cannot write ")
    for page in ("--help", "--version"):
        with open("/dev/full", "wb") as full:
            lunbench(page, stdout=full).expect(4, err="^lunbench: cannot write ")


@test("standard descriptors that are closed: nothing is written into the LUN")
def _():
    with scratch_file("4M", "random") as backing, loop(backing) as lun:
        before = file_sha(backing)
        for target in (lun.path, backing):
            args = ["--engine", "sync", "--qd", "1", "--time", "50ms", target]
            for fds in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
                for extra in ([], ["--json", "-"], ["--progress", "always"]):
                    r = lunbench(*args, *extra, before=closing(*fds))
                    r.expect(4 if 1 in fds else 0)
                    if 1 not in fds:
                        ok(r.out, f"{fds}: no report")
                    sh("sync", backing)
                    eq(file_sha(backing), before, f"{fds} closed: the LUN's content")


@test("a result file is right whatever standard descriptors are closed")
def _():
    with tmpdir() as d:
        for fds in ((0,), (1,), (2,), (0, 1, 2)):
            path = pathlib.Path(d, "r.json")
            lunbench(*RUN, "--json", path, before=closing(*fds)).expect(4 if 1 in fds else 0)
            ok(parse_json(path.read_text(), "the file")["complete"], "not complete")
            path.unlink()


@test("progress and notes never reach stdout")
def _():
    r = lunbench(*RUN, "--json", "-", "--progress", "always").expect(0)
    eq(r.json["complete"], True, "complete")
    r = lunbench(*RUN, "--json", "-", tty=True).expect(0)
    eq(r.json["complete"], True, "complete")
    r = lunbench(*RUN).expect(0)
    eq(r.err, "", "stderr, which is no terminal")


main()
