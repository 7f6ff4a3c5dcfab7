#!/usr/bin/python3
"""What the command line refuses, word for word, and the pages made from the table of options.

The page of --help is kept in golden/help.txt. When an option changes, look at the difference that
the test shows, and if it is as meant, renew the file:

    LUNBENCH=build/lunbench tests/cli/options.py --renew help
"""

import difflib
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from lbtest import *  # noqa: E402,F403

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
# A target that is not there: were it opened before the options are judged, the status would be 3.
LUN = "/dev/lunbench-test-is-not-there"

SIZE = "use bytes or k, M, G (powers of 1024), e.g. 16k"
TIME = "use seconds or ns, us, ms, s, m, h, d, e.g. 30s"
REGION = "use START-END in bytes (k, M, G) or percent, e.g. 0-10%, 1G-2G, 1G-"
CPUS = "use numbers and ranges, e.g. 0-3,8"
SCRATCH = "use COUNTxSIZE or COUNTxSIZE@DIR, e.g. 4x256M@/mnt"
RATE = "use arrivals a second, or with k, M (powers of 1000), e.g. 1500, 0.5, 10k"
WRITES_NOTHING = "is of writes, and this run writes nothing: --op write, --op rw or --fill does"
COUNT = "1 to 18446744073709551615"

REFUSED = [
    # sizes: A01, A02
    (["--size", "16q"], f'--size: "16q" is no size: {SIZE}'),
    (["--size", "16 k"], f'--size: "16 k" is no size: {SIZE}'),
    (["--size", "-16k"], f'--size: "-16k" is no size: {SIZE}'),
    (["--size=-16k"], f'--size: "-16k" is no size: {SIZE}'),
    (["--size", "+16k"], f'--size: "+16k" is no size: {SIZE}'),
    (["--size", ""], "--size: the value is empty: use SIZE"),
    (["--size="], "--size: the value is empty: use SIZE"),
    (["--size", "0x4000"], f'--size: "0x4000" is no size: {SIZE}'),
    (["--size", "1e4"], f'--size: "1e4" is no size: {SIZE}'),
    (["--size", "nan"], f'--size: "nan" is no size: {SIZE}'),
    (["--size", "1,5k"], f'--size: "1,5k" is no size: {SIZE}'),
    (["--size", "16k,16k"], f'--size: "16k,16k" is no size: {SIZE}'),
    (["--size", "8k:90,1M"], '--size: "8k:90,1M" does not say how many of 100 transfers have each size, e.g. 8k:90,1M:10'),
    (["--size", "8k:90,:10"], f'--size: "" is no size: {SIZE}'),
    (["--size", "8k:90,100:10"], "--size: 100 is out of range (512 to 64M)"),
    (["--size", "8k:90,1000:10"], '--size: "8k:90,1000:10" is no multiple of 512 bytes, the smallest sector'),
    *((["--size", f"8k:{x},1M:10"], f'--size: "8k:{x},1M:10" has a share that is no number from 1 to 100, e.g. 8k:90,1M:10')
      for x in ("", "0", "-5", "101", "9.5", "90%", "x")),
    (["--size", "8k:90,1M:9"], '--size: "8k:90,1M:9" has shares of 99 together, not 100'),
    (["--size", "8k:100,1M:100"], '--size: "8k:100,1M:100" has shares of 200 together, not 100'),
    (["--size", "8k:90,8192:10"], '--size: "8k:90,8192:10" has a size twice'),
    (["--size", "1k:10,2k:10,3k:10,4k:10,5k:10,6k:10,7k:10,8k:10,9k:20"],
     '--size: "1k:10,2k:10,3k:10,4k:10,5k:10,6k:10,7k:10,8k:10,9k:20" has more than 8 sizes'),
    (["--size", "8k:90,1M:10", "--pat", "perm"],
     '--size: "8k:90,1M:10" is a mix, and --pat perm takes each block once: blocks are of one size'),
    (["--size", "1.3k"], '--size: "1.3k" is not a whole number of bytes'),
    (["--size", "0"], "--size: 0 is out of range (512 to 64M)"),
    (["--size", "511"], "--size: 511 is out of range (512 to 64M)"),
    (["--size", "64.5M"], "--size: 64.5M is out of range (512 to 64M)"),
    (["--size", "16384P"], "--size: 16384P is out of range (512 to 64M)"),
    (["--size", "18446744073709568000"], "--size: 18446744073709568000 is out of range (512 to 64M)"),
    (["--size", "1000"], '--size: "1000" is no multiple of 512 bytes, the smallest sector'),
    (["--size", "16\x1b[31mk\n"], rf'--size: "16\x1b[31mk\x0a" is no size: {SIZE}'),
    (["--size", b"16\xff\xc3\xa9k"], f'--size: "16\\xffék" is no size: {SIZE}'),
    # queue depths: A02
    (["--qd", "-1"], '--qd: "-1" is no number: use 1 to 4096'),
    (["--qd", "0"], "--qd: 0 is out of range (1 to 4096)"),
    (["--qd", "4097"], "--qd: 4097 is out of range (1 to 4096)"),
    (["--qd", "4294967297"], "--qd: 4294967297 is out of range (1 to 4096)"),
    (["--qd", "18446744073709551617"], "--qd: 18446744073709551617 is out of range (1 to 4096)"),
    (["--qd", "99999999999999999999"], "--qd: 99999999999999999999 is out of range (1 to 4096)"),
    (["--qd", "64x"], '--qd: "64x" is no number: use 1 to 4096'),
    (["--qd", "1.0"], '--qd: "1.0" is no number: use 1 to 4096'),
    (["--qd", "1k"], '--qd: "1k" is no number: use 1 to 4096'),
    (["--qd", ""], "--qd: the value is empty: use 1 to 4096"),
    # durations: A04
    (["--time", "0"], "--time: 0 is out of range (1us to 365d)"),
    (["--time", "0s"], "--time: 0s is out of range (1us to 365d)"),
    (["--time", "0.000"], "--time: 0.000 is out of range (1us to 365d)"),
    (["--time", ""], f"--time: the value is empty: {TIME}"),
    (["--time", "366d"], "--time: 366d is out of range (1us to 365d)"),
    (["--time", "999999d"], "--time: 999999d is out of range (1us to 365d)"),
    (["--time", "-30s"], f'--time: "-30s" is no duration: {TIME}'),
    (["--time", "5min"], f'--time: "5min" is no duration: {TIME}'),
    (["--time", "5M"], f'--time: "5M" is no duration: {TIME}'),
    (["--time", "inf"], f'--time: "inf" is no duration: {TIME}'),
    (["--time", "0.1ns"], '--time: "0.1ns" is not a whole number of nanoseconds'),
    (["--ramp", "-1"], f'--ramp: "-1" is no duration: {TIME}'),
    (["--ramp", "366d"], "--ramp: 366d is out of range (0s to 365d)"),
    (["--drain", "2d"], "--drain: 2d is out of range (0s to 1d)"),
    # other numbers
    (["--count", "0"], f"--count: 0 is out of range ({COUNT})"),
    (["--count", "-1"], f'--count: "-1" is no number: use {COUNT}'),
    (["--count", "18446744073709551616"], f"--count: 18446744073709551616 is out of range ({COUNT})"),
    (["--seed", "-1"], '--seed: "-1" is no number: use 0 to 18446744073709551615'),
    (["--seed", "random"], '--seed: "random" is no number: use 0 to 18446744073709551615'),
    (["--workers", "0"], "--workers: 0 is out of range (1 to 1024)"),
    (["--workers", "1025"], "--workers: 1025 is out of range (1 to 1024)"),
    (["--threads-per-lun", "0"], "--threads-per-lun: 0 is out of range (1 to 4096)"),
    (["--threads-per-lun", "33"], '--threads-per-lun: "33" is more than --qd 32: each thread needs a transfer of its own'),
    (["--qd=1", "--threads-per-lun=2"], '--threads-per-lun: "2" is more than --qd 1: each thread needs a transfer of its own'),
    (["--seq-streams", "2"], '--seq-streams: "2" goes with --pat seq'),
    (["--pat", "seq", "--seq-streams", "33"], '--seq-streams: "33" is more than --qd 32: each stream needs a transfer of its own'),
    (["--think", "soon"], '--think: "soon" is no duration: use seconds or ns, us, ms, s, m, h, d, e.g. 30s'),
    (["--think", "25h"], "--think: 25h is out of range (0s to 1d)"),
    (["--think", "1ms", "--rate", "5"], '--think: "1ms" goes with a closed loop: with a rate the next transfer comes when it is due'),
    (["--think", "60s", "--count", "5"], '--think: "60s" is as long as a run with --count and without --time waits for a LUN: '
                                         "give --time, or a longer --drain"),
    # words
    (["--op", "write"], "--op write destroys what is in the region of every LUN given: if that is meant, say --allow-write"),
    (["--op", "rw"], "--op rw destroys what is in the region of every LUN given: if that is meant, say --allow-write"),
    (["--op", "READ"], '--op: "READ" is not known: use read, write, rw'),
    (["--pat", "random"], '--pat: "random" is not known: use rand, seq, perm, zipf:THETA or hot:BLOCKS/XFERS'),
    (["--pat", "zipf"], '--pat: "zipf" is not known: use rand, seq, perm, zipf:THETA or hot:BLOCKS/XFERS'),
    *((["--pat", f"zipf:{x}"], f'--pat: "zipf:{x}" has no theta between 0 and 2 with at most four decimals, e.g. zipf:0.99')
      for x in ("", "0", "2", "-1", "0.00001", "1,5", "nan", "1e-1", "99999999999999999999999999999999")),
    *((["--pat", f"hot:{x}"], f'--pat: "hot:{x}" does not say how many percent of the blocks get how many percent of the transfers, '
                              "each more than 0 and less than 100, e.g. hot:20/80")
      for x in ("", "20", "20/", "/80", "0/80", "20/100", "20/80/1", "20%/80%", "0.00001/5")),
    (["--pat", "hot:80/20"], '--pat: "hot:80/20" gives the hot blocks no more than their share: the blocks come first, e.g. hot:20/80'),
    (["--engine", "posix"], '--engine: "posix" is not known: use auto, io_uring, libaio, sync, null'),
    (["--hist=bars"], '--hist: "bars" is not known: use none, total, each'),
    (["--hist="], "--hist: the value is empty: use none, total, each"),
    (["--progress", "yes"], '--progress: "yes" is not known: use auto, always, never'),
    # regions
    (["--region", "50%"], f'--region: "50%" is no region: {REGION}'),
    (["--region", "-"], f'--region: "-" is no region: {REGION}'),
    (["--region", "-10%"], f'--region: "-10%" is no region: {REGION}'),
    (["--region", "0-10%-"], f'--region: "0-10%-" is no region: {REGION}'),
    (["--region", "0..10%"], f'--region: "0..10%" is no region: {REGION}'),
    (["--region", "0-101%"], '--region: "0-101%" goes past 100%'),
    (["--region", "10-20%"], '--region: "10-20%" mixes percent with a number that has no unit: use e.g. 10%-20% or 10M-20%'),
    (["--region", "20%-10%"], '--region: "20%-10%" is empty: its end must lie after its start'),
    (["--region", "1G-1G"], '--region: "1G-1G" is empty: its end must lie after its start'),
    (["--region", "0-0.00001%"], '--region: "0-0.00001%" is too fine: use whole bytes, or percent with at most four decimals'),
    (["--region", "0-99999P"], '--region: "0-99999P" is past any LUN\'s size'),
    (["--region", "100-1M"], '--region: "100-1M" does not lie on sectors: use multiples of 512 bytes'),
    (["--region", "1M-1028k"], '--region: "1M-1028k" is smaller than one transfer of --size 8k'),
    # CPUs
    (["--cpus", "3-"], f'--cpus: "3-" is no list of CPUs: {CPUS}'),
    (["--cpus", "0,,1"], f'--cpus: "0,,1" is no list of CPUs: {CPUS}'),
    (["--cpus", "3-1"], f'--cpus: "3-1" is no list of CPUs: {CPUS}'),
    (["--cpus", "1024"], '--cpus: "1024" has a CPU past 1023, the highest there can be'),
    # targets
    ([""], "target 2 has an empty name: name a block device or a file"),
    (["--targets", "/lunbench-test-no-list"], '--targets: "/lunbench-test-no-list" cannot be read: No such file or directory'),
    (["--targets", "/"], '--targets: "/" cannot be read: Is a directory'),
    (["--targets", "/dev/zero"], '--targets: "/dev/zero" is no list of LUNs: it is larger than 16M'),
    (["--targets", ""], "--targets: the value is empty: use FILE"),
    (["--scratch", "4"], f'--scratch: "4" is no set of files: {SCRATCH}'),
    (["--scratch", "4x256M@"], f'--scratch: "4x256M@" is no set of files: {SCRATCH}'),
    (["--scratch", "-1x1M"], f'--scratch: "-1x1M" is no set of files: {SCRATCH}'),
    (["--scratch", "0x1M"], '--scratch: "0x1M" is out of range: 1 to 1000 files of 1M to 1P'),
    (["--scratch", "1001x1M"], '--scratch: "1001x1M" is out of range: 1 to 1000 files of 1M to 1P'),
    (["--scratch", "1x1023k"], '--scratch: "1x1023k" is out of range: 1 to 1000 files of 1M to 1P'),
    # the null engine's
    (["--null-latency", "5ms"], '--null-latency: "5ms" needs --engine null'),
    (["--engine", "sync", "--null-script", "lose:7"], '--null-script: "lose:7" needs --engine null'),
    (["--engine", "null", "--null-script", "\x1b"],
     r"--null-script '\x1b': at character 1, '\x1b': an event is needed: error:EVERY:ERRNO, short:EVERY:BYTES, stall:FROM:FOR, "
     "lose:NTH, dead:FROM, slow:FACTOR or gone:FROM:ERRNO, each with @LUN or not"),
    # of an open loop
    (["--rate", "fast"], f'--rate: "fast" is no rate: {RATE}'),
    (["--rate", "-5"], f'--rate: "-5" is no rate: {RATE}'),
    (["--rate", "5/s"], f'--rate: "5/s" is no rate: {RATE}'),
    (["--rate", "0.0001"], '--rate: "0.0001" is too fine: use at most three decimals'),
    (["--rate", "0"], '--rate: "0" is out of range: 0.001 to 10M'),
    (["--rate-total", "10000001"], '--rate-total: "10000001" is out of range: 0.001 to 10M'),
    (["--rate", "5", "--rate-total", "5"], '--rate-total: "5" is over all LUNs, and --rate is of each: give one of them'),
    (["--arrival", "poisson"], "--arrival is of a run at a rate: --rate N or --rate-total N is missing"),
    (["--catch-up", "qd"], "--catch-up is of a run at a rate: --rate N or --rate-total N is missing"),
    (["--rate", "5", "--arrival", "random"], '--arrival: "random" is not known: use fixed, poisson'),
    # options as such
    (["--sise", "16k"], 'unknown option "--sise": did you mean --size?'),
    (["--patt=rand"], 'unknown option "--patt": did you mean --pat?'),
    (["--threads=4"], 'unknown option "--threads": did you mean --threads-per-lun?'),
    (["--write-all"], 'unknown option "--write-all": --help lists them all'),
    (["--fill"], "--fill destroys what is in the region of every LUN given: if that is meant, say --allow-write"),
    (["--allow-write"], f"--allow-write {WRITES_NOTHING}"),
    (["--overwrite", "a", "--overwrite", "b"], f"--overwrite {WRITES_NOTHING}"),
    (["--sync", "dsync"], f"--sync {WRITES_NOTHING}"),
    (["--compress", "50"], f"--compress {WRITES_NOTHING}"),
    (["--dedupe", "50"], f"--dedupe {WRITES_NOTHING}"),
    (["--read-pct", "50"], '--read-pct: "50" goes with --op rw, not with --op read'),
    (["--op", "write", "--read-pct", "50"], '--read-pct: "50" goes with --op rw, not with --op write'),
    (["--op", "rw", "--read-pct", "101"], "--read-pct: 101 is out of range (0 to 100)"),
    (["-x"], 'unknown option "-x": --help lists them all'),
    (["-16k"], 'unknown option "-16k": --help lists them all'),
    (["/que=64", "---"], 'unknown option "---": --help lists them all'),
    (["--help=all"], '--help takes no value: "all"'),
    (["-hV"], '--help takes no value: "V"'),
    (["--size", "16k", "--size", "32k"], '--size is given twice: "16k" and "32k"'),
    (["--hist", "--hist=each"], '--hist is given twice: "total" and "each"'),
    (["--json", "--hist"], '--json needs a value, and "--hist" follows: use FILE'),
    (["--json", ""], "--json: the value is empty: use FILE"),
    (["--size", "16q", "--help"], f'--size: "16q" is no size: {SIZE}'),
]


