#!/usr/bin/python3
"""How runs end: by time, by count, by silence, by signals, by violence; and LUNs that hang cannot keep them from it."""

import datetime
import pathlib
import select
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

ENGINES = ("io_uring", "libaio", "sync")
OLD = '{\n  "schema": "lunbench-result/1"\n}\n'  # a result that may be replaced
# What a busy machine may add: to start a process, to wake it, to let it write its report. How long lunbench
# itself meant to wait is told by the ages and times in its report; what hangs here hangs far longer.
BUSY_S = 3
STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


# ---- many runs at a time

class Run:
    """A run with its own result file. Nobody reaps or kills it before finish(): what it leaves behind is to be seen."""

    made = 0

    def __init__(self, where, *args, **how):
        Run.made += 1
        self.path = pathlib.Path(where, f"{Run.made}.json")
        self.running = start("--json", self.path, *args, **how)
        self.began, self.ended, self.sent = time.monotonic(), None, None
        children = pathlib.Path(f"/proc/{self.running.pid}/task/{self.running.pid}/children")
        # the measuring process
        self.child = int(wait_for(lambda: children.read_text().split(), f"{self} has a child", 5, 0.001)[0])

    def __str__(self):
        return shlex.join(self.running.argv[1:])

    @property
    def age(self):
        return time.monotonic() - self.began

    def send(self, signum, group=False):
        self.sent, self.sent_utc = time.monotonic(), time.time()
        (os.killpg if group else os.kill)(self.running.pid, signum)

    @property
    def secs(self):
        return self.ended - self.began

    @property
    def secs_since_signal(self):
        return self.ended - self.sent

    def finish(self):
        self.result = self.running.wait(CMD_LIMIT_S + self.secs)
        self.out = self.result.out
        self.text = self.path.read_text() if self.path.exists() else None
        return self

    def expect(self, status, **texts):
        """As Result's; returns what the result file says."""
        self.result.expect(status, **texts)
        doc = parse_json(self.text, f"result of {self}")
        check_schema(doc, "schema/lunbench-result-1.schema.json")
        eq(doc["status"], status, "status in the result file")
        return doc


def opened_utc(doc):
    """When the window did, in seconds since 1970."""
    return datetime.datetime.fromisoformat(doc["start_utc"][:26] + "+00:00").timestamp()


def under_way(runs):
    """Waits until all of these, which have --progress always, are past the opening of their window."""
    for r in runs:
        wait_for(lambda r=r: re.search(r"^(?!warming).*xfer/sec", r.running.err_so_far(), re.MULTILINE), f"{r} is under way", 20)


class Frozen:
    """The LUN's freeze: all I/O handed over after `after` hangs, none handed over before `before` does."""

    def __init__(self, lun):
        self.before = time.time()
        lun.freeze()
        self.after = time.time()

    def judge_age(self, row, end_utc, what):
        """The oldest transfer hung since the freeze until the time at which lunbench stopped waiting."""
        between(row["outstanding_max_age_ns"] / 1e9, end_utc - self.after - 0.3, end_utc - self.before + 0.7, what)


def note_ends(runs, secs):
    """Waits so long, or until all have ended, and notes when each did."""
    fds = {os.pidfd_open(r.running.pid): r for r in runs if r.ended is None}
    poll = select.poll()
    for fd in fds:
        poll.register(fd, select.POLLIN)
    end = time.monotonic() + secs
    try:
        while any(r.ended is None for r in runs) and (left := end - time.monotonic()) > 0:
            for fd, _ in poll.poll(left * 1000):
                fds[fd].ended = time.monotonic()
                poll.unregister(fd)
    finally:
        for fd in fds:
            os.close(fd)


