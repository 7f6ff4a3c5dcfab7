#!/usr/bin/python3
"""What is written, as gzip, zstd and a hash of 4 KiB blocks see it: check_data.py WRITE_LUN."""

import hashlib
import pathlib
import shutil
import sys
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

WRITE_LUN = sys.argv.pop(1)
PIECE, BLOCK = 65536, 4096
SHM = "/dev/shm"  # on a disk, the writing of it takes most of the time
WHERE = SHM if os.path.isdir(SHM) and shutil.disk_usage(SHM).free > 1 << 30 else VAR_TMP


@contextlib.contextmanager
def lun(size, total, slots=64, compress=0, dedupe=0):
    with tmpdir(WHERE) as d:
        path = f"{d}/lun"
        with open(path, "wb") as out:
            subprocess.run([WRITE_LUN, str(size), str(total // size), str(slots), str(compress), str(dedupe)],
                           stdout=out, check=True)
        yield path


def zstd_size(path, *how):
    need(shutil.which("zstd"), "needs zstd")
    with subprocess.Popen(["zstd", "-q", "-T1", *how, "-c", path], stdout=subprocess.PIPE) as p:
        return sum(len(part) for part in iter(lambda: p.stdout.read(1 << 20), b""))


def saved_by_zstd(path):
    """Of pieces of 64 KiB, each by itself."""
    need(shutil.which("zstd"), "needs zstd")
    with tmpdir(WHERE) as d:
        sh("split", "-b", str(PIECE), "-a", "5", path, f"{d}/")
        names = sorted(os.listdir(d))[::8]
        sh("zstd", "-q", *(f"{d}/{n}" for n in names))
        return 1 - sum(os.path.getsize(f"{d}/{n}.zst") for n in names) / (PIECE * len(names))


def saved_by_gzip(path):
    data = pathlib.Path(path).read_bytes()
    pieces = [data[i:i + PIECE] for i in range(0, len(data), PIECE * 8)]
    return 1 - sum(len(zlib.compress(p)) for p in pieces) / sum(map(len, pieces))


def duplicates(path):
    data = pathlib.Path(path).read_bytes()
    seen = {hashlib.blake2b(data[i:i + BLOCK], digest_size=12).digest() for i in range(0, len(data), BLOCK)}
    return 1 - len(seen) * BLOCK / len(data)


for size in (512, 8192, 6144, 1 << 20):
    @test(f"writes of {size}: neither gzip nor zstd saves a hundredth, over pieces or over all; no block comes twice")
    def _(size=size):
        with lun(size, 48 << 20) as path:
            for what, saved in (("gzip", saved_by_gzip(path)), ("zstd", saved_by_zstd(path)),
                                ("zstd -3 over all", 1 - zstd_size(path, "-3") / os.path.getsize(path)),
                                ("zstd --long=27", 1 - zstd_size(path, "--long=27") / os.path.getsize(path))):
                ok(saved < 0.01, f"{what} saves {saved:.4f}")
            eq(duplicates(path), 0, "duplicates")


@test("a LUN larger than the pool, written in random order: zstd with a window of 128 MiB finds nothing")
def _():
    with lun(8192, 448 << 20) as path:
        saved = 1 - zstd_size(path, "-1", "--long=27") / os.path.getsize(path)
        note(f"saves {saved:.4f}")
        ok(saved < 0.01, f"saves {saved:.4f}")


for size in (512, 8192):
    for compress, dedupe in ((10, 0), (50, 0), (75, 0), (95, 0), (0, 25), (0, 90), (50, 50), (30, 20)):
        @test(f"writes of {size}, compress {compress}, dedupe {dedupe}: so it is, within 2 points")
        def _(size=size, compress=compress, dedupe=dedupe):
            with lun(size, 32 << 20, compress=compress, dedupe=dedupe) as path:
                got = [100 * f(path) for f in (saved_by_gzip, saved_by_zstd, duplicates)]
                note("gzip {:.2f}, zstd {:.2f}, duplicates {:.2f}".format(*got))
                for what, x, want in zip(("gzip saves", "zstd saves", "duplicates"), got, (compress, compress, dedupe)):
                    near(x, want, what, abs=2)


main()
