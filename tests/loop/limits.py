#!/usr/bin/python3
"""Hosts that refuse an engine, or part of it, and limits that are too low: what is said, and what is run all the same."""

import ctypes
import errno
import pathlib
import platform
import resource
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

LIBC = ctypes.CDLL(None, use_errno=True)
CALLS = {"io_setup": 206, "io_destroy": 207, "io_getevents": 208, "io_uring_setup": 425, "io_uring_enter": 426}
SOMEONE = 54321  # a user of whom there are no other processes


def forbid(error, *calls):
    """For `before`: these system calls fail with the error, as a container's filter has it."""
    need(platform.machine() == "x86_64", "needs x86_64, for the numbers of system calls")
    steps = [struct.pack("HBBI", 0x20, 0, 0, 0)]  # the call's number
    for i, call in enumerate(calls):
        steps.append(struct.pack("HBBI", 0x15, len(calls) - i, 0, CALLS[call]))  # is it this one?
    steps += [struct.pack("HBBI", 6, 0, 0, 0x7FFF0000), struct.pack("HBBI", 6, 0, 0, 0x50000 | error)]
    code = ctypes.create_string_buffer(b"".join(steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code)))

    def install():
        if LIBC.prctl(38, 1, 0, 0, 0) or LIBC.prctl(22, 2, ctypes.byref(program), 0, 0):
            os._exit(99)
        code  # must live until here
    return install


def as_someone(**limits):
    """For `before`: an ordinary user, with these limits."""
    need_root()

    def become():
        for name, value in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))
        os.setgroups([])
        os.setgid(SOMEONE)
        os.setuid(SOMEONE)
    return become


def held_to(memlock):
    """For `before`: root, but may lock so many bytes and no more."""
    need_root()

    def become():
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (memlock, memlock))
        if LIBC.prctl(24, 14, 0, 0, 0):  # CAP_IPC_LOCK is not to be had any more
            os._exit(99)
    return become


def public(path):
    """A file that everyone can reach."""
    os.chmod(path, 0o644)
    os.chmod(os.path.dirname(path), 0o755)
    return path


def lunbench_as(before, *args):
    try:
        return lunbench(*args, before=before)
    except PermissionError:
        raise Skip("needs a program that others may run") from None


QUICK = ("--size", "4k", "--time", "0.3")
WHY = {errno.EPERM: "io_uring: not permitted: kernel.io_uring_disabled is set, or a container's filter forbids it",
       errno.ENOSYS: "io_uring: not there: the kernel is older than 5.1, or a container's filter hides it"}


# ---- engines that are refused

for error, why in WHY.items():
    name = errno.errorcode[error]

    @test(f"io_uring refused with {name}: asked for by name it is status 3, with the likely cause, and nothing is read")
    def _(error=error, why=why):
        with loop_of("8M", "random") as lun:
            before = lun.stat()
            r = lunbench(*QUICK, "--engine", "io_uring", "--json", "-", lun, before=forbid(error, "io_uring_setup")).expect(3)
            eq(r.err, f"lunbench: {why}\n", "stderr")
            eq((r.json["complete"], r.json["ended_by"], r.json["error"]), (False, "refused", why), "the end")
            # the one look at NOWAIT
            between((lun.stat() - before).reads, 0, 1, "reads")

    @test(f"io_uring refused with {name}: auto takes libaio and says why")
    def _(error=error, why=why):
        with scratch_file("8M", "random") as f:
            r = lunbench(*QUICK, "--json", "-", f, before=forbid(error, "io_uring_setup")).expect(0)
            engine = r.json["engine"]
            eq((engine["asked"], engine["used"], engine["why"]), ("auto", "libaio", why), "engine")
            text = lunbench(*QUICK, f, before=forbid(error, "io_uring_setup")).expect(0).out
            has(" ".join(text.split()), re.escape(why), "the report")