def refuses(args, message):
    r = lunbench(*args)
    r.expect(2)
    eq(r.err, f"lunbench: {message}\n", "stderr")
    eq(r.out, "", "stdout")


def shown(args):
    return " ".join(repr(a)[1:] if isinstance(a, bytes) else repr(a) for a in args)


for args, message in REFUSED:
    @test(f"refused: {shown(args)}")
    def _(args=args, message=message):
        # lunbench() makes text of its arguments
        args = [a.decode(errors="surrogateescape") if isinstance(a, bytes) else a for a in args]
        refuses([LUN, *args], message)


@test("refused: a value left out at the end")
def _():
    refuses([LUN, "--qd"], "--qd needs a value: use 1 to 4096")
    refuses([LUN, "--json"], "--json needs a value: use FILE")


@test("refused: no target")
def _():
    refuses([], "no target given: name block devices or files, or use --scratch")
    refuses(["--size", "16k", "--"], "no target given: name block devices or files, or use --scratch")


@test("refused: CPUs that this process may not use, all of them named")
def _():
    cpu = min(os.sched_getaffinity(0))
    r = lunbench("--cpus", f"{cpu},1000-1002,1020", LUN, before=lambda: os.sched_setaffinity(0, [cpu]))
    r.expect(2)
    eq(r.err, f'lunbench: --cpus: "{cpu},1000-1002,1020" asks for CPUs that are not there or not allowed: '
       f"1000-1002,1020; this process may use {cpu}\n", "stderr")


