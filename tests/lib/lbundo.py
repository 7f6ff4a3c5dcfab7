"""What must be undone when a test ends, however it ends; part of lbtest."""

import contextlib
import os
import shlex
import signal
import subprocess

CMD_LIMIT_S = 60  # for one command
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Skip(Exception):
    """The test cannot run here; the text is the reason."""


class Interrupted(BaseException):
    """A signal asked for the end; not an Exception, so that no test can swallow it."""

    def __init__(self, signum):
        super().__init__(signal.Signals(signum).name)
        self.signum = signum


class TooLong(Exception):
    """The test went past its limit."""


def need(condition, reason):
    """Skips the test unless the condition holds."""
    if not condition:
        raise Skip(reason)


def need_root():
    need(os.geteuid() == 0, "needs root")


_hold_depth = 0
_held_signal = None


def on_signal(signum, _frame):
    global _held_signal
    if _hold_depth:
        if signum != signal.SIGALRM or not _held_signal:
            _held_signal = signum
    elif signum == signal.SIGALRM:
        raise TooLong("still running at its time limit")
    else:
        raise Interrupted(signum)


@contextlib.contextmanager
def hold_signals():
    """Signals wait until the block is over: for a thing to be made and its undo noted as one step."""
    global _hold_depth, _held_signal
    _hold_depth += 1
    try:
        yield
    finally:
        _hold_depth -= 1
        if not _hold_depth and _held_signal:
            signum, _held_signal = _held_signal, None
            on_signal(signum, None)


_undos = []


class Undo:
    """One thing to be undone: by calling it, or at the latest when the test is over."""

    def __init__(self, what, fn):
        self.what, self.fn = what, fn
        _undos.append(self)

    def __call__(self):
        with hold_signals():
            if self in _undos:
                _undos.remove(self)
                self.fn()


def undo_all():
    """Undoes all that is left, newest first; returns what could not be undone."""
    failed = []
    while _undos:
        undo = _undos[-1]
        try:
            undo()
        except Exception as e:  # the others still have to go
            failed.append(f"{undo.what}: {e}")
    return failed


def sh(*argv, limit=CMD_LIMIT_S, input=None):
    """Runs a helper command of the test itself and returns its stdout; it must succeed."""
    # its own session: a Ctrl-C must not stop it half-way, only us
    done = subprocess.run(argv, capture_output=True, text=True, timeout=limit, input=input,
                          stdin=subprocess.DEVNULL if input is None else None, start_new_session=True)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(argv)}: status {done.returncode}: {done.stderr.strip()}")
    return done.stdout.strip()