@test("libaio refused: status 3 with the likely cause; with io_uring gone too auto says it of libaio")
def _():
    with scratch_file("8M", "random") as f:
        why = "libaio: Function not implemented: the kernel was built without it, or a container's filter hides it"
        for args, calls in ((["--engine", "libaio"], ["io_setup"]), ([], ["io_setup", "io_uring_setup"])):
            r = lunbench(*QUICK, *args, f, before=forbid(errno.ENOSYS, *calls)).expect(3)
            eq((r.out, r.err), ("", f"lunbench: {why}\n"), "stdout and stderr")


@test("without libaio io_uring still finds out about NOWAIT")
def _():
    with loop_of("8M", "random") as lun, zram("16M") as disk:
        doc = lunbench(*QUICK, "--engine", "io_uring", "--json", "-", lun, disk, before=forbid(errno.ENOSYS, "io_setup")).expect(0).json
        eq([row["nowait"] for row in doc["luns"]], [True, False], "nowait")
        eq([f["lun"] for f in doc["findings"] if f["code"] == "uring-punts"], [str(disk)], "findings")


@test("an engine that fails in the run ends it at once, as a failure")
def _():
    with loop_of("8M", "random") as lun:
        for engine, call in (("io_uring", "io_uring_enter"), ("libaio", "io_getevents")):
            for end in (["--time", "30"], ["--count", "1000000000"]):
                r = lunbench("--engine", engine, "--qd", "64", *end, "--json", "-", lun, before=forbid(errno.EPERM, call)).expect(1)
                doc = r.json
                check_schema(doc, "schema/lunbench-result-1.schema.json")
                eq((doc["complete"], doc["ended_by"], doc["error"]), (False, "failure", f"worker 0: {engine} failed: Operation not permitted"), "the end")
                ok(r.secs < 5, f"{engine}: {r.secs:.1f} s")


# ---- limits

class AioContexts:
    """All but so many of the host's aio slots, taken."""

    def __init__(self, leave):
        self.held = []
        free = int(self.read("max-nr")) - int(self.read("nr"))
        while free > leave:
            ctx = ctypes.c_ulong(0)
            n = min(free - leave, 32768)
            if LIBC.syscall(CALLS["io_setup"], n, ctypes.byref(ctx)):
                raise OSError(ctypes.get_errno(), "io_setup")
            self.held.append(ctx)
            free -= n

    @staticmethod
    def read(name):
        return pathlib.Path(f"/proc/sys/fs/aio-{name}").read_text().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for ctx in self.held:
            LIBC.syscall(CALLS["io_destroy"], ctx)


@test("fs.aio-max-nr exhausted: status 3 with the need, what is in use, the limit and its setting; nothing is left in use")
def _():
    with scratch_file("8M", "random") as a, scratch_file("8M", "random") as b:
        for _ in range(20):  # until nobody else on this host has taken or given back any meanwhile
            with AioContexts(leave=96) as held:
                before = held.read("nr")
                r = lunbench(*QUICK, "--engine", "libaio", "--qd", "64", "--workers", "2", a, b)
                after = held.read("nr")
            if r.status == 3 and before == after:
                break
            time.sleep(0.3)
        r.expect(3)
        limit = AioContexts.read("max-nr")
        has(r.err, rf"^lunbench: the run needs 128 aio slots, and fs.aio-max-nr leaves 96 \({before} of {limit} in use\): raise it "
            rf"\(sysctl -w fs.aio-max-nr={int(before) + 128}\), or take a smaller --qd, or --engine io_uring$", "stderr")
        eq(r.out, "", "stdout")
        near(int(after), int(before), "aio slots in use", abs=0)


@test("locked memory for none of the buffers: io_uring runs without registered ones and says so")
def _():
    with scratch_file("8M", "random") as f:
        r = lunbench_as(as_someone(MEMLOCK=64 << 10), *QUICK, "--engine", "io_uring", "--qd", "64", "--json", "-", public(f)).expect(0)
        notes = r.json["engine"]["notes"]
        need(notes or platform.release() < "5.12", "this user may lock memory all the same")
        eq(notes, ["io_uring without registered buffers: they need 2048 KiB of locked memory, ulimit -l is 64 KiB"], "notes")
        ok(r.json["total"]["xfers"] > 0, "no xfers")
        r = lunbench_as(as_someone(MEMLOCK=64 << 10), *QUICK, "--engine", "io_uring", "--qd", "1024", f).expect(3)
        eq(r.err, "lunbench: io_uring: no ring of 1024 entries: it needs 100 KiB of locked memory, ulimit -l is 64 KiB: raise that, "
           "or take --engine libaio\n", "stderr for a ring that is too large")