@test("refused: a list of targets that is none")
def _():
    with tmpdir() as d:
        path = f"{d}/list"
        for content, message in ((b"/dev/sda\n\0", "is no list of LUNs: it is not text (it has a NUL byte)"),
                                 (b"# all gone\r\n\r\n", "names no target"), (b"", "names no target")):
            pathlib.Path(path).write_bytes(content)
            refuses(["--targets", path], f'--targets: "{path}" {message}')


@test("refused: a list of targets that may not be read")
def _():
    need_root()
    with tmpdir() as d:
        path = pathlib.Path(d, "list")
        path.write_text("/dev/sda\n")
        os.chmod(path, 0)
        r = lunbench("--targets", path, before=lambda: (os.setgroups([]), os.setgid(65534), os.setuid(65534)))
        os_error = "Permission denied"
        eq((r.status, r.err), (2, f'lunbench: --targets: "{path}" cannot be read: {os_error}\n'), "status and stderr")


@test("a very long value is shown in short")
def _():
    for args in (["--size", "9" * 100000], ["--qd", "x" * 100000], ["--" + "y" * 100000], ["--scratch", "1x1M@" + "z" * 100000]):
        r = lunbench(LUN, *args)
        r.expect(2, err=r"\.\.\.")
        ok(len(r.err) < 300, f"{len(r.err)} characters: {r.err[:400]}")


