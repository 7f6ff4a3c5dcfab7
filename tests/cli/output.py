#!/usr/bin/python3
"""Where results go: stdout, stderr and --json FILE, when they are closed, full, missing or a LUN."""

import fcntl
import hashlib
import pathlib
import resource
import signal
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

# a run that takes no time and no device
RUN = ["--engine", "null", "--qd", "2", "--time", "20ms", "--scratch", "1x1M"]
MISSING = "/dev/lunbench-test-is-not-there"
OLD = '{\n  "schema": "lunbench-result/1"\n}\n'  # a result that may be replaced


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
    ok(r.secs < 20, f"it took {r.secs:.1f} s")


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
        kept.write_text(OLD)
        os.chmod(kept, 0o444)
        refused_at_once(lunbench_as_nobody(*LONG, "--json", kept), 4, f"cannot write {kept}: Permission denied")
        eq(kept.read_text(), OLD, "the old file")


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
        real.write_text(OLD + "x" * 100000)
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
        kept.write_text(OLD)
        with open(f"{d}/fill", "wb", buffering=0) as f, contextlib.suppress(OSError):
            while f.write(bytes(4096)):
                pass
        lunbench(*RUN, "--json", kept).expect(4, out=r"^Total ", err=rf"^lunbench: cannot write {kept}: No space left on device$")
        eq(kept.read_text(), OLD, "the old file")
        eq(sorted(os.listdir(d)), ["fill", "old.json"], "files")


@test("a usage error writes no JSON, a refused target does: alone on stdout")
def _():
    with tmpdir() as d:
        path = pathlib.Path(d, "r.json")
        path.write_text(OLD)
        lunbench("--size", "16q", "--json", path, MISSING).expect(2)
        eq(path.read_text(), OLD, "the file after a usage error")
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


# ---- what must not be eaten

def refused_and_whole(path, *args, why, **how):
    before = file_sha(path)
    refused_at_once(lunbench("--time", "100s", "--json", path, *args, **how), 2, f"--json: {path} {why}")
    eq(file_sha(path), before, "the file's content")


@test("--json FILE that is a target, behind one, the list of them, or swap, is refused and stays whole")
def _():
    missing = "is the file name for it missing?"
    with scratch_file("4M", "random") as a, scratch_file("4M", "random") as b, tmpdir() as d:
        refused_and_whole(a, b, a, why=f"is a target too: {missing}")
        os.symlink(a, f"{d}/link")
        refused_and_whole(f"{d}/link", a, why=f"is a target too: {missing}")
        os.link(a, hard := f"{a}.hard")
        try:
            refused_and_whole(hard, a, why=f"is a target too: {missing}")
        finally:
            os.unlink(hard)
        made = pathlib.Path(d, "made.json")  # a target that begins as a result does
        made.write_text(OLD + " " * 65536)
        refused_and_whole(made, made, why=f"is a target too: {missing}")
        with loop(made) as lun:
            refused_and_whole(made, lun, why="is behind a loop device: is the file name missing?")
        luns = pathlib.Path(d, "luns")
        luns.write_text(f"{a}\n{b}\n")
        refused_and_whole(luns, "--targets", luns, why="is the list of targets: give another name")


@test("--json FILE that is swap is refused and stays whole")
def _():
    need_root()
    with scratch_file("1M") as f:
        pathlib.Path(f).write_bytes(bytes(1 << 20))
        os.chmod(f, 0o600)
        sh("mkswap", "-q", f)
        with hold_signals():
            sh("swapon", f)
            off = Undo(f"swap on {f}", lambda: sh("swapoff", f))
        try:
            refused_and_whole(f, "--scratch", "1x1M", why="is swap: give another name")
        finally:
            off()


