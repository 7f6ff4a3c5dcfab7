"""What lunbench's cli, loop and vm tests are written with: /usr/bin/python3, its library only.

    import sys, pathlib
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
    from lbtest import *

    @test("a 4Kn LUN refuses 512-byte transfers")
    def _():
        with scratch_file("64M") as f, loop(f, sector=4096) as lun:
            r = lunbench("--size", "512", lun.path)
            r.expect(2, err="logical block 4096")

    main()

main() runs the tests in order and writes TAP. A file takes words as arguments: only tests whose
name has one of them are run. A test fails by any exception; Skip says why it cannot run here.

What a test makes (files, loops, zrams, mounts, cgroups, processes) is kept on a stack of undos, so that
it goes away, newest first, when its `with` ends, and also on a failure, a time-out, SIGINT, SIGTERM or SIGHUP.
The devices (scratch_file, loop, zram, freezable, throttle, ...) are in lbdev.py and come along.
"""

import contextlib
import json
import os
import pathlib
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import lbundo
from lbdev import *  # noqa: F403 - tests have these through us
from lbundo import *  # noqa: F403

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEST_LIMIT_S = 120  # for a test that does not say otherwise


# ---- assertions

def _show(value, limit=2000):
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= limit else text[: limit // 2] + "\n[...]\n" + text[-limit // 2 :]


def fail(message):
    raise AssertionError(message)


def ok(condition, message):
    if not condition:
        fail(message)


def eq(got, want, what="value"):
    # True == 1 in Python, but not in a result file
    if got != want or (isinstance(got, bool) != isinstance(want, bool)):
        fail(f"{what}: got {_show(got)}\nwant {_show(want)}")


def near(got, want, what="value", rel=None, abs=None):
    """got is a number within rel (a fraction of want) or abs of want."""
    ok(isinstance(got, (int, float)) and not isinstance(got, bool), f"{what}: got {got!r}, want a number")
    allowed = want * rel if rel is not None else abs
    off = got - want if got >= want else want - got
    if off > allowed:
        fail(f"{what}: got {got}, want {want} within {allowed:g}; it is off by {off:g}")


def between(got, low, high, what="value"):
    ok(isinstance(got, (int, float)) and not isinstance(got, bool), f"{what}: got {got!r}, want a number")
    if not low <= got <= high:
        fail(f"{what}: got {got}, want {low} to {high}")


def has(text, pattern, what="text"):
    """The regular expression is found in the text (^ and $ match at each line)."""
    if not re.search(pattern, text, re.MULTILINE):
        fail(f"{what} has no /{pattern}/; it is:\n{_show(text)}")


def lacks(text, pattern, what="text"):
    found = re.search(pattern, text, re.MULTILINE)
    if found:
        fail(f"{what} has /{pattern}/ at {found.group(0)!r}; it is:\n{_show(text)}")


# ---- JSON

def _no_constant(name):
    raise ValueError(f"{name} is no JSON")


def _no_duplicates(pairs):
    keys = [k for k, _ in pairs]
    twice = {k for k in keys if keys.count(k) > 1} if len(set(keys)) < len(keys) else None
    if twice:
        raise ValueError(f"keys given twice: {sorted(twice)}")
    return dict(pairs)


def parse_json(text, what="JSON"):
    """One strict JSON document: no NaN or Infinity, no key twice, nothing after it."""
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_duplicates)
    except ValueError as e:
        fail(f"{what}: {e}; it is:\n{_show(text)}")


_validators = {}


def check_schema(doc, schema, what="JSON"):
    """doc keeps to the JSON Schema in the file `schema` (a path from the source's root)."""
    try:
        import jsonschema
    except ImportError:
        raise Skip("needs python3-jsonschema") from None
    if schema not in _validators:
        rules = json.loads((ROOT / schema).read_text())
        cls = jsonschema.validators.validator_for(rules)
        cls.check_schema(rules)
        _validators[schema] = cls(rules)
    errors = sorted(_validators[schema].iter_errors(doc), key=lambda e: e.json_path)
    if errors:
        lines = [f"{e.json_path}: {_show(e.message, 300)}" for e in errors[:10]]
        more = f"\nand {len(errors) - 10} more" if len(errors) > 10 else ""
        fail(f"{what} does not keep to {schema}:\n" + "\n".join(lines) + more)