@test("no locale changes what a number is")
def _():
    for locale in ("de_DE.UTF-8", "C.UTF-8", "C"):
        r = lunbench(LUN, "--time", "1,5", env={"LC_ALL": locale})
        eq((r.status, r.err), (2, f'lunbench: --time: "1,5" is no duration: {TIME}\n'), "status and stderr")
        r = lunbench("--time", "0.25", "--engine", "null", "--null-latency", "1ms", "--scratch", "1x1M", env={"LC_ALL": locale})
        r.expect(0, out=r"^measured 0\.250 s ")


# A01, A04: what is taken, as the result file tells it

SIZES = {"16k": 16384, "16K": 16384, "16KiB": 16384, "16kb": 16384, "16KB": 16384, "16384": 16384, "0.5M": 524288, "512": 512,
         "1m": 1 << 20}


@test("a size is the same bytes however it is written, and powers of 1024")
def _():
    for text, size in SIZES.items():
        doc = lunbench("--size", text, "--engine", "null", "--qd", "1", "--time", "1ms", "--scratch", "1x1M", "--json", "-").json
        eq(doc["plan"]["phases"][0]["streams"][0]["size_bytes"], size, f"size_bytes of {text}")
        eq(doc["total"]["bytes"], doc["total"]["xfers"] * size, f"bytes with {text}")
        eq(doc["options"]["size"], {"value": text, "source": "command line"}, "the option's echo")


