#!/usr/bin/python3
"""The write interlock: what it refuses, in which words, and that looking changes nothing and wakes nobody."""

import contextlib
import ctypes
import hashlib
import pathlib
import shutil
import socket
import struct
import sys
import uuid
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

TOOL = pathlib.Path(program()).parent / "tests/unit/guard_tool"
MIB = 1 << 20
UUID = "5f6cf9d2-0dd6-4bb4-a0a7-97d7cbd2d0e6"
IN_USE = "; first: "
IF_LOST = "; if all of it may be lost: --overwrite "


# ---- nothing changes, nobody is woken

class Watch:
    """What udev would take notice of: a descriptor for writing that is closed, and the kernel's own events."""

    IN_MODIFY, IN_ATTRIB, IN_CLOSE_WRITE = 2, 4, 8
    _libc = ctypes.CDLL(None, use_errno=True)

    def __init__(self, paths):
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        ok(self._fd >= 0, "no inotify")
        for p in paths:
            mask = self.IN_MODIFY | self.IN_ATTRIB | self.IN_CLOSE_WRITE
            ok(self._libc.inotify_add_watch(self._fd, os.fsencode(p), mask) >= 0, f"cannot watch {p}")
        self._names = [os.path.basename(p) for p in paths]
        self._events = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK, 15)
        self._events.bind((0, 1))

    def seen(self):
        found = []
        with contextlib.suppress(BlockingIOError):
            found.append(f"inotify: {os.read(self._fd, 4096)!r}")
        with contextlib.suppress(BlockingIOError):
            while True:
                event = self._events.recv(8192).decode(errors="replace")
                if any(f"DEVNAME={n}\0" in event for n in self._names):
                    found.append(f"uevent: {event!r}")
        return found

    def close(self):
        os.close(self._fd)
        self._events.close()


def sha256(path):
    h = hashlib.sha256()
    with open(path, "rb") as f:
        while data := f.read(MIB):
            h.update(data)
    return h.hexdigest()


@contextlib.contextmanager
def untouched(*luns, readable=True):
    paths = [os.fspath(x) for x in luns]
    before = [sha256(p) for p in paths] if readable else []
    watch = Watch(paths)
    try:
        yield
        eq(watch.seen(), [], "what udev would notice")
    finally:
        watch.close()
    if readable:
        eq([sha256(p) for p in paths], before, "hashes after it")


def guard(*args, status, **how):
    is_4kn = any(isinstance(a, Loop) and a.attr("queue/logical_block_size") == "4096" for a in args)
    r = run(TOOL, *["--4kn"] * is_4kn, *map(os.fspath, args), **how).expect(status)
    eq(r.err, "", "stderr")
    return r


def line_of(r, lun):
    lines = [x for x in r.out.splitlines() if x.startswith(f"{os.fspath(lun)}: ")]
    eq(len(lines), 1, f"lines of {os.fspath(lun)} in {r.out!r}")
    return lines[0][len(os.fspath(lun)) + 2:]


def refused(lun, what, how, *args, readable=True):
    """Refused when looked at and when to be opened, each time in these words (a regular expression), and untouched."""
    for mode in ([], ["--open"]):
        with untouched(lun, readable=readable):
            r = guard(*mode, *args, lun, status=2)
        line = line_of(r, lun)
        ok(re.fullmatch(f"not written to: (?:{what}){re.escape(how)}", line), f"want {what}{how}\ngot  {line}")
    return r


def has_data(lun, what, readable=True):
    """Refused for what is on it; with --overwrite it would pass."""
    name = os.fspath(lun)
    r = refused(lun, what, IF_LOST + name, readable=readable)
    has(r.out, r"^nothing was written: 1 of 1 LUNs refused, 1 with data on them .*, 0 in use", "summary")
    with untouched(lun, readable=readable):
        line = line_of(guard("--overwrite", name, lun, status=0), lun)
    ok(re.fullmatch(f"may be written to: (?:{what})", line), line)
    # another's ID does not help
    with untouched(lun, readable=readable):
        r = guard("--overwrite", "/dev/other", lun, status=2)
    has(r.out, "^--overwrite /dev/other: names none$", "stdout")