# ---- commands

class Result:
    """How a command ended. status is negative for death by that signal; out and err are text."""

    def __init__(self, argv, status, out, err, secs, rusage):
        self.argv, self.status, self.out_bytes, self.err_bytes = argv, status, out, err
        self.out, self.err = out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
        self.secs, self.rusage = secs, rusage

    def __str__(self):
        return (f"$ {shlex.join(self.argv)}\nstatus {self.status} after {self.secs:.2f} s\n"
                f"stdout: {_show(self.out)}\nstderr: {_show(self.err)}")

    def expect(self, status=0, out=None, err=None):
        """The status, and regular expressions that stdout and stderr must have; returns self."""
        wanted = status if isinstance(status, (tuple, list, set)) else (status,)
        if self.status not in wanted:
            fail(f"status: want {status}\n{self}")
        for pattern, text, what in ((out, self.out, "stdout"), (err, self.err, "stderr")):
            if pattern is not None and not re.search(pattern, text, re.MULTILINE):
                fail(f"{what} has no /{pattern}/\n{self}")
        return self

    @property
    def json(self):
        """stdout as one strict JSON document."""
        try:
            return parse_json(self.out_bytes, "stdout")
        except UnicodeDecodeError as e:
            fail(f"stdout is not UTF-8: {e}")


class Running:
    """A command under way. Its output goes to files, so that a process which outlives it (stuck on
    a device) cannot hold up the wait for it, as it would with pipes. With tty=True stderr is a terminal."""

    def __init__(self, argv, stdin=None, env=None, cwd=None, cgroup=None, before=None, tty=False, **popen):
        self.argv = [os.fspath(a) for a in argv]
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self._reader = None
        stderr = popen.pop("stderr", self._err)
        if tty:
            master, stderr = pty.openpty()
            self._reader = threading.Thread(target=self._read_tty, args=(master,), daemon=True)

        def in_child():
            if cgroup:
                cgroup.join()
            if before:
                before()

        with hold_signals():
            self._began = time.monotonic()
            self.proc = subprocess.Popen(
                self.argv, stdin=subprocess.DEVNULL if stdin is None else stdin, stdout=popen.pop("stdout", self._out),
                stderr=stderr, cwd=cwd, start_new_session=True, env={**os.environ, **env} if env else None,
                preexec_fn=in_child if cgroup or before else None, **popen)
            self._undo = Undo(f"pid {self.proc.pid}", self.kill)
        self.pid = self.proc.pid
        if tty:
            os.close(stderr)
            self._reader.start()

    def _read_tty(self, master):
        with contextlib.suppress(OSError):  # EIO: the last writer is gone
            while data := os.read(master, 65536):
                self._err.write(data)
                self._err.flush()
        os.close(master)

    def signal(self, signum):
        os.kill(self.pid, signum)

    def kill(self):
        """Ends the command and what it started. What is stuck in the kernel goes when the device lets it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.proc.wait(5)

    def err_so_far(self):
        """What it has written to stderr up to now, for a test to wait on."""
        size = os.fstat(self._err.fileno()).st_size
        return os.pread(self._err.fileno(), size, 0).decode("utf-8", "replace")

    def alive(self):
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def wait(self, limit=CMD_LIMIT_S):
        """Waits for its end and returns a Result; past the limit it is killed, and that is a failure."""
        pidfd = os.pidfd_open(self.pid)
        try:
            poll = select.poll()
            poll.register(pidfd, select.POLLIN)
            over = poll.poll(max(0, self._began + limit - time.monotonic()) * 1000)
            secs = time.monotonic() - self._began
        finally:
            os.close(pidfd)
        if not over:
            self._undo()
            fail(f"no end after {limit} s\n{self._result(None, secs, None)}")
        with hold_signals():
            _, status, rusage = os.wait4(self.pid, 0)
            self.proc.returncode = os.waitstatus_to_exitcode(status)
        self._undo()  # what it may have left in its session
        return self._result(self.proc.returncode, secs, rusage)

    def _result(self, status, secs, rusage):
        if self._reader:
            self._reader.join(2)
        texts = []
        for f in (self._out, self._err):
            texts.append(os.pread(f.fileno(), os.fstat(f.fileno()).st_size, 0))
        return Result(self.argv, status, *texts, secs, rusage)


def program():
    """The lunbench under test: $LUNBENCH."""
    path = os.environ.get("LUNBENCH")
    need(path, "needs $LUNBENCH, the path of the program under test")
    ok(os.access(path, os.X_OK), f"$LUNBENCH: no program at {path}")
    return os.path.abspath(path)


def start(*args, **how):
    """Starts lunbench with these arguments; `how` is as for Running."""
    return Running([program(), *map(str, args)], **how)


def lunbench(*args, limit=CMD_LIMIT_S, **how):
    """Runs lunbench with these arguments to its end; `how` is as for Running."""
    return start(*args, **how).wait(limit)


def run(*argv, limit=CMD_LIMIT_S, **how):
    """Runs any command as lunbench() runs lunbench."""
    return Running(argv, **how).wait(limit)


def wait_for(condition, what, limit=10.0, step=0.01):
    """Polls until condition() is true and returns what it gave; fails after `limit` seconds."""
    end = time.monotonic() + limit
    while not (value := condition()):
        if time.monotonic() > end:
            fail(f"after {limit} s still not: {what}")
        time.sleep(step)
    return value


# ---- tests and TAP

_tests = []


def test(name, limit=TEST_LIMIT_S):
    """Registers the function below it as a test with this name and time limit in seconds."""
    def register(fn):
        ok(name not in (t[0] for t in _tests), f"two tests have the name {name!r}")
        _tests.append((name.replace("#", "no."), fn, limit))
        return fn
    return register


def note(text):
    """A TAP comment."""
    for line in str(text).splitlines():
        print("#", line, flush=True)


def _where(e):
    """The lines of the test files that the exception came through; this library's own say nothing."""
    frames = [f for f in traceback.extract_tb(e.__traceback__) if not f.filename.startswith((str(ROOT / "tests/lib"), "/usr/"))]
    return [f"{os.path.basename(f.filename)}:{f.lineno}: {f.line}" for f in frames[-3:]]