@test("--json FILE that holds no result is refused and stays whole; an empty one will do")
def _():
    with tmpdir() as d, scratch_file("4M", "random") as lun:
        path = pathlib.Path(d, "t1.img")
        for content, size in ((b"{}", "2 bytes"), (bytes(65536), "64k"), (b" " + OLD.encode(), f"{len(OLD) + 1} bytes"),
                              (b'{"schema": "other-result/1"}', "28 bytes")):
            path.write_bytes(content)
            refused_and_whole(path, lun, why=f"is a file of {size} that is no result of lunbench: give another name, or remove it")
        path.write_bytes(b"")
        lunbench(*RUN, "--json", path).expect(0)
        for command in (["list", lun], ["check", lun], RUN):  # each replaces the one before
            lunbench(*command, "--json", path).expect((0, 1))
        eq(parse_json(path.read_text())["schema"], "lunbench-result/1", "the last")


@test("a standard output that is a block device is refused")
def _():
    with loop_of("4M", "random") as lun:
        before = file_sha(lun.path)
        for args in (RUN, ["--help"], [*RUN, "--json", "-"]):
            with open(lun.path, "r+b", buffering=0) as out:
                r = lunbench(*args, stdout=out).expect(2)
            eq(r.err, "lunbench: the standard output is a block device, which a report would destroy\n", "stderr")
        eq(file_sha(lun.path), before, "the LUN's content")


# ---- a file that is open already, or cannot be replaced

@test("--json to what stdout or stderr is, by whatever name, goes where they go")
def _():
    with tmpdir() as d:
        for name in ("/dev/stdout", "/proc/self/fd/1", f"{d}/out"):
            with open(f"{d}/out", "w+b") as out:
                out.write(b"before\n")
                out.flush()
                lunbench(*RUN, "--json", name, stdout=out).expect(0)
                out.seek(0)
                text = out.read().decode()
            has(text, r"\Abefore\n(.*\n)+Total (.*\n)+\{\n", name)
            parse_json(text[text.index("\n{\n"):], name)
            eq(os.listdir(d), ["out"], "files")
        for name in ("/dev/stderr", f"{d}/out"):
            with open(f"{d}/out", "wb") as out:
                lunbench(*RUN, "--json", name, stderr=out).expect(0, out="^Total ")
            parse_json(pathlib.Path(d, "out").read_text(), name)


@test("--json to a stdout that is a socket")
def _():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        lunbench(*RUN, "--json", "/dev/stdout", stdout=theirs).expect(0)
        theirs.shutdown(socket.SHUT_WR)
        with ours.makefile() as f:
            text = f.read()
        parse_json(text[text.index("\n{\n"):], "the socket")


@test("--json in a sticky directory to a file of somebody else's that may be written: in place, its owner stays")
def _():
    with tmpdir() as d:
        path = pathlib.Path(d, "r.json")
        path.write_text(OLD + " " * 1000000)  # longer than the new one
        for mode in (0o1777, 0o755, 0o777):
            os.chmod(d, mode)
            os.chmod(path, 0o666)
            inode = os.stat(path).st_ino
            lunbench_as_nobody(*RUN, "--json", path).expect(0)
            ok(parse_json(path.read_text())["complete"], "not complete")
            eq((os.stat(path).st_uid, os.stat(path).st_ino, os.stat(path).st_mode & 0o7777), (0, inode, 0o666), "owner, inode and mode")
            eq(os.listdir(d), ["r.json"], "files")


@test("--json to a file that is mounted over, and one whose owner is another: replaced or not, the owner stays")
def _():
    need_root()
    with tmpdir() as d:
        real, name = pathlib.Path(d, "real"), pathlib.Path(d, "r.json")
        real.write_text(OLD)
        name.write_text("")
        os.chown(real, 65534, 65534)
        with hold_signals():
            sh("mount", "--bind", real, name)
            undo = Undo(f"mount on {name}", lambda: sh("umount", name))
        try:
            lunbench(*RUN, "--json", name).expect(0)
            ok(parse_json(real.read_text())["complete"], "not complete")
        finally:
            undo()
        inode = os.stat(real).st_ino
        lunbench(*RUN, "--json", real).expect(0)
        ok(os.stat(real).st_ino != inode, "the old file was written over")
        eq((os.stat(real).st_uid, os.stat(real).st_gid), (65534, 65534), "owner")
        eq(sorted(os.listdir(d)), ["r.json", "real"], "files")