@test("a time too short for one transfer gives nulls and status 1")
def _():
    r = lunbench("--time", "0.0001", "--engine", "null", "--null-latency", "5ms", "--scratch", "1x1M", "--json", "-").expect(1)
    eq((r.json["window_s"], r.json["total"]["xfers"]), (0.0001, 0), "window and xfers")
    for key in ("min_ns", "mean_ns", "p50_ns", "p99_ns"):
        eq(r.json["total"]["latency"][key], None, key)


@test("without --time and --count the result says 30s, the default; with --count nothing")
def _():
    quick = ["--engine", "null", "--null-latency", "1ms", "--qd", "1", "--scratch", "1x1M", "--json", "-"]
    doc = lunbench(*quick).expect((0, 1)).json
    eq((doc["options"]["time"], doc["window_s"]), ({"value": "30s", "source": "default"}, 30.0), "time")
    doc = lunbench(*quick, "--count", "7").expect((0, 1)).json
    eq((doc["options"]["time"]["value"], doc["total"]["xfers"]), (None, 7), "time and xfers")


@test("the page of --help is as it was")
def _():
    golden = GOLDEN / "help.txt"
    for args in (["--help"], ["-h"], [LUN, "--size", "4k", "--help", "--targets", "/none"]):
        r = lunbench(*args).expect(0)
        eq(r.err, "", "stderr")
        if "--renew" in sys.argv:
            golden.write_text(r.out)
        diff = "\n".join(difflib.unified_diff(golden.read_text().splitlines(), r.out.splitlines(), "golden", "now", lineterm=""))
        ok(not diff, f"{diff}\nsee the head of this file")
    long = [line for line in r.out.splitlines() if len(line) > 80]
    eq(long, [], "lines of more than 80 columns")