def in_use(lun, what, how, readable=True):
    """Refused, and no --overwrite helps."""
    how = IN_USE + how if how else ""
    for args in ([], ["--overwrite", os.fspath(lun)]):
        r = refused(lun, what, how, *args, readable=readable)
        has(r.out, r"^nothing was written: 1 of 1 LUNs refused, 0 with data on them .*, 1 in use", "summary")


def passes(lun, what="nothing found on it"):
    with untouched(lun):
        eq(line_of(guard(lun, status=0), lun), f"may be written to: {what}", "verdict")


# ---- what can be on a LUN

def put(lun, at, data):
    with open(lun, "r+b", buffering=0) as f:
        f.seek(at)
        f.write(data)
        os.fsync(f.fileno())


def wipe(lun, start, end):
    put(lun, start, bytes(end - start))


def ext4(lun, start=0, mib=8):
    sh("mkfs.ext4", "-q", "-F", "-L", "data", "-U", UUID, "-E", f"offset={start},nodiscard", os.fspath(lun), f"{mib}M")


def xfs(lun):
    need(shutil.which("mkfs.xfs"), "needs mkfs.xfs")
    sh("mkfs.xfs", "-q", "-f", "-K", "-L", "redo", "-m", f"uuid={UUID}", os.fspath(lun))


def swap(lun):
    sh("mkswap", "-U", UUID, "-L", "sw", os.fspath(lun))


def table(lun, label, *parts):
    need(shutil.which("sfdisk"), "needs sfdisk")
    sh("sfdisk", "-q", "--no-reread", "--no-tell-kernel", os.fspath(lun), input="\n".join([f"label: {label}", *parts, ""]))


def luks(lun, at=0):
    put(lun, at, b"LUKS\xba\xbe" + struct.pack(">H", 1) + bytes(160) + UUID.encode())


def md(lun):
    sb = struct.pack("<IIII", 0xA92B4EFC, 1, 0, 0) + uuid.UUID(UUID).bytes + b"host:backup".ljust(32, b"\0")
    sb += struct.pack("<QIIQII", 0, 1, 0, 20480, 0, 2)
    sb = sb.ljust(128, b"\0") + struct.pack("<QQQ", 2048, 20480, 8)
    sb = bytearray(sb.ljust(256, b"\0"))
    total = sum(struct.unpack("<64I", sb))
    struct.pack_into("<I", sb, 216, (total & 0xFFFFFFFF) + (total >> 32))
    put(lun, 4096, bytes(sb).ljust(4096, b"\0"))


def lvm(lun, at=0, vg="vg_ora-1"):
    def crc(data):
        return zlib.crc32(data, 0xF597A6CF ^ 0xFFFFFFFF) ^ 0xFFFFFFFF
    pv = b"abcdefghijklmnopqrstuvwxyz012345" + struct.pack("<Q", 8 * MIB)
    pv += struct.pack("<QQQQ", MIB, 0, 0, 0) + struct.pack("<QQQQ", 4096, MIB - 4096, 0, 0)
    body = struct.pack("<I", 32) + b"LVM2 001" + pv
    body = body.ljust(512 - 20, b"\0")
    put(lun, at, bytes(512) + b"LABELONE" + struct.pack("<Q", 1) + struct.pack("<I", crc(body)) + body + bytes(4096 - 1024))
    text = f"{vg} {{\nid = \"x\"\n".encode()
    area = b" LVM2 x[5A%r0N*>" + struct.pack("<IQQ", 1, 4096, MIB - 4096) + struct.pack("<QQII", 512, len(text), crc(text), 0)
    area = area.ljust(508, b"\0")
    put(lun, at + 4096, struct.pack("<I", crc(area)) + area + text.ljust(3584, b"\0"))


def asm_header(label=b"DATA01", disk=b"DATA_0001", group=b"DATA"):
    h = bytes([1, 0x82, 1, 1]).ljust(32, b"\0") + b"ORCLDISK" + label
    return (h.ljust(72, b"\0") + disk.ljust(32, b"\0") + group.ljust(32, b"\0")).ljust(4096, b"\0")


def ours(n_sectors, salt=1):
    """Sectors as src/data.h stamps them."""
    out = []
    for i in range(n_sectors):
        stamp = (salt * 0x123456789ABCDEF + i * 0x9E3779B97F4A7C15) % 2**64
        z = ((stamp ^ 0x6C756E62656E6368) * 0xD1342543DE82EF95) % 2**64
        out.append(struct.pack("<QQ", stamp, z ^ z >> 32) + os.urandom(496))
    return b"".join(out)