@test("--json in place, without room for it: the old file stays as it was")
def _():
    with tmpfs("64K") as d:
        os.chmod(d, 0o755)
        kept = pathlib.Path(d, "old.json")
        kept.write_text(OLD)
        os.chmod(kept, 0o666)
        with open(f"{d}/fill", "wb", buffering=0) as f, contextlib.suppress(OSError):
            while f.write(bytes(4096)):
                pass
        lunbench_as_nobody(*RUN, "--json", kept).expect(4, out=r"^Total ", err=rf"^lunbench: cannot write {kept}: No space left on device$")
        eq(kept.read_text(), OLD, "the old file")


@test("--json FILE: modes by umask, links that lead nowhere yet, and no /proc")
def _():
    with tmpdir() as d:
        new, old = pathlib.Path(d, "sub/new"), pathlib.Path(d, "old")
        os.mkdir(f"{d}/sub")
        os.symlink("sub/between", f"{d}/link")
        os.symlink("new", f"{d}/sub/between")
        old.write_text(OLD)
        os.chmod(old, 0o666)
        for path in (f"{d}/link", old):
            lunbench(*RUN, "--json", path, before=lambda: os.umask(0o027)).expect(0)
        ok(os.path.islink(f"{d}/link") and os.path.islink(f"{d}/sub/between"), "a link has become a file")
        eq((os.stat(new).st_mode & 0o7777, os.stat(old).st_mode & 0o7777), (0o640, 0o666), "modes of the new one and the old one")
        need_root()
        hide = 'mount -t tmpfs none /proc && umask 027 && exec "$@"'
        with scratch_file("1M") as lun:
            for path in (f"{d}/hidden", old):
                run("unshare", "--mount", "sh", "-c", hide, "sh", program(), "list", lun, "--json", path).expect((0, 1))
                parse_json(pathlib.Path(path).read_text(), "the file")
        eq((os.stat(f"{d}/hidden").st_mode & 0o7777, os.stat(old).st_mode & 0o7777), (0o640, 0o666), "modes without /proc")
        eq(sorted(os.listdir(d)), ["hidden", "link", "old", "sub"], "files")


@test("--json to a FIFO that nobody reads: a note after a second, and a signal ends the wait")
def _():
    with tmpdir() as d:
        fifo = f"{d}/fifo"
        os.mkfifo(fifo)
        note_of_it = f"lunbench: --json: waiting for a reader of {fifo}\n"
        r = start(*RUN, "--json", fifo)
        wait_for(lambda: r.err_so_far() == note_of_it, "the note")
        reader = Running(["cat", fifo])
        eq(r.wait().expect(0).err, note_of_it, "stderr")
        ok(reader.wait().expect(0).json["complete"], "not complete")
        r = start(*RUN, "--json", fifo)
        time.sleep(0.2)
        r.signal(signal.SIGINT)
        ok(r.wait().expect(-signal.SIGINT).secs < 10, "it took long")


# ---- stdout, stderr, stdin

@test("a limit of file size is told in words, and costs status 4")
def _():
    with tmpdir() as d:
        kept = pathlib.Path(d, "old.json")
        kept.write_text(OLD)
        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (2048, resource.RLIM_INFINITY))
        with scratch_file("1M") as lun, open(f"{d}/out", "wb") as out:
            run_it = ["--engine", "null", "--qd", "2", "--time", "20ms", lun]
            lunbench(*run_it, "--json", kept, before=limited).expect(4, out="^Total ", err=f"^lunbench: cannot write {kept}: File too large$")
            eq(kept.read_text(), OLD, "the old file")
            lunbench(*run_it, "--json", "-", stdout=out, before=limited).expect(4, err="^lunbench: cannot write the standard output: File too large$")