def lives(pid):
    """Whether any thread of the process is left. A zombie is none: to wait for it is up to others."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if not re.search(r"^State:\s+[ZX]", (task / "status").read_text(), re.MULTILINE):
                    return True
    return False


def finish_all(runs, let_go=lambda: None):
    """Waits for the ends of all, then lets the LUN go: what they left behind must go too. Returns how many did."""
    note_ends(runs, 30)
    ok(all(r.ended for r in runs), "no end after 30 s: " + "; ".join(str(r) for r in runs if not r.ended))
    left = [r for r in runs if lives(r.child)]
    let_go()
    wait_for(lambda: not any(lives(r.child) for r in left), "the measuring processes have gone", 3)
    for r in runs:
        r.finish()
    return len(left)


def once(fn):
    """The result of fn, worked out by the first test that wants it; to the others it is told that it failed."""
    kept = []

    def get():
        if not kept:
            kept.append("it was interrupted")
            try:
                kept[0] = (fn(),)
            except Exception as e:
                kept[0] = e
                raise
        if isinstance(kept[0], Skip):
            raise kept[0]
        ok(isinstance(kept[0], tuple), f"the runs that this looks at did not work out: {kept[0]}")
        return kept[0][0]
    return get


# ---- LUNs that hang

def hung_runs(where, secs, lun, good):
    return {(e, qd): Run(where, "--engine", e, "--qd", qd, "--size", "4k", "--time", secs, "--drain", "1", "--progress", "always", lun, good)
            for e in ENGINES for qd in (1, 32)}


@contextlib.contextmanager
def frozen_directory():
    """A directory in which every write hangs."""
    with scratch_file("256M") as image, tmpdir() as d:
        sh("mkfs.ext4", "-q", "-F", image)
        with loop(image) as disk, mounted(disk.path, d):
            with hold_signals():
                sh("fsfreeze", "--freeze", d)
                thaw = Undo(f"freeze of {d}", lambda: sh("fsfreeze", "--unfreeze", d))
            try:
                yield d
            finally:
                thaw()


@once
def frozen_before():
    with freezable("8M") as lun, loop_of("8M", "random") as good, tmpdir() as d, frozen_directory() as dead:
        unanswered = Run(d, "--scratch", f"1x1M@{dead}", good)
        lun.freeze()
        runs = hung_runs(d, 3, lun, good)
        time.sleep(0.5)
        # when these are under way, one that is deeper than the LUN's queue: there libaio's submit itself hangs
        full = Run(d, "--engine", "libaio", "--qd", "200", "--size", "4k", "--time", "1", "--drain", "1", lun, good)
        left = finish_all([*runs.values(), full], lun.thaw)
        note_ends([unanswered], 20)
        return runs, full, left, unanswered.finish()


@once
def frozen_midway():
    with freezable("8M") as lun, loop_of("8M", "random") as good, tmpdir() as d:
        runs = hung_runs(d, 6, lun, good)
        silent = {e: Run(d, "--engine", e, "--qd", "4", "--size", "4k", "--count", "1000000000", "--drain", "1", lun) for e in ENGINES}
        under_way(runs.values())
        frozen = Frozen(lun)
        finish_all([*runs.values(), *silent.values()], lun.thaw)
        return runs, silent, frozen


def judge_hung(r, qd, secs):
    """The report on two LUNs of which the first hung at the end of so long a run, with qd I/Os in flight."""
    doc = r.expect(1)
    between(r.secs, secs + 1, secs + 1 + doc["warmup_s"] + BUSY_S, "seconds to the prompt")
    eq((doc["complete"], doc["ended_by"], doc["window_s"]), (True, "time", secs), "the end")
    hung, fine = doc["luns"]
    eq((hung["outstanding"], doc["total"]["outstanding"]), (qd, qd), "outstanding, in total too")
    eq((hung["latency"]["max_ns"], hung["latency"]["max_is_lower_bound"]), (hung["outstanding_max_age_ns"], True), "max of the hung LUN")
    has(r.out, rf"^{hung['name']} .* >=\d+\.\d+$", "the table of latencies")
    out = re.search(rf"^{hung['name']} +{qd} STILL OUT, oldest ([0-9.]+) ?s", r.out, re.MULTILINE)
    near(float(out[1]) if out else None, hung["outstanding_max_age_ns"] / 1e9, "age in the report", abs=0.01)
    eq((fine["outstanding"], fine["errors"]), (0, 0), "outstanding and errors of the healthy LUN")
    ok(fine["latency"]["max_ns"] < 2e9, f"its max: {fine['latency']['max_ns']}")
    ok(fine["xfers"] > 100, f"its xfers: {fine['xfers']}")
    near(fine["xfer_per_s"], fine["xfers"] / secs, "its rate", rel=1e-9)
    eq(doc["total"]["xfers"], hung["xfers"] + fine["xfers"], "total xfers")
    return doc


for engine in ENGINES:
    for qd in (1, 32):
        @test(f"{engine}, qd {qd}: a LUN that hangs from the start costs no time, nor the other one's figures")
        def _(engine=engine, qd=qd):
            doc = judge_hung(frozen_before()[0][engine, qd], qd, 3)
            eq(doc["luns"][0]["xfers"], 0, "xfers of the hung LUN")
            ok(doc["warmup_s"] < 5.5, f"the window opened only after {doc['warmup_s']} s")
            all_s = doc["warmup_s"] + 4.0
            between(doc["luns"][0]["outstanding_max_age_ns"] / 1e9, all_s - 0.5, all_s + 0.7, "age of the oldest, s")

        @test(f"{engine}, qd {qd}: a LUN that hangs from midway on has its figures up to then")
        def _(engine=engine, qd=qd):
            runs, _, frozen = frozen_midway()
            doc = judge_hung(runs[engine, qd], qd, 6)
            frozen.judge_age(doc["luns"][0], opened_utc(doc) + 7.0, "age of the oldest, s")
            ok(doc["luns"][0]["xfers"] > 10, f"xfers of the hung LUN: {doc['luns'][0]['xfers']}")

    @test(f"{engine}: a run by count on which nothing is done any more ends after --drain, incomplete")
    def _(engine=engine):
        _, runs, frozen = frozen_midway()
        doc = runs[engine].expect(1, out="^INCOMPLETE: no LUN completed anything for 1s")
        between(doc["total"]["outstanding_max_age_ns"] / 1e9, 0.9, 2.5, "age of the oldest, s")
        eq((doc["complete"], doc["ended_by"], doc["signal"], doc["total"]["outstanding"]), (False, "stall", None, 4), "the end")


@test("a submit that hangs, of libaio into a full queue, is waited for no longer")
def _():
    r = frozen_before()[1]
    doc = r.expect(1)
    ok(doc["warmup_s"] < 5.5, f"the window opened only after {doc['warmup_s']} s")
    between(r.secs - doc["warmup_s"], 1.9, 2 + BUSY_S, "seconds from there to the prompt")
    eq((doc["window_s"], doc["luns"][0]["xfers"]), (1.0, 0), "window_s and xfers of the hung LUN")
    between(doc["luns"][0]["outstanding"], 1, 200, "outstanding")
    ok(doc["luns"][1]["xfers"] > 100, f"xfers of the healthy LUN: {doc['luns'][1]['xfers']}")


@test("what hangs in the kernel stays behind, and goes when the LUN is thawed")
def _():
    ok(frozen_before()[2] >= 4, f"only {frozen_before()[2]} measuring processes were stuck: the LUN did not hang")


@test("a target whose opening does not return is told, after 10 s, and is status 3")
def _():
    r = frozen_before()[3]
    why = "scratch0: no answer for 10 s"
    doc = r.expect(3, err=f"^lunbench: {why}$")
    between(r.secs, 10, 11.7 + BUSY_S, "seconds to the prompt")
    eq((r.out, doc["error"], doc["ended_by"], doc["complete"]), ("", why, "refused", False), "the end")


@test("a LUN held to one I/O a second: the time is kept, and what is queued is outstanding")
def _():
    with loop_of("8M", "random") as lun, contextlib.ExitStack() as stack, tmpdir() as d:
        groups = {e: stack.enter_context(throttle(lun, read_iops=1)) for e in ENGINES}
        runs = {e: Run(d, "--engine", e, "--qd", "16", "--size", "4k", "--time", "3", "--drain", "1", lun, cgroup=groups[e])
                for e in ENGINES}
        finish_all(runs.values(), lambda: [group.set(lun, read_iops=0) for group in groups.values()])
        for e, r in runs.items():
            doc = r.expect(1)
            row, all_s = doc["luns"][0], doc["warmup_s"] + 4.0
            between(r.secs, 3.9, all_s + BUSY_S, f"{e}: seconds to the prompt")
            between(row["xfers"], 1, 6, f"{e}: xfers")
            eq(row["outstanding"] + row["late"], 16, f"{e}: outstanding and late")
            between(row["late"], 0, 3, f"{e}: late")
            between(row["outstanding_max_age_ns"] / 1e9, all_s - 0.5, all_s + 0.7, f"{e}: age of the oldest, s")


# ---- signals

DRAINED = "6"  # the time of runs that are then in the drain


@once
def signalled():
    """A run for each case, all at once: on a LUN held to a rate, so that the CPUs are free, or on one that hangs."""
    with freezable("8M") as frozen, loop_of("8M", "random") as lun, throttle(lun, read_iops=1000) as group, tmpdir() as d:
        def go(*args, **how):
            return Run(d, "--qd", "2", "--size", "4k", "--progress", "always", *args, **how)

        runs = {}
        for signum, e in zip(STATUS, ENGINES):
            runs["ramp", signum] = go("--engine", e, "--ramp", "30", "--time", "30", lun, cgroup=group)
            runs["time", signum] = go("--engine", e, "--time", "30", lun, cgroup=group)
            runs["count", signum] = go("--engine", e, "--count", "1000000", lun, cgroup=group)
            runs["hung", signum] = go("--engine", e, "--time", "30", frozen)
            runs["twice", signum] = go("--engine", e, "--time", "30", frozen)
            runs["pair", signum] = go("--engine", e, "--time", "30", lun, cgroup=group)
            runs["drain", signum] = go("--engine", e, "--time", DRAINED, "--drain", "30", frozen)
        runs["drain twice", None] = go("--time", DRAINED, "--drain", "30", frozen)
        runs["terminal", None] = go("--time", "30", lun, cgroup=group)
        runs["nohup", None] = last = go("--time", DRAINED, lun, cgroup=group, before=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        for (case, _), r in runs.items():
            if "twice" in case:
                r.path.write_text(OLD)
        under_way([r for (case, _), r in runs.items() if case != "ramp"])
        freeze = Frozen(frozen)
        for r in runs.values():
            r.freeze = freeze
        note_ends(runs.values(), 0.5)
        for (case, signum), r in runs.items():
            if case in ("ramp", "time", "count", "hung", "twice", "pair"):
                r.send(signum)
        runs["terminal", None].send(signal.SIGINT, group=True)
        last.send(signal.SIGHUP)
        for signum in STATUS:  # some have ended by now, and are not reaped yet
            runs["pair", signum].send(signum)
        note_ends(runs.values(), 0.4)
        for signum in STATUS:
            runs["twice", signum].send(signum)
        # the last to begin: when it has ended, all of the drains have begun
        while last.ended is None and last.age < 30:
            note_ends(runs.values(), 0.2)
        note_ends(runs.values(), 0.5)
        for signum in STATUS:
            runs["drain", signum].send(signum)
        runs["drain twice", None].send(signal.SIGINT)
        note_ends(runs.values(), 0.4)
        runs["drain twice", None].send(signal.SIGINT)
        finish_all(runs.values(), frozen.thaw)
        eq(sorted(os.listdir(d)), sorted(r.path.name for r in runs.values()), "files beside the results")
        return runs


def judge_stopped(r, signum):
    """Stopped inside the run: an incomplete report, soon."""
    doc = r.expect(STATUS[signum], out=f"^INCOMPLETE: stopped by {signum.name}")
    ok(r.secs_since_signal < 1.5 + BUSY_S, f"{r.secs_since_signal:.2f} s from the signal to the prompt")
    eq((doc["complete"], doc["ended_by"], doc["signal"]), (False, "signal", signum.name), "the end")
    return doc


def judge_ended_at_once(r, signum):
    r.result.expect(STATUS[signum])
    ok(r.secs_since_signal < 1, f"{r.secs_since_signal:.2f} s from the second signal to the prompt")
    eq((r.out, r.text), ("", OLD), "the report and the result file that was there")


for signum in STATUS:
    @test(f"{signum.name} in the warm-up: nothing was measured, and the report says so")
    def _(signum=signum):
        r = signalled()["ramp", signum]
        doc = judge_stopped(r, signum)
        eq((doc["window_s"], doc["start_utc"], doc["total"]["xfers"], doc["total"]["latency"]["max_ns"]), (None, None, 0, None), "figures")
        has(r.out, "before the measured time began: nothing was measured", "the report")

    @test(f"{signum.name} in the window: what was measured up to then")
    def _(signum=signum):
        for how in ("time", "count"):
            r = signalled()[how, signum]
            doc = judge_stopped(r, signum)
            near(opened_utc(doc) + doc["window_s"], r.sent_utc, "when the window closed", abs=0.5)
            ok(doc["total"]["xfers"] > 10, f"xfers: {doc['total']['xfers']}")
            near(doc["total"]["xfer_per_s"], doc["total"]["xfers"] / doc["window_s"], "rate", rel=1e-6)
            eq(doc["total"]["outstanding"], 0, "outstanding")

    @test(f"{signum.name} while a LUN hangs: a report all the same")
    def _(signum=signum):
        r = signalled()["hung", signum]
        doc = judge_stopped(r, signum)
        eq(doc["total"]["outstanding"], 2, "outstanding")
        r.freeze.judge_age(doc["total"], r.sent_utc + 1.5, "age of the oldest when it was given up, s")

    @test(f"two {signum.name} that come as one stop leave a report")
    def _(signum=signum):
        doc = judge_stopped(signalled()["pair", signum], signum)
        ok(doc["total"]["xfers"] > 10, f"xfers: {doc['total']['xfers']}")

    @test(f"a second {signum.name} ends it at once, and the result file that was there stays")
    def _(signum=signum):
        judge_ended_at_once(signalled()["twice", signum], signum)

    @test(f"{signum.name} after the window only cuts the drain")
    def _(signum=signum):
        r = signalled()["drain", signum]
        doc = r.expect(1)
        between(r.secs_since_signal, 1.3, 1.5 + BUSY_S, "seconds from the signal to the prompt")
        eq((doc["complete"], doc["ended_by"], doc["signal"], doc["window_s"]), (True, "time", None, float(DRAINED)), "the end")
        eq(doc["total"]["outstanding"], 2, "outstanding")
        r.freeze.judge_age(doc["total"], r.sent_utc + 1.5, "age of the oldest when it was given up, s")


@test("timeout(1), which signals the command and its group, always leaves a report")
def _():
    with loop_of("8M", "random") as lun, tmpdir() as d:
        for secs in ("0.4", "0.5", "0.45", "0.6") * 3:
            path = pathlib.Path(d, "r.json")
            r = run("timeout", secs, program(), "--time", "5", "--json", path, lun).expect(124, out="^INCOMPLETE: stopped by SIGTERM")
            doc = parse_json(path.read_text(), "the file")
            eq((doc["status"], doc["signal"], r.err), (143, "SIGTERM", ""), "the end")
            path.unlink()


@test("two signals in the drain end it at once")
def _():
    judge_ended_at_once(signalled()["drain twice", None], signal.SIGINT)


@test("a Ctrl-C reaches the measuring process too, which leaves it to the other")
def _():
    doc = judge_stopped(signalled()["terminal", None], signal.SIGINT)
    ok(doc["total"]["xfers"] > 10, f"xfers: {doc['total']['xfers']}")


@test("a signal that was ignored at the start (nohup) stays ignored")
def _():
    doc = signalled()["nohup", None].expect(0)
    eq((doc["complete"], doc["signal"], doc["window_s"]), (True, None, float(DRAINED)), "the end")


@test("a drain that a signal cuts short, but not too short: late is late, and the status 0")
def _():
    with freezable("8M") as lun, tmpdir() as d:
        runs = [Run(d, "--engine", e, "--qd", "2", "--time", "3", "--drain", "30", "--progress", "always", lun) for e in ENGINES]
        under_way(runs)
        freeze = Frozen(lun)
        wait_for(lambda: all(re.search("^waiting for 2 I/Os", r.running.err_so_far(), re.MULTILINE) for r in runs), "the drain has begun")
        for r in runs:
            r.send(signal.SIGTERM)
        time.sleep(0.3)
        began_s = time.time() - freeze.after
        lun.thaw()
        thawed, ended_s = time.monotonic(), time.time() - freeze.before
        finish_all(runs)
        for r in runs:
            ok(r.ended - thawed < BUSY_S, f"{r.ended - thawed:.2f} s from the thaw to the prompt")
            doc = r.expect(0, out="late")
            eq((doc["complete"], doc["signal"], doc["total"]["late"], doc["total"]["outstanding"]), (True, None, 2, 0), "the end")
            between(doc["total"]["late_max_ns"] / 1e9, began_s - 0.1, ended_s + 0.5, "late_max, s")
            eq((doc["total"]["latency"]["max_ns"], doc["total"]["latency"]["max_is_lower_bound"]), (doc["total"]["late_max_ns"], True), "max")


@test("signals while scratch files are filled: nothing was begun, nothing is left")
def _():
    with tmpdir() as d, tmpdir() as results:
        need(shutil.disk_usage(d).free > 20 << 30, "needs 20 GB")
        runs = {signum: Run(results, "--scratch", f"1x4G@{d}", "--time", "30") for signum in STATUS}
        time.sleep(0.3)
        for signum, r in runs.items():
            r.send(signum)
        finish_all(runs.values())
        eq(os.listdir(d), [], "files in the scratch directory")
        for signum, r in runs.items():
            ok(r.secs_since_signal < BUSY_S, f"{r.secs_since_signal:.2f} s from the signal to the prompt")
            doc = r.expect(STATUS[signum])
            eq((doc["complete"], doc["ended_by"], doc["signal"], doc["window_s"]), (False, "signal", signum.name, None), "the end")
            eq((r.out, doc["luns"], doc["targets"][0]["fate"]), ("", [], "unknown"), "report, LUNs, target")
            why = f"stopped by {signum.name} before anything was measured"
            eq((r.result.err, doc["error"]), (f"lunbench: {why}\n", why), "stderr and error")


@test("a signal while the report is written is borne, and others that come with it; a later one ends it at once")
def _():
    for pauses, status in (([0.2], 0), ([0.2, 0.05], 0), ([0.2, 0.4], 130), ([0.2, 0.05, 0.4], 130)):
        with loop_of("8M", "random") as lun, tmpdir() as d:
            out, into = os.pipe()
            os.set_blocking(into, False)
            with contextlib.suppress(BlockingIOError):
                while os.write(into, bytes(4096)):
                    pass
            os.set_blocking(into, True)
            r = Run(d, "--time", "0.2", lun, stdout=into)
            os.close(into)
            r.path.write_text(OLD)
            wait_for(lambda: not lives(r.child), "the run is over", 20)
            for pause in pauses:
                time.sleep(pause)
                r.send(signal.SIGINT)
            if status == 0:
                note_ends([r], 0.5)  # the time in which more may come is over
                eq(r.ended, None, "the end, while nobody reads")
                while os.read(out, 65536):
                    pass
            finish_all([r])
            os.close(out)
            r.result.expect(status)
            ok(status == 0 or r.secs_since_signal < BUSY_S, "not at once")
            if status == 0:
                eq(r.expect(0)["complete"], True, "complete")
            else:
                eq(r.text, OLD, "the result that was there")


# ---- violence

@test("a supervising process that is killed takes the measuring one with it, and the LUN is free")
def _():
    for engine in ENGINES:
        with loop_of("8M", "random") as lun, tmpdir() as d:
            r = Run(d, "--engine", engine, "--qd", "4", "--time", "30", "--progress", "always", lun)
            r.path.write_text(OLD)
            under_way([r])
            r.send(signal.SIGKILL)
            wait_for(lambda: not lives(r.child), f"{engine}: the measuring process has gone", BUSY_S)
            sh("losetup", "--detach", lun.path)
            wait_for(lambda: not (lun.sys / "loop").exists(), f"{engine}: the LUN is let go", BUSY_S)
            finish_all([r])
            r.result.expect(-signal.SIGKILL)
            eq((r.text, os.listdir(d)), (OLD, [r.path.name]), "the old result, and files")


@test("a measuring process that is killed: what was measured is reported, as incomplete")
def _():
    with loop_of("8M", "random") as lun, tmpdir() as d:
        for how in (["--time", "30"], ["--count", "1000000000"]):
            how += ["--qd", "4", "--progress", "always", lun]
            runs = {e: Run(d, "--engine", e, *how) for e in ENGINES}
            # as some callers leave it to what they start
            runs["auto"] = Run(d, *how, before=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
            under_way(runs.values())
            for r in runs.values():
                r.sent, r.sent_utc = time.monotonic(), time.time()
                os.kill(r.child, signal.SIGKILL)
            finish_all(runs.values())
            for e, r in runs.items():
                doc = r.expect(1, out="^INCOMPLETE: the measuring process was killed by SIGKILL")
                ok(r.secs_since_signal < BUSY_S, f"{r.secs_since_signal:.2f} s from its death to the prompt")
                eq((doc["complete"], doc["ended_by"], doc["signal"]), (False, "failure", None), "the end")
                near(opened_utc(doc) + doc["window_s"], r.sent_utc, "when the window closed", abs=0.5)
                total = doc["total"]
                ok(total["xfers"] > 100, f"xfers: {total['xfers']}")
                # each of its threads may have been killed between two lines
                near(sum(n for _, _, n in total["histogram_ns"]), total["xfers"], "xfers in the histogram", abs=4)
                near(total["bytes"], total["xfers"] * 8192, "bytes", abs=4 * 8192)


# ---- by count and by time

@test("--count: one LUN has exactly so many, none has more, and it ends for all")
def _():
    # of one speed, so that more than one comes near to the end at a time
    with loop_of("8M", "random") as a, loop_of("8M", "random") as b, zram("16M") as c:
        for n in (1, 31, 32, 33, 1000):
            for engine, qd, threads in (("io_uring", 32, 1), ("io_uring", 32, 2), ("libaio", 32, 1), ("libaio", 32, 2), ("sync", 8, 1)):
                r = lunbench("--engine", engine, "--qd", qd, "--threads-per-lun", threads, "--count", n, "--time", "30",
                             "--size", "4k", "--json", "-", a, b, c)
                what = f"{engine}, {threads} threads, {n}"
                doc = r.expect((0, 1)).json
                xfers = [row["xfers"] for row in doc["luns"]]
                eq((max(xfers), doc["complete"], doc["ended_by"]), (n, True, "count"), f"{what}: most xfers, the end")
                eq(r.status, 0 if min(xfers) else 1, f"{what}: status")
                ok(doc["window_s"] < 20, f"{what}: window_s {doc['window_s']}")
                for row in (*doc["luns"], doc["total"]):
                    eq(row["bytes"], row["xfers"] * 4096, f"{what}: bytes")
                    eq(sum(x for _, _, x in row["histogram_ns"]), row["xfers"], f"{what}: xfers in the histogram")
                eq(doc["total"]["xfers"], sum(xfers), f"{what}: total")


@test("--count and --time: what comes first")
def _():
    with loop_of("8M", "random") as lun, throttle(lun, read_iops=200) as group:
        args = ("--qd", "1", "--size", "4k", "--json", "-", lun)
        doc = lunbench("--count", "1000000", "--time", "0.5", *args, cgroup=group).expect(0).json
        eq((doc["ended_by"], doc["complete"], doc["window_s"]), ("time", True, 0.5), "the end by time")
        doc = lunbench("--count", "100", "--time", "30", *args, cgroup=group).expect(0).json
        eq((doc["ended_by"], doc["complete"], doc["total"]["xfers"]), ("count", True, 100), "the end by count")
        # one at a time: the window is what they took, at 200 a second or slower
        took = doc["total"]["latency"]  # the first was under way when the window opened
        between(took["mean_ns"] * 100, 0.7e9 * doc["window_s"], 1e9 * doc["window_s"] + took["max_ns"], "ns that the 100 took")
        between(doc["window_s"], 0.35, 10, "window_s")


@test("a run by count on which everything fails ends after --drain, incomplete")
def _():
    with loop_of("8M", "random") as lun, tmpdir() as d:
        os.truncate(lun.backing, 0)
        runs = [Run(d, "--engine", e, "--count", "10", "--drain", "1", "--max-errors", "0", lun) for e in ENGINES]
        finish_all(runs)
        for r in runs:
            doc = r.expect(1)
            eq((doc["complete"], doc["ended_by"], doc["total"]["xfers"]), (False, "stall", 0), "the end")
            ok(doc["total"]["errors"] > 0, "no errors")
            between(r.secs, 0.9, 2.5 + BUSY_S, "seconds")


@test("on a virtual clock too, a run by count on which nothing is done any more is incomplete")
def _():
    for script in ("stall:50ms:1000s", "gone:50ms:EIO"):
        doc = lunbench("--engine", "null", "--null-latency", "5ms", "--null-script", script, "--scratch", "1x1M", "--qd", "2",
                       "--count", "1000", "--drain", "2", "--json", "-").expect(1).json
        eq((doc["complete"], doc["ended_by"], doc["total"]["xfers"]), (False, "stall", 18), f"{script}: the end")
        near(doc["window_s"], 2.05, f"{script}: window_s", abs=0.15)


@test("a run by count with --drain 0 is not over before it has begun")
def _():
    with loop_of("8M", "random") as lun, throttle(lun, read_iops=100) as group:
        for engine in ENGINES:
            doc = lunbench("--engine", engine, "--qd", "1", "--count", "30", "--drain", "0", "--json", "-", lun, cgroup=group).expect((0, 1)).json
            eq((doc["ended_by"], doc["complete"], doc["total"]["xfers"]), ("count", True, 30), "the end")


@test("a window too short for one I/O: nulls and status 1")
def _():
    with loop_of("8M", "random") as lun, throttle(lun, read_iops=20) as group:
        doc = lunbench("--qd", "1", "--time", "0.0001", "--json", "-", lun, cgroup=group).expect(1).json
        check_schema(doc, "schema/lunbench-result-1.schema.json")
        eq((doc["window_s"], doc["complete"], doc["total"]["xfers"], doc["total"]["xfer_per_s"]), (0.0001, True, 0, 0), "figures")
        latency = doc["total"]["latency"]
        eq({k: v for k, v in latency.items() if k.endswith("_ns") and k != "max_ns" and v is not None}, {}, "latencies")
        eq(doc["cpu"]["user_us_per_xfer"], None, "CPU per xfer")


@test("--ramp: the warm-up is in no figure, and the start told is the window's")
def _():
    with loop_of("8M", "random") as lun, throttle(lun, read_iops=200) as group:
        began = time.time()
        doc = lunbench("--qd", "4", "--size", "4k", "--ramp", "1", "--time", "1", "--json", "-", lun, cgroup=group).expect(0).json
        between(doc["warmup_s"], 1.0, 1.0 + BUSY_S, "warmup_s")
        between(opened_utc(doc) - began, doc["warmup_s"], doc["warmup_s"] + BUSY_S, "seconds from the call to start_utc")
        row = doc["luns"][0]
        between(row["xfers"], 50, 240, "xfers, of which a second has 200 at most")
        ok(row["ios_issued"] - row["xfers"] > 50, f"{row['ios_issued']} issued, {row['xfers']} xfers: no warm-up")
        eq(sum(n for _, _, n in row["histogram_ns"]), row["xfers"], "xfers in the histogram")


main()
