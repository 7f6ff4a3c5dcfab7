"""The devices that tests make for themselves; part of lbtest.

Each is a context manager. Nothing here takes the name of an existing device: what is not made here is
not touched. What cannot be had on this machine (no root, no loop) is a Skip with the reason.
Sizes are bytes, or text such as "64M" or "20T" (units of 1024).
"""

import contextlib
import errno
import os
import pathlib
import re
import subprocess
import tempfile
import time

from lbundo import Skip, Undo, hold_signals, need, need_root, sh

VAR_TMP = "/var/tmp"  # a disk's file system, which has O_DIRECT; /tmp is often a tmpfs
_MARK = f"lunbench-test.{os.getpid()}."


def size_of(size):
    if isinstance(size, int):
        return size
    number, unit = re.fullmatch(r"(\d+)([KMGT]?)", size).groups()
    return int(number) << {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[unit]


# ---- directories and files

@contextlib.contextmanager
def tmpdir(where=VAR_TMP):
    """A new directory, removed with what is in it."""
    with hold_signals():
        path = tempfile.mkdtemp(prefix=_MARK, dir=where)
        undo = Undo(f"directory {path}", lambda: sh("rm", "-rf", "--one-file-system", path))
    try:
        yield path
    finally:
        undo()


def make_file(path, size, fill=None):
    """Makes a file: sparse with fill=None, of zeros that are written with "zero", incompressible with "random"."""
    left = size_of(size)
    with open(path, "xb") as f:
        if fill is None:
            f.truncate(left)
        while fill and left:
            n = min(left, 1 << 20)
            f.write(os.urandom(n) if fill == "random" else bytes(n))
            left -= n
        f.flush()
        os.fsync(f.fileno())
    return path


@contextlib.contextmanager
def scratch_file(size, fill=None, where=VAR_TMP):
    """The path of a new file of that size; fill is as for make_file."""
    with tmpdir(where) as d:
        yield make_file(f"{d}/file", size, fill)


@contextlib.contextmanager
def tmpfs(size="1G"):
    """The path of a new tmpfs. It takes files of any length (20T), but holds only `size` of data."""
    need_root()
    with tmpdir() as d:
        with mounted("-t", "tmpfs", "-o", f"size={size_of(size)}", "lunbench-test", d):
            yield d


@contextlib.contextmanager
def mounted(*mount_args):
    where = mount_args[-1]
    with hold_signals():
        try:
            sh("mount", *mount_args)
        except RuntimeError as e:
            raise Skip(f"cannot mount: {e}") from None
        undo = Undo(f"mount {where}", lambda: _retry(lambda: sh("umount", where)))
    try:
        yield where
    finally:
        undo()


def _retry(fn, limit_s=10):
    """A killed process may hold on for a moment while its I/O ends."""
    end = time.monotonic() + limit_s
    while True:
        try:
            return fn()
        except (RuntimeError, OSError):
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


# ---- block devices

class Disk:
    """A block device made by a test: path, kernel name, "major:minor", and what sysfs says of it."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(path)
        self.sys = pathlib.Path("/sys/block", self.name)

    def __fspath__(self):
        return self.path

    __str__ = __fspath__

    def attr(self, name):
        return (self.sys / name).read_text().strip()

    @property
    def dev(self):
        return self.attr("dev")

    @property
    def size_bytes(self):
        return int(self.attr("size")) * 512

    def stat(self):
        """The kernel's own count of this device's I/O since it came up."""
        return DiskStat(self.attr("stat"))


class DiskStat:
    """reads, read_bytes, writes, write_bytes, in_flight; one less another is what was done between them.
    Reads and writes are as they were asked for: with those that the kernel merged into others."""

    FIELDS = ("reads", "read_bytes", "writes", "write_bytes", "in_flight")

    def __init__(self, text=None):
        if text is not None:
            v = [int(x) for x in text.split()]
            self.reads, self.read_bytes = v[0] + v[1], v[2] * 512
            self.writes, self.write_bytes = v[4] + v[5], v[6] * 512
            self.in_flight = v[8]

    def __sub__(self, earlier):
        diff = DiskStat()
        for f in self.FIELDS[:4]:
            setattr(diff, f, getattr(self, f) - getattr(earlier, f))
        diff.in_flight = self.in_flight
        return diff

    def __repr__(self):
        return " ".join(f"{f}={getattr(self, f)}" for f in self.FIELDS)


class Loop(Disk):
    def __init__(self, path, backing):
        super().__init__(path)
        self.backing = os.fspath(backing)

    def refresh_size(self):
        """Lets the loop see the present length of its file, as after a truncate."""
        sh("losetup", "--set-capacity", self.path)

    def _is_ours(self):
        """Once given up, the number is anybody's: another test may have made its own of it by now."""
        try:
            return self.attr("loop/backing_file").startswith(os.path.realpath(self.backing))
        except OSError:
            return False

    def detach(self):
        def gone():
            # while anybody has it open, -d only marks it to go at the last close
            sh("losetup", "--detach", self.path)
            if self._is_ours():
                raise OSError(errno.EBUSY, f"{self.path} is still open somewhere")
        _retry(lambda: self._is_ours() and gone())


LOOP_MAX_SECTORS_KB = 1280  # the kernel's own choice


@contextlib.contextmanager
def loop(backing, sector=512, direct=False, read_only=False, offset=0, limit=0):
    """A loop device over the file (or the Disk) `backing`; `limit` is the most it may be long."""
    need_root()
    need(os.path.exists("/dev/loop-control"), "needs loop devices")
    args = ["losetup", "--find", "--show", "--sector-size", str(sector), "--offset", str(size_of(offset))]
    args += ["--direct-io=on"] * direct + ["--read-only"] * read_only
    args += ["--sizelimit", str(size_of(limit))] * bool(limit)
    with hold_signals():
        try:
            path = sh(*args, os.fspath(backing))
        except RuntimeError as e:
            raise Skip(f"cannot make a loop device: {e}") from None
        lun = Loop(path, backing)
        undo = Undo(path, lun.detach)
        # what its last user has set stays with the number
        largest = min(int(lun.attr("queue/max_hw_sectors_kb")), LOOP_MAX_SECTORS_KB)
        (lun.sys / "queue/max_sectors_kb").write_text(str(largest))
    try:
        yield lun
    finally:
        undo()


@contextlib.contextmanager
def loop_of(size, fill=None, on="disk", **how):
    """A loop over a new file of that size on "disk" (in /var/tmp) or on a "tmpfs"; `how` is as for loop."""
    with contextlib.ExitStack() as stack:
        where = stack.enter_context(tmpfs() if on == "tmpfs" else tmpdir())
        yield stack.enter_context(loop(make_file(f"{where}/lun", size, fill), **how))


@contextlib.contextmanager
def zram(size):
    """A compressed disk in memory. Its never-written blocks read as zeros, and it has no NOWAIT."""
    need_root()
    control = pathlib.Path("/sys/class/zram-control")
    need(control.exists(), "needs zram")
    with hold_signals():
        n = int((control / "hot_add").read_text())  # the read makes a new one and tells its number
        disk = Disk(f"/dev/zram{n}")

        def remove():
            (disk.sys / "reset").write_text("1")
            (control / "hot_remove").write_text(str(n))
        undo = Undo(disk.path, lambda: _retry(remove))
    try:
        (disk.sys / "disksize").write_text(str(size_of(size)))
        _retry(lambda: os.stat(disk.path))
        yield disk
    finally:
        undo()


class Freezable(Loop):
    """A loop whose file lies on a file system of its own, which can be frozen: then all its I/O hangs."""

    def __init__(self, lun, mountpoint):
        super().__init__(lun.path, lun.backing)
        self._mountpoint, self._thaw = mountpoint, None

    def freeze(self):
        """All I/O that comes from now on hangs. (A frozen file system only holds up writes; but a loop serves
        its requests in order, so one write of its first block's own data, stuck, holds up the reads behind it.)"""
        with open(self.path, "rb") as f:
            block = f.read(4096)
        with hold_signals():
            sh("fsfreeze", "--freeze", self._mountpoint)
            writer = subprocess.Popen(["dd", f"of={self.path}", "bs=4096", "count=1", "oflag=direct", "conv=notrunc"],
                                      stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)

            def thaw():
                sh("fsfreeze", "--unfreeze", self._mountpoint)
                writer.wait(10)
            self._thaw = Undo(f"freeze of {self._mountpoint}", thaw)
            writer.stdin.write(block)
            writer.stdin.close()
        end = time.monotonic() + 5
        while not self.stat().in_flight:
            if time.monotonic() > end:
                raise RuntimeError(f"{self.path}: the write that should hang does not")
            time.sleep(0.01)

    def thaw(self):
        if self._thaw:
            self._thaw()
            self._thaw = None


@contextlib.contextmanager
def freezable(size, **how):
    """A Freezable of that size, filled with random data; thawed at the end whatever happened."""
    with contextlib.ExitStack() as stack:
        where = stack.enter_context(tmpdir())
        image = make_file(f"{where}/fs", size_of(size) + (32 << 20))
        os.mkdir(f"{where}/mnt")
        sh("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,nodiscard", image)
        outer = stack.enter_context(loop(image))
        stack.enter_context(mounted(outer.path, f"{where}/mnt"))
        lun = stack.enter_context(loop(make_file(f"{where}/mnt/lun", size, "random"), **how))
        frozen = Freezable(lun, f"{where}/mnt")
        try:
            yield frozen
        finally:
            frozen.thaw()


# ---- a known rate

def _cgroup_mount(controller):
    """Where the controller's tree is mounted, and whether that is v2's."""
    v2 = None
    for line in pathlib.Path("/proc/mounts").read_text().splitlines():
        _, where, kind, options, *_ = line.split()
        if kind == "cgroup" and controller in options.split(","):
            return where, False
        with contextlib.suppress(OSError):
            if kind == "cgroup2" and controller in pathlib.Path(where, "cgroup.subtree_control").read_text().split():
                v2 = where
    return v2, True


class Cgroup:
    """A cgroup of its own; give it to lunbench(..., cgroup=)."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.name = "/" + self.path.name

    def join(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self):
        root = self.path.parent / "cgroup.procs"
        for pid in (self.path / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                root.write_text(pid)
        _retry(self.path.rmdir)


@contextlib.contextmanager
def limited(controller, limit):
    """A Cgroup with so many "pids" or so much "memory"."""
    need_root()
    where, is_v2 = _cgroup_mount(controller)
    need(where, f"needs the {controller} controller of cgroups")
    with hold_signals():
        group = Cgroup(tempfile.mkdtemp(prefix=_MARK, dir=where))
        undo = Undo(str(group.path), group.remove)
    try:
        file = "pids.max" if controller == "pids" else "memory.max" if is_v2 else "memory.limit_in_bytes"
        (group.path / file).write_text(str(size_of(limit)))
        yield group
    finally:
        undo()


class Throttle(Cgroup):
    """A cgroup whose members the kernel holds to a rate."""

    def set(self, disk, **rates):
        """The rates of a Disk, for example read_iops=1000; 0 lifts one."""
        for name, value in rates.items():
            (self.path / f"blkio.throttle.{name}_device").write_text(f"{disk.dev} {value}")

    def remove(self):
        # a rate that still holds would keep what is queued, and so its processes, for ages
        for f in self.path.glob("blkio.throttle.*_device"):
            for line in f.read_text().splitlines():
                f.write_text(f"{line.split()[0]} 0")
        super().remove()


@contextlib.contextmanager
def throttle(disk, **rates):
    """A Throttle with these rates for a Disk: read_iops, write_iops, read_bps, write_bps."""
    need_root()
    where, is_v2 = _cgroup_mount("blkio")
    need(where and not is_v2, "needs the blkio controller of cgroup v1")
    with hold_signals():
        group = Throttle(tempfile.mkdtemp(prefix=_MARK, dir=where))
        undo = Undo(str(group.path), group.remove)
    try:
        group.set(disk, **rates)
        yield group
    finally:
        undo()