def _run_one(fn, limit):
    """Runs one test; returns (passed, why it was skipped, lines to say about it)."""
    skip, said = None, []
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        fn()
    except Skip as e:
        skip = str(e) or "no reason given"
    except AssertionError as e:
        said = _where(e) + (str(e) or "assertion failed").splitlines()
    except Exception as e:
        said = _where(e) + f"{type(e).__name__}: {e}".splitlines()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    left = undo_all()  # nothing, unless the end was a sudden one
    return not said and not left, skip if not left else None, said + [f"not undone: {x}" for x in left]


def main():
    """Runs the registered tests, writes TAP and exits: 0 when none failed."""
    for signum in (*lbundo.ENDING, signal.SIGALRM):
        signal.signal(signum, lbundo.on_signal)
    words = [a for a in sys.argv[1:] if not a.startswith("-")]
    chosen = [t for t in _tests if not words or any(w in t[0] for w in words)]
    failed = 0
    try:
        for n, (name, fn, limit) in enumerate(chosen, 1):
            passed, skip, said = _run_one(fn, limit)
            failed += not passed
            print(f"{'ok' if passed else 'not ok'} {n} - {name}" + (f" # SKIP {skip}" if skip else ""), flush=True)
            for line in said:
                note(line)
        print(f"1..{len(chosen)}", flush=True)
    except Interrupted as e:
        for signum in lbundo.ENDING:
            signal.signal(signum, signal.SIG_IGN)
        left = undo_all()
        print(f"Bail out! {e}", flush=True)
        note("\n".join(f"not undone: {x}" for x in left))
        sys.exit(128 + e.signum)
    sys.exit(1 if failed else 0)