EXT4 = rf'ext4 file system "data", UUID {UUID}'


# ---- data

@test("zeros pass, on a block device and in a file, of odd sizes and 4Kn too")
def _():
    for size in ("64K", "1M", "64M", 64 * MIB + 1536, 512, 4096, 300 * 1024):
        with loop_of(size) as lun:
            passes(lun)
    with loop_of("16M", sector=4096) as lun:
        passes(lun)
    with scratch_file("16M") as f:
        passes(f)


@test("random data is unknown data, wherever one sector of it is looked at")
def _():
    with loop_of("16M", "random") as lun:
        has_data(lun, "unknown data, at byte 0")
    with loop_of("64M") as lun:
        for at in (512, 255 * 1024, 64 * MIB - 512, 64 * MIB - 256 * 1024, 17 * MIB + 1024, 63 * MIB):
            put(lun, at, b"\0\0x")
            has_data(lun, f"unknown data, at byte {at}")
            wipe(lun, at, at + 512)
        passes(lun)
    with loop_of(8 * MIB + 512) as lun:
        put(lun, 8 * MIB + 511, b"x")
        has_data(lun, f"unknown data, at byte {8 * MIB}")


@test("lunbench's own data passes, with zeros beside it; one foreign sector in it does not")
def _():
    with loop_of("16M") as lun:
        put(lun, 0, ours(8 * 2048))
        passes(lun, "lunbench's own data")
        put(lun, 0, ours(32768, 2))
        passes(lun, "lunbench's own data")
        put(lun, 1536 + 8, b"\1")  # the stamp's check no longer holds
        has_data(lun, "unknown data, at byte 1536")


@test("file systems and swap: each is named, with label and UUID")
def _():
    with loop_of("16M") as lun:
        ext4(lun)
        has_data(lun, EXT4)
        wipe(lun, 0, 16 * MIB)
        swap(lun)
        has_data(lun, f'swap area "sw", UUID {UUID}')
    with loop_of("320M") as lun:
        xfs(lun)
        has_data(lun, f'xfs file system "redo", UUID {UUID}')


@test("a damaged superblock counts; of two signatures both are told")
def _():
    with loop_of("16M") as lun:
        ext4(lun)
        put(lun, 1024 + 0x254, b"damage")  # what its checksum covers
        has_data(lun, EXT4)
        ext4(lun)
        put(lun, 32, b"ORCLDISK")
        md(lun)
        has_data(lun, f'Oracle ASM disk; md array member "host:backup", UUID {UUID}; {EXT4}')


@test("md, LUKS and LVM members are named, LVM with its volume group")
def _():
    with loop_of("16M") as lun:
        md(lun)
        has_data(lun, f'md array member "host:backup", UUID {UUID}')
        wipe(lun, 0, MIB)
        luks(lun)
        has_data(lun, f"LUKS encrypted volume, UUID {UUID}")
        wipe(lun, 0, MIB)
        lvm(lun)
        has_data(lun, "LVM2 physical volume of volume group vg_ora-1")
        wipe(lun, 4096, 8192)  # without its metadata
        has_data(lun, r"LVM2 physical volume, UUID \S+")


@test("ZFS is known by each of its four labels alone, on a LUN of an odd size too")
def _():
    for size in (64 * MIB, 64 * MIB + 200 * 1024):
        with loop_of(size) as lun:
            for at in (0, 256 * 1024, 64 * MIB - 512 * 1024, 64 * MIB - 256 * 1024):
                for n in range(8):  # uberblocks: magic, version 5000
                    put(lun, at + (128 + n) * 1024, struct.pack("<QQ", 0x00BAB10C, 5000).ljust(1024, b"\0"))
                has_data(lun, "ZFS pool member")
                wipe(lun, at, at + 256 * 1024)
            passes(lun)


@test("a blank LUN is looked at in few reads")
def _():
    with loop_of("1G") as lun:
        reads = pathlib.Path("/sys/block", os.path.basename(lun), "stat")
        before = int(reads.read_text().split()[0])
        guard(lun, status=0)
        # 63 samples, 8 places of ASM's, both edges; the rest is libblkid's, and a look for NOWAIT
        between(int(reads.read_text().split()[0]) - before, 73, 100, "reads")


