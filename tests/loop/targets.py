#!/usr/bin/python3
"""What becomes of targets: which are measured, passed over or refused, with which status and words."""

import glob
import hashlib
import pathlib
import shutil
import stat
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

QUICK = ("--time", "0.2s")
NOBODY = 65534


def refused(status, *args, **how):
    """A run that is refused: nothing on stdout, and it is over at once."""
    r = lunbench(*QUICK, *args, **how).expect(status)
    eq(r.out, "", "stdout")
    ok(r.secs < 2, f"took {r.secs:.1f} s to refuse")
    return r


def says(r, target, why):
    """Exactly one line of stderr names the target, and it is this one."""
    lines = [line for line in r.err.splitlines() if line.startswith(f"lunbench: {target}: ")]
    eq(lines, [f"lunbench: {target}: {why}"], f"what stderr says of {target}")


def measured(*args, **how):
    """The JSON of a run that must end well."""
    return lunbench(*QUICK, "--json", "-", *args, **how).expect(0).json


def sha256(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


# ---- what is no LUN

@test("missing devices are status 3, all are named, and nothing is created")
def _():
    with tmpdir() as d:
        r = refused(3, f"{d}/mpathz", "/dev/mapper/lunbench-mpathz", "/dev/lunbench-sdz")
        for missing in (f"{d}/mpathz", "/dev/mapper/lunbench-mpathz", "/dev/lunbench-sdz"):
            says(r, missing, "no such device")
            ok(not os.path.lexists(missing), f"{missing} was made")
        eq(os.listdir(d), [], "files made")


@test("a directory, a FIFO, a socket and /dev/null are status 2 and named for what they are, beside a missing one")
def _():
    with tmpdir() as d:
        os.mkfifo(f"{d}/fifo")
        r = refused(2, d, f"{d}/fifo", "/dev/null", f"{d}/none")
        says(r, d, "a directory, not a block device or a file")
        says(r, f"{d}/fifo", "a FIFO, not a block device or a file")
        says(r, "/dev/null", "a character device, not a block device or a file")
        says(r, f"{d}/none", "no such device")


@test("a character device under /dev/mapper is passed over with one note, by whatever name; alone it is no target")
def _():
    with loop_of("1M", "random") as lun:
        minor = lun.dev.split(":")[1]
        # a /dev of its own, which other processes do not see
        script = f"""mount -t tmpfs none /dev && mkdir /dev/mapper && mknod /dev/null c 1 3 && mknod /dev/mapper/control c 10 236 &&
            ln -s mapper/control /dev/other && mknod /dev/mapper/mpatha b 7 {minor} && exec "$@" """

        def there(status, *args):
            return run("unshare", "--mount", "sh", "-c", script, "sh", program(), *QUICK, *args).expect(status)

        note = "passed over: a character device of device-mapper's own, no LUN"
        need(run("unshare", "--mount", "true").status == 0, "needs mount namespaces")
        r = there(0, "/dev/mapper/control", "/dev/other", "/dev/mapper/mpatha", "--json", "-")
        says(r, "/dev/mapper/control", note)
        says(r, "/dev/other", note)
        eq([x["name"] for x in r.json["luns"]], ["/dev/mapper/mpatha"], "LUNs measured")
        says(there(2, "/dev/mapper/control"), "/dev/mapper/control", note)


# ---- size and blocks

@test("--size below a 4Kn LUN's block is status 2; in a mixed set each unfit LUN is named, and only those")
def _():
    with loop_of("8M", sector=4096) as a, loop_of("8M") as b, loop_of("8M", sector=4096) as c:
        why = "logical block 4096, --size 512 is not a multiple"
        r = refused(2, "--size", "512", a, b, c)
        says(r, a, why)
        says(r, c, why)
        lacks(r.err, re.escape(f"{b}:"), "stderr")
        says(refused(2, "--size", "6k", a), a, "logical block 4096, --size 6k is not a multiple")
        eq(measured("--size", "512", b)["luns"][0]["errors"], 0, "errors of the 512n LUN")
        eq([x["errors"] for x in measured("--size", "4k", a, b, c)["luns"]], [0, 0, 0], "errors at 4k")


@test("a region in bytes that is off a 4Kn LUN's block is status 2; one in percent is rounded in")
def _():
    with loop_of("8M", sector=4096) as lun, loop_of("8M") as other:
        r = refused(2, "--size", "4k", "--region", "512-1M", lun, other)
        says(r, lun, "logical block 4096, --region starts at 512, which is not a multiple")
        lacks(r.err, re.escape(f"{other}:"), "stderr")
        row = measured("--size", "4k", "--region", "0.01%-100%", lun)["luns"][0]
        eq((row["region_start_bytes"], row["region_end_bytes"], row["errors"]), (4096, 8 << 20, 0), "region and errors")


@test("without /proc it is /proc that is missing, not the device; a descriptor of the shell is told from a device")
def _():
    with loop_of("8M") as lun:
        r = run("unshare", "-m", "sh", "-c", 'umount -l /proc; exec "$@"', "sh", program(), *QUICK, lun.path).expect(3)
        eq(r.err, f"lunbench: {lun}: cannot be opened without /proc: mount -t proc proc /proc\n", "stderr")
        for name in ("/dev/fd/9", "/proc/self/fd/9", "/dev/stdin"):
            for command in ((*QUICK, name), ("list", name)):
                r = run("bash", "-c", 'exec "$@" 9<"$0" 0<"$0"', lun.path, program(), *command).expect(2)
                eq(r.err, f"lunbench: {name}: a descriptor of the shell is not passed on: give the device itself\n", "stderr")
        r = run("bash", "-c", '"$0" <(cat "$1")', program(), lun.path).expect(2)
        has(r.err, "^lunbench: /dev/fd/[0-9]+: a descriptor of the shell is not passed on: give the device itself$", "stderr")


@test("a LUN or a region smaller than --size is status 2 with both sizes; one of just one block works")
def _():
    with loop_of("8M") as lun:
        says(refused(2, "--size", "16M", lun), lun, "its size is 8M, --size 16M does not fit")
        says(refused(2, "--region", "0-9M", lun), lun, "its size is 8M, --region ends at 9M")
        says(refused(2, "--region", "8M-16M", lun), lun, "its size is 8M, --region starts at 8M")
        says(refused(2, "--size", "1M", "--region", "0-10%", lun), lun,
             "its size is 8M, --region leaves 838860 of it, --size 1M does not fit")
        ok(measured("--size", "8M", "--qd", "2", lun)["luns"][0]["xfers"] > 0, "no xfers of the whole LUN")
    with loop_of("16K") as lun:
        for pat in ("rand", "seq"):
            eq(measured("--size", "16k", "--pat", pat, lun)["luns"][0]["errors"], 0, f"errors of one block, {pat}")


@test("a LUN of no size is status 3")
def _():
    with loop_of("0") as lun, scratch_file("0") as f:
        r = refused(3, lun, f)
        says(r, lun, "its size is 0")
        says(r, f, "its size is 0")


@test("the odd tail is never touched: it can be gone")
def _():
    with tmpdir() as d, loop(make_file(f"{d}/f", (64 << 20) + 3 * 512, "random")) as lun:
        os.truncate(lun.backing, 64 << 20)  # from here on a read of the tail is an error
        for pat in ("rand", "seq"):
            row = measured("--size", "16k", "--pat", pat, lun)["luns"][0]
            eq((row["errors"], row["usable_bytes"], row["size_bytes"]), (0, 64 << 20, (64 << 20) + 1536), f"errors and sizes, {pat}")
        eq(measured("--size", "4k", "--region", "60M-100%", lun)["luns"][0]["errors"], 0, "errors at the end")
        # but with 512 bytes there is no odd tail
        lunbench(*QUICK, "--size", "512", "--region", "64M-", lun).expect(1)


@test("a 20 TB LUN is as quick to begin with as any, up to its last block")
def _():
    with loop_of("20T", on="tmpfs") as lun:
        for region in ("0-100%", "99.9%-100%", f"{(20 << 40) - 4096}-{20 << 40}"):
            r = lunbench("--size", "4k", "--region", region, *QUICK, "--json", "-", lun).expect(0)
            row = r.json["luns"][0]
            ok(row["xfers"] > 100, f"{region}: {row['xfers']} xfers")
            eq(row["errors"], 0, f"{region}: errors")
            ok(r.secs < 1.5, f"{region}: took {r.secs:.2f} s")


# ---- identity

@test("one device under several names is status 2, and both names are told")
def _():
    with tmpdir() as d, loop_of("8M") as lun, loop_of("8M") as other:
        os.symlink(lun.path, f"{d}/link")
        os.symlink("link", f"{d}/link2")
        os.mknod(f"{d}/node", 0o600 | stat.S_IFBLK, os.stat(lun.path).st_rdev)
        r = refused(2, lun, other, f"{d}/link2", f"{d}/node", other)
        says(r, f"{d}/link2", f"the same device as {lun}: give it once")
        says(r, f"{d}/node", f"the same device as {lun}: give it once")
        says(r, other, f"the same device as {other}: give it once")
        row = measured(f"{d}/node")["luns"][0]
        eq((row["name"], row["kernel_name"]), (f"{d}/node", lun.name), "name and kernel name")


@test("a loop device and what is behind it are the same storage; parts that do not overlap are not")
def _():
    with tmpdir() as d, loop(make_file(f"{d}/f", "8M")) as whole:
        def twins(a, b):
            return f"the same storage as {a}, by a loop device: give one of them"
        says(refused(2, whole, whole.backing), whole.backing, twins(whole, whole.backing))
        says(refused(2, whole.backing, whole), whole, twins(whole.backing, whole))
        with loop(whole.backing, limit="4M") as low, loop(whole.backing, offset="4M") as high:
            says(refused(2, whole, high), high, twins(whole, high))
            says(refused(2, low, whole.backing), whole.backing, twins(low, whole.backing))
            for luns in ((low, high), (high, low)):
                eq(len(measured(*luns)["luns"]), 2, "LUNs measured")
    with zram("8M") as disk, loop(disk) as over:
        says(refused(2, disk, over), over, f"the same storage as {disk}, by a loop device: give one of them")


@test("rows come in the order of the arguments, and each is of its own device")
def _():
    with loop_of("8M") as a, loop_of("16M") as b:
        for luns in ((a, b), (b, a)):
            rows = measured(*luns)["luns"]
            eq([(x["name"], x["kernel_name"], x["size_bytes"]) for x in rows],
               [(str(x), x.name, x.size_bytes) for x in luns], "rows")


@test("what sysfs tells of a loop and of a zram, and whether they have NOWAIT, is in their rows")
def _():
    with loop_of("8M", sector=4096) as lun, zram("8M") as disk:
        for row, dev, nowait in zip(measured(lun, disk)["luns"], (lun, disk), (True, False)):
            eq((row["kind"], row["kernel_name"], row["size_bytes"]), ("block", dev.name, dev.size_bytes), "identity")
            for key in ("logical_block", "physical_block"):
                eq(row[f"{key}_bytes"], int(dev.attr(f"queue/{key}_size")), key)
            eq(row["max_io_bytes"], int(dev.attr("queue/max_sectors_kb")) * 1024, "max_io_bytes")
            eq(row["rotational"], dev.attr("queue/rotational") == "1", "rotational")
            eq((row["vendor"], row["product"], row["serial"], row["queue_depth"]), (None,) * 4, "what is not told")
            eq(row["nowait"], nowait, f"NOWAIT of {dev}")
        eq(measured(lun)["luns"][0]["nr_requests"], int(lun.attr("queue/nr_requests")), "nr_requests")


# ---- files, and what memory holds

@test("a file that only buffers is refused, also as --scratch")
def _():
    with tmpfs("256M") as d:
        file = make_file(f"{d}/f", "1M", "random")
        says(refused(2, file), file, "its file system buffers O_DIRECT: figures would be memory's")
        refused(2, "--scratch", f"1x1M@{d}").expect(2, err="--scratch: .*: its file system buffers O_DIRECT")
        eq(os.listdir(d), ["f"], "files")


@test("an ordinary user measures files and scratch, and is told who could read a device")
def _():
    need_root()
    with tmpdir() as d, loop_of("8M") as lun:
        os.chmod(d, 0o777)
        tool = shutil.copy(program(), f"{d}/lunbench")
        file = make_file(f"{d}/f", "8M", "random")
        os.chmod(file, 0o644)

        def as_nobody(*args):
            return run(tool, *QUICK, *args, cwd=d, before=lambda: (os.setgroups([]), os.setgid(NOBODY), os.setuid(NOBODY)))
        as_nobody("--scratch", f"2x4M@{d}", file).expect(0)
        r = as_nobody(lun).expect(3)
        eq(r.out, "", "stdout")
        has(r.err, f"^lunbench: {lun}: no right to read it: root could")


# ---- nothing is changed

@test("a read run changes no byte and needs no right to write")
def _():
    with tmpdir() as d:
        make_file(f"{d}/f", "16M", "random")
        before = sha256(f"{d}/f")
        for read_only in (False, True):
            with loop(f"{d}/f", read_only=read_only) as lun:
                counted = lun.stat()
                for how in (["--pat", "rand"], ["--pat", "seq"], ["--engine", "libaio"], ["--engine", "sync"]):
                    eq(measured(*how, lun)["luns"][0]["errors"], 0, f"errors with {how}")
                going = start("--time", "30s", lun)
                time.sleep(0.5)
                going.signal(signal.SIGINT)
                going.wait(5).expect(130)
                refused(2, "--size", "32M", lun)
                eq((lun.stat() - counted).writes, 0, "writes by the kernel's count")
            eq(sha256(f"{d}/f"), before, f"sha256 after runs, read_only={read_only}")


# ---- scratch

def open_below(directory):
    """What any process has open there."""
    found = []
    for fd in glob.glob("/proc/[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            found += [to for to in [os.readlink(fd)] if to.startswith(f"{directory}/")]
    return found


@test("scratch files have no name, and nothing is left of them, whatever ends the run")
def _():
    with tmpdir() as d:
        args = ("--scratch", f"3x48M@{d}", "--time", "30s")
        eq(lunbench(*QUICK, *args[:2], "--json", "-").expect(0).json["luns"][2]["name"], "scratch2", "name")
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            for wait_s in (0.02, 0.1, 1.0):  # while filling, and while running
                going = start(*args)
                end = time.monotonic() + wait_s
                while time.monotonic() < end:
                    eq(os.listdir(d), [], "names in the directory")
                if signum == signal.SIGKILL:
                    going.kill()
                else:
                    going.signal(signum)
                    going.wait(5)
                wait_for(lambda: not open_below(d), "every file is closed")
        eq(os.listdir(d), [], "names in the directory")


@test("scratch without room, or in no directory, is status 3 before anything is written")
def _():
    need_root()
    with tmpdir() as d, loop(make_file(f"{d}/fs", "128M")) as disk:
        refused(3, "--scratch", f"2x1M@{d}/none").expect(3, err=r"--scratch: .*/none: cannot be used: No such file or directory")
        sh("mkfs.ext4", "-q", disk.path)
        os.mkdir(f"{d}/mnt")
        with mounted(disk.path, f"{d}/mnt"):
            refused(3, "--scratch", f"4x32M@{d}/mnt").expect(3, err=r"--scratch: .*/mnt: needs 194M with room to spare, \d+M are free")
            sh("sync")
            before = disk.stat()
            refused(2, "--scratch", f"1x8M@{d}/mnt", "--size", "16M").expect(2, err="its size is 8M, --size 16M does not fit")
            refused(3, "--scratch", f"2x8M@{d}/mnt", f"{d}/missing")
            ok((disk.stat() - before).write_bytes < 1 << 20, "scratch was filled for a run that was refused")
            lunbench("--scratch", f"2x8M@{d}/mnt", *QUICK).expect(0)
            sh("umount", f"{d}/mnt")  # nothing of the run holds it any more
            sh("mount", disk.path, f"{d}/mnt")


main()