@test("locked memory for the buffers, in whole huge pages, is what check asks for and what a run registers")
def _():
    with scratch_file("3M") as f:
        # 8 slots of 8k: 2 MiB of their own; and the pool, of 416 pieces, 4 MiB: with a ring of a few pages beside them
        for op, mib in (("read", 2), ("write", 4), ("rw", 6)):
            for kib, fits in ((mib * 1024 - 4, False), (mib * 1024 + 256, True)):
                shape = ["--op", op, *(["--allow-write"] if op != "read" else []), "--engine", "io_uring", "--size", "8k", "--qd", "8"]
                r = lunbench("check", *shape, "--json", "-", f, before=held_to(kib << 10))
                eq([x["text"] for x in r.json["findings"] if x["code"] == "locked-memory"],
                   [] if fits else [f"io_uring will do without registered buffers: they need {mib}M of locked memory, and RLIMIT_MEMLOCK "
                                    f"(ulimit -l) is {kib}k"], f"{op}, {kib} KiB: findings of check")
                r = lunbench(*shape, "--count", "50", "--json", "-", f, before=held_to(kib << 10)).expect(0)
                eq(r.json["engine"]["notes"], [] if fits else [f"io_uring without registered buffers: they need {mib * 1024} KiB of locked "
                                                               f"memory, ulimit -l is {kib} KiB"], f"{op}, {kib} KiB: notes of a run")


@test("too few processes for sync's threads: status 3 with how many there are to be, and the limits")
def _():
    with scratch_file("8M", "random") as f:
        r = lunbench_as(as_someone(NPROC=20), *QUICK, "--engine", "sync", "--qd", "64", public(f)).expect(3)
        has(r.err, r"^lunbench: the run needs 64 threads, and ulimit -u leaves 18 \(2 of 20 in use\): raise it \(ulimit -u 66\), "
            r"or take a smaller --qd \(engine sync\) or fewer --workers$", "stderr")
        eq(r.out, "", "stdout")
        r = lunbench_as(as_someone(NPROC=1), *QUICK, f).expect(3)
        has(r.err, "^lunbench: cannot start the measuring process: .*ulimit -u", "stderr")


@test("too few open files for the LUNs: status 3 with the need, the limit and its setting")
def _():
    with scratch_file("8M", "random") as f:
        r = lunbench_as(as_someone(NOFILE=33), *QUICK, public(f)).expect(3)
        eq((r.out, r.err), ("", "lunbench: 1 LUN and 1 worker need 34 open files, the limit (ulimit -n) is 33\n"), "stdout and stderr")
        with scratch_file("8M", "random") as g:
            r = lunbench_as(as_someone(NOFILE=33), *QUICK, "--threads-per-lun", "2", "--workers", "3", public(f), public(g)).expect(3)
            eq(r.err, "lunbench: 2 LUNs and 3 workers need 37 open files, the limit (ulimit -n) is 33\n", "stderr")
        for engine in ("io_uring", "libaio", "sync"):  # and what it says is enough
            lunbench_as(as_someone(NOFILE=34), *QUICK, "--engine", engine, "--qd", "2", public(f)).expect(0)


@test("too little address space or memory: status 3 with what takes it")
def _():
    with scratch_file("8M", "random") as f:
        r = lunbench_as(as_someone(AS=256 << 20), "--qd", "4096", "--size", "1M", public(f)).expect(3)
        has(r.err, r"^lunbench: .*(buffers of one worker take 4096 MiB|address space)", "stderr")
        eq(r.out, "", "stdout")
        r = lunbench_as(as_someone(DATA=3 << 20), *QUICK, "--qd", "2", public(f)).expect(3)
        eq(r.err, "lunbench: out of memory: the buffers of one worker take 2 MiB (LUNs x --qd x --size, in huge pages); "
           "see ulimit -v and -d\n", "stderr")


main()