@test("partition tables and what is in the partitions, logical ones too, also on 4Kn")
def _():
    with loop_of("64M") as lun:
        table(lun, "gpt", "start=2048,size=16384", "start=18432,size=16384")
        has_data(lun, "GPT partition table")
        ext4(lun, MIB)
        lvm(lun, 9 * MIB)
        has_data(lun, f"GPT partition table; partition 1: {EXT4}; partition 2: LVM2 physical volume of volume group vg_ora-1")
        wipe(lun, 0, MIB)
        has_data(lun, f"GPT partition table; partition 1: {EXT4}; partition 2: LVM2 physical volume of volume group vg_ora-1")
        wipe(lun, MIB, 63 * MIB)
        has_data(lun, "GPT partition table")  # the backup at the end is all there is
        wipe(lun, 63 * MIB, 64 * MIB)
        passes(lun)
        table(lun, "dos", "start=2048,size=16384", "start=20480,size=65536,type=5", "start=22528,size=20480")
        has_data(lun, "MBR partition table(; partition .*)?")
        ext4(lun, 11 * MIB)
        has_data(lun, f"MBR partition table(;.*)?; partition 5: {EXT4}(;.*)?")
    with loop_of("64M", sector=4096) as lun:
        table(lun, "gpt", "start=256,size=4096")
        ext4(lun, MIB)
        has_data(lun, f"GPT partition table; partition 1: {EXT4}")


@test("a first sector with nothing but 0xaa55 is refused")
def _():
    with loop_of("16M") as lun:
        put(lun, 510, b"\x55\xaa")
        has_data(lun, "MBR partition table|a boot sector .0xaa55. without partitions")
        put(lun, 446, os.urandom(64))
        has_data(lun, "(dos|MBR).*|a boot sector .0xaa55. without partitions")


@test("Oracle ASM: by the header, by its copy for every allocation unit, and in a partition")
def _():
    with loop_of("140M") as lun:
        put(lun, 0, asm_header())
        has_data(lun, "Oracle ASM disk DATA01 of disk group DATA")
        put(lun, 0, asm_header(label=b""))
        has_data(lun, "Oracle ASM disk DATA_0001 of disk group DATA")
        put(lun, 32, b"ORCLDISKDATA01".ljust(480, b"\0"))
        has_data(lun, "Oracle ASM disk DATA01")
        wipe(lun, 0, 4096)
        for au in (1, 2, 4, 8, 16, 32, 64):
            at = 2 * au * MIB - 8192
            put(lun, at, asm_header())
            has_data(lun, r"Oracle ASM disk DATA01 of disk group DATA \(the copy of its header\)")
            wipe(lun, at, at + 4096)
        passes(lun)
        table(lun, "gpt", "start=2048,size=100M")
        put(lun, MIB, asm_header())
        has_data(lun, "GPT partition table; partition 1: Oracle ASM disk DATA01 of disk group DATA")
        wipe(lun, MIB, MIB + 4096)
        put(lun, MIB + 8 * MIB - 8192, asm_header())
        has_data(lun, r"GPT partition table; partition 1: Oracle ASM disk DATA01 of disk group DATA \(the copy of its header\)")
    with loop_of("16M", sector=4096) as lun:
        put(lun, 0, asm_header())
        has_data(lun, "Oracle ASM disk DATA01 of disk group DATA")


@test("a name with control characters reaches nobody's terminal raw")
def _():
    with loop_of("16M") as lun:
        sh("mkfs.ext4", "-q", "-F", "-L", "a\033[31m\nb", "-U", UUID, lun.path)
        has_data(lun, rf'ext4 file system "a\\x1b\[31m\\x0ab", UUID {UUID}')


@test("what cannot be read is refused")
def _():
    with loop_of("16M") as lun:
        os.truncate(lun.backing, 8 * MIB)
        has_data(lun, "cannot be searched for Oracle ASM: Input/output error; cannot be probed for signatures: Input/output error",
                 readable=False)
    with loop_of("640M") as lun:
        os.truncate(lun.backing, 320 * MIB)  # no signature is looked for there
        put(lun.backing, 320 * MIB - 1, b"\0")
        has_data(lun, r"cannot be .*: Input/output error", readable=False)


# ---- use