@test("--version is the project's")
def _():
    version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]
    for option in ("--version", "-V"):
        r = lunbench(option).expect(0)
        eq((r.out, r.err), (f"lunbench {version}\n", ""), "stdout and stderr")


def made_file(*name):
    """A file that the build made beside the program."""
    path = pathlib.Path(program()).parent.joinpath(*name)
    need(path.exists(), f"needs {path}")
    return path


@test("the manual has every option of --help")
def _():
    page = made_file("man", "lunbench.8").read_text().replace("\\-", "-")
    options = re.findall(r"^  (--[\w-]+)", lunbench("--help").expect(0).out, re.MULTILINE)
    ok(len(options) > 15, f"only {options} in --help")
    lacking = [o for o in options if not re.search(rf"^\.It .*Fl {o[1:]}( |$)", page, re.MULTILINE)]
    eq(lacking, [], "options that the manual lacks")


@test("bash completes options, words and files")
def _():
    need(os.path.exists("/bin/bash"), "needs bash")
    script = made_file("man", "lunbench")

    def complete(*words):
        """What is offered for the last of the words, split as bash splits them."""
        r = run("/bin/bash", "-c", 'compopt() { echo "compopt $*"; }; . "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _lunbench; '
                'printf "%s\\n" "${COMPREPLY[@]}"', "bash", script, "lunbench", *words).expect(0)
        eq(r.err, "", "stderr")
        return r.out.split("\n")[:-1]

    eq(complete("--th"), ["--think", "--threads-per-lun"], "options")
    options = re.findall(r"^  (--[\w-]+)", lunbench("--help").out, re.MULTILINE)
    eq(complete("--"), options, "all options")
    eq(complete("--pat", ""), ["rand", "seq", "perm", "zipf:", "hot:"], "words")
    eq(complete("--pat", "=", "s"), ["seq"], "words after =")
    eq(complete("--pat", "="), ["rand", "seq", "perm", "zipf:", "hot:"], "words after = alone")
    eq(complete("--hist", ""), [""], "an optional value: a LUN comes next")
    eq(complete("--hist", "=", "e"), ["each"], "an optional value after =")
    eq(complete("--size", ""), ["compopt +o default", ""], "a number: no files")
    eq(complete("--json", ""), [""], "a file: bash's own way")
    eq(complete("/dev/m"), [""], "a LUN: bash's own way")


main()