@test("a pipe that does not block is waited for, as long as it has a reader")
def _():
    for extra in ([], ["--json", "-"], ["--json", "/dev/stdout"]):
        out, into = os.pipe()
        os.set_blocking(into, False)
        fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, 4096)
        os.write(into, b"x" * 4000)
        r = start(*RUN, "--hist", *extra, stdout=into)
        os.close(into)
        time.sleep(0.3)
        ok(r.alive(), "it did not wait")
        text = b""
        while data := os.read(out, 512):
            text += data
        os.close(out)
        r.wait().expect(0)
        ok(text.rstrip().endswith(b"}" if extra else text.rstrip()[-1:]) and len(text) > 4300, f"the end is missing: {text[-100:]}")
        if extra == ["--json", "-"]:
            parse_json(text[4000:], "the pipe")
    out, into = os.pipe()
    os.set_blocking(into, False)
    fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, 4096)
    os.write(into, b"x" * 4096)
    r = start(*RUN, stdout=into)
    os.close(into)
    time.sleep(0.3)
    os.close(out)
    r.wait().expect(4, err="^lunbench: cannot write the standard output: Broken pipe$")


@test("a standard output that is closed is called so; without /dev/null, too")
def _():
    closed = "lunbench: cannot write the standard output: it is closed\n"
    eq(lunbench(*RUN, "--json", "-", before=closing(1)).expect(4).err, closed, "stderr")
    eq(lunbench(*RUN, before=closing(1)).expect(4).err, closed, "stderr")
    need_root()
    hide = 'mount --bind "$0" /dev && exec "$@"'
    with tmpdir() as d:
        for close in ("<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-", ">&- 2>&-"):
            r = run("unshare", "--mount", "sh", "-c", hide + " " + close, d, program(), "--version")
            r.expect(4 if " >&-" in " " + close else 0)
            eq(r.err, closed if " >&-" in " " + close and "2>&-" not in close else "", f"{close}: stderr")


@test("--help and list into head(1): silent")
def _():
    for args in (["--help"], ["--version"], ["list"]):
        r, w = os.pipe()
        os.close(r)
        with open(w, "wb") as pipe:
            eq(lunbench(*args, stdout=pipe).expect(4).err, "", f"{args}: stderr")


@test("a name that is too long to show keeps its end")
def _():
    name = "/dev/" + "/".join(["d" * 250] * 4) + "/the-end"
    r = lunbench(*LONG, name).expect(3)
    has(r.err, r"^lunbench: /dev/d+.*\.\.\..*/the-end: no such device$", "stderr")
    r = lunbench(*LONG, "--json", name).expect(4)
    has(r.err, r"^lunbench: cannot write /dev/d+\.\.\..*/the-end: ", "stderr")

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


@test("a report that cannot be written is status 4, whatever the run came to; a signal comes before I/O errors")
def _():
    failing = ["--engine", "null", "--null-latency", "1ms", "--null-script", "error:2:EIO", "--time", "1s", "--scratch", "1x1M"]
    lunbench(*failing).expect(1)
    endless = ["--engine", "null", "--time", "100s", "--scratch", "1x1M", "--progress", "always"]
    with open("/dev/full", "wb") as full:
        lunbench(*failing, stdout=full).expect(4, err="^lunbench: cannot write ")
        for stdout, status in ((full, 4), (None, 130)):
            job = start(*endless, **({"stdout": stdout} if stdout else {}))
            wait_for(lambda: "xfer/sec" in job.err_so_far(), "it is under way")
            job.signal(signal.SIGINT)
            job.wait().expect(status)
    with scratch_file("8M", "random") as backing, loop(backing) as target:  # errors, and a signal
        job = start("--engine", "sync", "--qd", "1", "--time", "100s", "--max-errors", "0", "--progress", "always", target)
        wait_for(lambda: "xfer/sec" in job.err_so_far(), "it is under way")
        os.truncate(backing, 0)
        wait_for(lambda: "I/O error" in job.err_so_far(), "errors")
        job.signal(signal.SIGTERM)
        job.wait().expect(143, out="I/O ERROR")


@test("standard descriptors that are closed: nothing is written into the LUN")
def _():
    with scratch_file("4M", "random") as backing, loop(backing) as lun:
        before = file_sha(backing)
        for target in (lun.path, backing):
            args = ["--engine", "sync", "--qd", "1", "--count", "10", target]
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