@test("mounted: in this mount namespace and in another's")
def _():
    with loop_of("16M") as lun, tmpdir() as d:
        ext4(lun)
        with mounted("-o", "ro", lun.path, d):
            in_use(lun, f"{EXT4}, mounted on {d}", f"umount {d}")
        has_data(lun, EXT4)
        other = Running(["unshare", "--mount", "sh", "-c", f"mount -o ro {lun} {d} && exec sleep 100"])
        wait_for(lambda: d in pathlib.Path(f"/proc/{other.pid}/mountinfo").read_text(), "the mount")
        in_use(lun, f"{EXT4}, mounted on {d} in the mount namespace of process {other.pid}",
               f"nsenter -t {other.pid} -m umount {d}")
        other.kill()
        wait_for(lambda: run(TOOL, lun).out.find("mounted") < 0, "the mount's end")
        has_data(lun, EXT4)


@test("swapped on: a device and a file")
def _():
    with loop_of("16M") as lun:
        swap(lun)
        sh("swapon", lun.path)
        undo = Undo(f"swap on {lun}", lambda: sh("swapoff", lun.path))
        in_use(lun, f'swap area "sw", UUID {UUID}, swapped on', f"swapoff {lun}")
        undo()
        has_data(lun, f'swap area "sw", UUID {UUID}')
    with scratch_file("16M", "zero") as f:
        swap(f)
        os.chmod(f, 0o600)
        try:
            sh("swapon", f)
        except RuntimeError as e:
            raise Skip(f"no swap on files: {e}") from None
        undo = Undo(f"swap on {f}", lambda: sh("swapoff", f))
        in_use(f, f'swap area "sw", UUID {UUID}, swapped on', f"swapoff {f}")
        undo()
        has_data(f, f'swap area "sw", UUID {UUID}')


@test("open in another process, though not exclusively: a device and a file; when it ends all is well")
def _():
    with loop_of("16M") as lun, scratch_file("1M") as f:
        for target in (lun, f):
            for flags in (os.O_RDONLY, os.O_RDWR):
                fd = os.open(target, flags)
                holder = Running(["sleep", "100"], stdin=fd)
                os.close(fd)
                in_use(target, rf"open in process {holder.pid} \(sleep\)", f"stop process {holder.pid} (sleep)")
                holder.kill()
            passes(target)


@test("one that has it open for a moment, as udev does, is waited for")
def _():
    with loop_of("16M") as lun:
        fd = os.open(lun, os.O_RDONLY)
        holder = Running(["sleep", "0.3"], stdin=fd)
        os.close(fd)
        passes(lun)
        holder.kill()


@test("opened exclusively by another process: that is who is named")
def _():
    with loop_of("16M") as lun:
        fd = os.open(lun, os.O_RDONLY | os.O_EXCL)
        try:
            in_use(lun, rf"open in process {os.getpid()} \(\S+\)", f"stop process {os.getpid()} (guard.py)")
        finally:
            os.close(fd)
        passes(lun)


@test("a loop device on the file or on the device counts as use, and so does what uses that loop")
def _():
    with tmpdir() as d, scratch_file("16M") as f, loop(f) as lun:
        in_use(f, f"behind the loop device {lun.name}", f"losetup -d {lun}")
        with loop(lun) as second:
            in_use(lun, f"behind the loop device {second.name}", f"losetup -d {second}")
            passes(second)
            ext4(lun)
            with mounted("-o", "ro", second.path, d):
                in_use(lun, f"{EXT4}, {second.name} on it is mounted on {d}", f"umount {d}")
                in_use(f, f"{EXT4}, {second.name} on it is mounted on {d}", f"umount {d}")
            with mounted("-o", "ro", lun.path, d):
                # what lies on a mounted device, which a loop does not claim
                in_use(second, f"{EXT4}, {lun.name} below it is mounted on {d}", f"umount {d}")


@test("two loops over the same bytes of a file use each other, over other bytes of it they do not")
def _():
    with tmpdir() as d, scratch_file("32M") as f:
        with loop(f) as a, loop(f) as b:
            in_use(a, f"behind the loop device {b.name}", f"losetup -d {b}")
            ext4(b)
            with mounted("-o", "ro", b.path, d):
                in_use(a, f"{EXT4}, {b.name} on it is mounted on {d}", f"umount {d}")
            wipe(b, 0, 16 * MIB)
        with loop(f, limit="16M") as a, loop(f, offset="16M") as b:
            passes(a)
            passes(b)


@test("a file below that another process may write to counts, one that it only reads does not")
def _():
    with scratch_file("16M") as f, loop(f) as lun:
        with open(f, "rb"):
            passes(lun)
        with open(f, "r+b"):
            in_use(lun, rf"the file below it is open in process {os.getpid()} \(.*\)", f"stop process {os.getpid()} (guard.py)")


@test("read-only: a device, and a file on a read-only file system")
def _():
    with loop_of("16M", read_only=True) as lun:
        in_use(lun, "read-only", "write access on the array, then blockdev --setrw")
    with loop_of("16M") as lun, tmpdir() as d:
        ext4(lun)
        with mounted(lun.path, d):
            f = make_file(f"{d}/f", "1M")
            sh("mount", "-o", "remount,ro", d)
            in_use(f, "on a read-only file system", "")


@test("who cannot see all processes decides nothing")
def _():
    with scratch_file("1M") as f:
        os.chmod(os.path.dirname(f), 0o755)
        os.chmod(f, 0o666)
        r = run("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", TOOL, f).expect(2)
        has(line_of(r, f), r"^not written to: (.* process .* cannot be seen|/dev/loop\d+ does not tell what it lies on: Permission denied)", "verdict")
    with loop_of("1M") as lun:
        r = run("unshare", "--pid", "--fork", "--mount-proc", TOOL, lun)
        need(r.status == 2, "needs pid namespaces")
        eq(line_of(r, lun), "not written to: from inside a container it cannot be seen what other processes of "
           "the host have open: run it on the host", "verdict")


# ---- the set

@test("of a set every offender is told in one line, and none is opened for writing")
def _():
    with loop_of("16M") as good, loop_of("16M") as asm, loop_of("16M") as fs, loop_of("16M") as used, tmpdir() as d:
        put(asm, 0, asm_header())
        ext4(fs)
        ext4(used)
        with mounted("-o", "ro", used.path, d):
            with untouched(good, asm, fs, used):
                r = guard("--open", "--overwrite", fs, good, asm, fs, used, status=2)
            eq(r.out.splitlines(), [
                f"{good}: may be written to: nothing found on it",
                f'{fs}: may be written to: ext4 file system "data", UUID {UUID}',
                f"{asm}: not written to: Oracle ASM disk DATA01 of disk group DATA; if all of it may be lost: --overwrite {asm}",
                f'{used}: not written to: ext4 file system "data", UUID {UUID}, mounted on {d}; first: umount {d}',
                "nothing was written: 2 of 4 LUNs refused, 1 with data on them (--overwrite for each that may be lost), "
                "1 in use (no option overrides that)"], "the refusal")


@test("what passes is held exclusively until the end, and nothing is written")
def _():
    with loop_of("16M") as a, loop_of("16M", "random") as b, scratch_file("1M") as f:
        before = [sha256(x) for x in (a, b, f)]
        watch = Watch([a.path, b.path])
        r, w = os.pipe()
        tool = Running([TOOL, "--open", "--overwrite", b.path, a, b, f], stdin=r)
        os.close(r)
        fds = pathlib.Path(f"/proc/{tool.pid}/fd")

        def held(lun):
            for fd in fds.iterdir():
                with contextlib.suppress(OSError):
                    if os.path.realpath(fd) == os.fspath(lun):
                        flags = re.search(r"flags:\s*(\d+)", (fds.parent / "fdinfo" / fd.name).read_text())[1]
                        yield int(flags, 8)
        wait_for(lambda: all([x & os.O_ACCMODE for x in held(t)] == [os.O_RDWR] for t in (a, b, f)), "one descriptor each, for writing")
        for lun in (a, b):
            flags = list(held(lun))[0]
            ok(flags & os.O_DIRECT and flags & os.O_CLOEXEC, f"flags {flags:o}")
            try:
                os.close(os.open(lun, os.O_RDONLY | os.O_EXCL))
                fail(f"{lun} is not held exclusively")
            except OSError as e:
                eq(e.errno, 16, "errno")
            # and a second guard sees it
            has(line_of(guard(lun, status=2), lun), rf"open in process {tool.pid} \(guard_tool\)", "verdict")
        eq(watch.seen(), [], "what udev would notice meanwhile")
        os.write(w, b"\n")
        os.close(w)
        tool.wait().expect(0)
        watch.close()
        eq([sha256(x) for x in (a, b, f)], before, "hashes")


main()
