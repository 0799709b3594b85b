"""Traces: every access of a program is in its log, where it was asked for, however the program ends."""

from __future__ import annotations

import gzip
import os
import random
import signal
import struct
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import places
import pytest
import traced
from observed import Observe, Observed

LAYERS = Path(os.environ.get("IOLENS_LAYERS", places.CORPUS.parent / "layers"))
PYTHON = ["/usr/bin/python3", "-S", "-c"]
WRITES_AND_READS = """
import os
f = os.open('file', os.O_RDWR | os.O_CREAT)
for n in range(4):
    os.write(f, b'x' * 100)
os.pread(f, 50, 300)
os.pread(f, 50, 380)
os.pread(f, 50, 1000)
os.lseek(f, 0, 0)
os.readv(f, [bytearray(10), bytearray(20)])
os.writev(f, [b'12', b'345'])
"""
OF_THAT = {
    ("POSIX", "file", 0, "write"): [(0, 100), (100, 100), (200, 100), (300, 100), (30, 5)],
    ("POSIX", "file", 0, "read"): [(300, 50), (380, 20), (1000, 0), (0, 30)],
}


def run(observe: Observe, command: Sequence[str | Path], cwd: Path, **settings: object) -> Observed:
    """Traced, unless the settings say when."""
    chosen = settings or {"IOLENS_TRACE": 1}
    return observe(command, cwd=cwd, env={**os.environ, **{k: str(v) for k, v in chosen.items()}})


def partial(log: Path) -> int:
    return int.from_bytes(log.read_bytes()[24:32], "little")


def test_accesses_are_in_the_log(observe: Observe, tmp_path: Path) -> None:
    seen = observe([*PYTHON, WRITES_AND_READS], cwd=tmp_path, options=["--quiet", "--trace"])
    found = traced.segments(seen.log)
    assert traced.accesses(found) == OF_THAT
    record = seen.records["POSIX", str(tmp_path / "file"), 0]
    first = float(record["POSIX_F_OPEN_START_TIMESTAMP"])
    assert all(first <= s.start <= s.end for s in found)
    writes = [s for s in found if s.kind == "write"]
    assert all(a.end <= b.start for a, b in zip(writes, writes[1:]))
    assert not partial(seen.log)


SPELLINGS = [
    ({"IOLENS_TRACE": "1"}, ""),
    ({"IOLENS_TRACE": "on"}, ""),
    ({"DARSHAN_TRACE": "on"}, ""),
    ({"DXT_ENABLE_IO_TRACE": "0"}, ""),
    ({"DARSHAN_MOD_ENABLE": "DXT_POSIX,DXT_MPIIO"}, ""),
    ({"IOLENS_MOD_ENABLE": "DXT_POSIX"}, ""),
    ({"DARSHAN_MOD_ENABLE": "*"}, ""),
    ({}, "MOD_ENABLE DXT_POSIX,DXT_MPIIO\n"),
    ({}, "TRACE on\n"),
    ({}, "MOD_DISABLE *\nMOD_ENABLE POSIX,DXT_POSIX\n"),
]
NOT_ASKED = [
    ({}, ""),
    ({"IOLENS_TRACE": "0"}, ""),
    ({"IOLENS_TRACE": "off"}, "MAX_RECORDS 10 DXT_POSIX\n"),
    ({"IOLENS_TRACE": "sometimes"}, ""),
    ({"IOLENS_TRACE": "1", "IOLENS_MOD_DISABLE": "DXT_POSIX"}, ""),
    ({"IOLENS_MOD_ENABLE": "DXT_MPIIO"}, ""),
]


@pytest.mark.parametrize(
    ("settings", "file", "asked"), [(*s, True) for s in SPELLINGS] + [(*s, False) for s in NOT_ASKED]
)
def test_who_asks_for_a_trace_has_one(
    observe: Observe, tmp_path: Path, settings: dict[str, str], file: str, asked: bool
) -> None:
    given = tmp_path / "settings"
    given.write_text(file)
    (tmp_path / "work").mkdir()
    seen = run(observe, [*PYTHON, WRITES_AND_READS], tmp_path / "work", IOLENS_CONFIG_PATH=given, **settings)
    assert seen.done.returncode == 0
    assert traced.accesses(traced.segments(seen.log)) == (OF_THAT if asked else {})


def test_files_are_left_out_by_name(observe: Observe, tmp_path: Path) -> None:
    program = "[open(n, 'wb', 0).write(b'12') for n in ('a.dat', 'b.dat', 'b.tmp')]"
    config = tmp_path / "settings"
    config.write_text("NAME_EXCLUDE \\.tmp$,^/.*a DXT_POSIX\nNAME_INCLUDE a\\.dat$ DXT_POSIX\n")
    seen = run(observe, [*PYTHON, program], tmp_path, IOLENS_CONFIG_PATH=config, IOLENS_TRACE=1)
    names = {Path(s.file).name for s in traced.segments(seen.log)}
    assert names == {"a.dat"}
    assert {Path(name).name for name in seen.files("POSIX")} >= {"a.dat", "b.dat", "b.tmp"}


def test_other_readers_agree(observe: Observe, tmp_path: Path, oracle: ModuleType) -> None:
    seen = run(observe, [*PYTHON, WRITES_AND_READS], tmp_path)
    log = oracle.Log(str(seen.log))
    assert traced.segments(seen.log) == traced.of_lines(oracle.dxt_lines(log))
    darshan = pytest.importorskip("darshan", reason="PyDarshan is not installed")
    report = darshan.DarshanReport(str(seen.log), read_all=False)
    report.mod_read_all_dxt_records("DXT_POSIX")
    (record,) = report.records["DXT_POSIX"].to_df()
    assert (record["write_count"], record["read_count"]) == (5, 4)
    got = [(int(row.offset), int(row.length)) for row in record["write_segments"].itertuples()]
    assert got == OF_THAT["POSIX", "file", 0, "write"]


def test_pydarshan_names_agree(observe: Observe, tmp_path: Path) -> None:
    from iolens import pydarshan

    seen = run(observe, [*PYTHON, WRITES_AND_READS], tmp_path)
    report = pydarshan.DarshanReport(str(seen.log), read_all=True)
    (record,) = report.records["DXT_POSIX"].to_df()
    assert record["hostname"] == os.uname().nodename
    got = [(int(row.offset), int(row.length)) for row in record["read_segments"].itertuples()]
    assert got == OF_THAT["POSIX", "file", 0, "read"]


MANY = """
import os
f = os.open('file', os.O_RDWR | os.O_CREAT)
for n in range({}):
    os.pwrite(f, b'x' * {length}, {offset})
"""


def test_a_trace_may_be_larger_than_any_buffer(observe: Observe, tmp_path: Path, oracle: ModuleType) -> None:
    program = MANY.format(300_000, length="(1 + n % 7)", offset="(n * 7919 % 100003)")
    seen = run(observe, [*PYTHON, program], tmp_path)
    assert not partial(seen.log)
    found = traced.accesses(traced.segments(seen.log))
    wanted = [(n * 7919 % 100003, 1 + n % 7) for n in range(300_000)]
    assert found == {("POSIX", "file", 0, "write"): wanted}
    assert len([line for line in oracle.dxt_lines(oracle.Log(str(seen.log))) if "X_POSIX" in line]) == 300_000


def test_what_does_not_fit_is_the_newest_and_the_log_says_so(observe: Observe, tmp_path: Path) -> None:
    program = MANY.format(200_000, length="4", offset="n * 4")
    seen = run(observe, [*PYTHON, program], tmp_path, IOLENS_TRACE=1, IOLENS_TRACE_BUDGET=0.125)
    assert partial(seen.log) == 1 << 10
    kept = traced.accesses(traced.segments(seen.log))["POSIX", "file", 0, "write"]
    assert kept == [(n * 4, 4) for n in range(len(kept))]
    assert 20_000 < len(kept) < 45_000
    assert seen.total("POSIX", "WRITES") == 200_000


def test_records_of_traces_are_kibibytes(observe: Observe, tmp_path: Path) -> None:
    (tmp_path / "settings").write_text("TRACE on\nMAX_RECORDS 64 DXT_POSIX\n")
    program = MANY.format(60_000, length="4", offset="n * 4")
    seen = run(observe, [*PYTHON, program], tmp_path, IOLENS_CONFIG_PATH=tmp_path / "settings")
    assert partial(seen.log) == 1 << 10
    assert 10_000 < len(traced.segments(seen.log)) <= 64 * 1024 // 3


def test_a_ring_keeps_the_newest(observe: Observe, tmp_path: Path) -> None:
    program = MANY.format(200_000, length="4", offset="n * 4") + "os.write(os.open('late', 65), b'x')"
    settings = {"IOLENS_TRACE": 1, "IOLENS_TRACE_BUDGET": 0.125, "IOLENS_TRACE_KEEP": "newest"}
    seen = run(observe, [*PYTHON, program], tmp_path, **settings)
    assert partial(seen.log) == 1 << 10
    found = traced.accesses(traced.segments(seen.log))
    kept = found["POSIX", "file", 0, "write"]
    assert kept == [(n * 4, 4) for n in range(200_000 - len(kept), 200_000)]
    assert 20_000 < len(kept) < 45_000
    assert found["POSIX", "late", 0, "write"] == [(0, 1)]


def test_a_window_of_time(observe: Observe, tmp_path: Path) -> None:
    program = """
import os, time
f = os.open('file', os.O_RDWR | os.O_CREAT)
for n in range(5):
    os.pwrite(f, b'x', n)
    time.sleep(0.4)
"""
    wide = run(observe, [*PYTHON, program], tmp_path, IOLENS_TRACE=1, IOLENS_TRACE_WINDOW=":100")
    assert len(traced.segments(wide.log)) == 5
    seen = run(observe, [*PYTHON, program], tmp_path, IOLENS_TRACE=1, IOLENS_TRACE_WINDOW="0.3:1.3")
    found = traced.segments(seen.log)
    assert 1 <= len(found) <= 3
    assert all(0.29 <= s.start <= 1.31 for s in found)


@pytest.mark.parametrize(("budget", "told"), [(0.125, True), (4, False)])
def test_the_summary_says_when_a_trace_is_incomplete(
    observe: Observe, tmp_path: Path, budget: float, told: bool
) -> None:
    program = MANY.format(60_000, length="4", offset="n * 4")
    env = {**os.environ, "IOLENS_TRACE_BUDGET": str(budget)}
    seen = observe([*PYTHON, program], cwd=tmp_path, env=env, options=["--trace"])
    assert (b"\n  trace         incomplete: there was no room" in seen.done.stderr) == told


def test_many_files_share_the_room(observe: Observe, tmp_path: Path) -> None:
    program = "for n in range(2000):\n with open(f'f{n}', 'wb', 0) as f: f.write(b'x' * n)"
    seen = run(observe, [*PYTHON, program], tmp_path, IOLENS_TRACE=1, IOLENS_TRACE_BUDGET=1)
    found = traced.accesses(traced.segments(seen.log))
    assert found == {("POSIX", f"f{n}", 0, "write"): [(0, n)] for n in range(2000)}
    assert not partial(seen.log)


def test_a_killed_process_keeps_its_trace(observe: Observe, tmp_path: Path) -> None:
    program = MANY.format(5000, length="4", offset="n * 4") + "os.kill(os.getpid(), 9)"
    seen = run(observe, [*PYTHON, program], tmp_path)
    assert seen.done.returncode == -signal.SIGKILL
    assert traced.accesses(traced.segments(seen.log)) == {
        ("POSIX", "file", 0, "write"): [(n * 4, 4) for n in range(5000)]
    }


def test_recover_brings_the_trace(preload: Path, iolens: Path, tmp_path: Path) -> None:
    program = MANY.format(100, length="4", offset="n * 4") + "os.kill(os.getpid(), 9)"
    stores = tmp_path / "stores"
    stores.mkdir()
    own = {"LD_PRELOAD": str(preload), "IOLENS_ENABLE_NONMPI": "1", "IOLENS_TMPDIR": str(stores)}
    env = {**os.environ, **own, "IOLENS_TRACE": "1", "IOLENS_ABANDONED": "keep"}
    subprocess.run([*PYTHON, program], cwd=tmp_path, env=env, check=False)
    (store,) = stores.rglob("*.store")
    wanted = {("POSIX", "file", 0, "write"): [(n * 4, 4) for n in range(100)]}
    whole = tmp_path / "whole.darshan"
    subprocess.run([iolens, "recover", "-o", whole, store.parent], check=True, capture_output=True)
    assert traced.accesses(traced.segments(whole)) == wanted
    cut = store.read_bytes()
    store.write_bytes(cut[: len(cut) - 8192])
    torn = tmp_path / "torn.darshan"
    done = subprocess.run([iolens, "recover", "-o", torn, store.parent], check=False, capture_output=True)
    assert done.returncode in (0, 4), done.stderr
    assert traced.accesses(traced.segments(torn)) == wanted


def test_a_process_alone_has_its_trace(preload: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.darshan"
    own = {"LD_PRELOAD": str(preload), "IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGFILE": str(log)}
    env = {**os.environ, **own, "IOLENS_TRACE": "1", "IOLENS_ABANDONED": "keep"}
    subprocess.run([*PYTHON, WRITES_AND_READS], cwd=tmp_path, env=env, check=True)
    assert traced.accesses(traced.segments(log)) == OF_THAT


def test_each_process_of_a_tree_is_a_rank(observe: Observe, tmp_path: Path) -> None:
    program = """
import os
f = os.open('file', os.O_RDWR | os.O_CREAT)
os.pwrite(f, b'parent', 0)
if not os.fork():
    os.pwrite(f, b'child', 10)
    os._exit(0)
os.wait()
os.pwrite(f, b'parent', 20)
"""
    seen = run(observe, [*PYTHON, program], tmp_path)
    assert traced.accesses(traced.segments(seen.log)) == {
        ("POSIX", "file", 0, "write"): [(0, 6), (20, 6)],
        ("POSIX", "file", 1, "write"): [(10, 5)],
    }


THREADS = r"""
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
static int fd;
static void *work(void *number)
{
	char c = 0;
	for (long n = 0; n < 2000; n++)
		if (pwrite(fd, &c, 1, ((long)number * 2000 + n) * 3) != 1)
			return number;
	return NULL;
}
int main(void)
{
	pthread_t t[4];
	fd = open("file", O_RDWR | O_CREAT, 0600);
	for (long n = 0; n < 4; n++)
		pthread_create(&t[n], NULL, work, (void *)n);
	for (int n = 0; n < 4; n++)
		pthread_join(t[n], NULL);
	return 0;
}
"""


def test_threads_on_one_file(
    observe: Observe, tmp_path: Path, compile_program: Callable[[str], Path]
) -> None:
    seen = run(observe, [compile_program(THREADS)], tmp_path)
    found = traced.accesses(traced.segments(seen.log))["POSIX", "file", 0, "write"]
    assert sorted(found) == [(n * 3, 1) for n in range(8000)]
    for thread in range(4):
        mine = [at for at, _ in found if at // 6000 == thread]
        assert mine == sorted(mine)


RING_OF_THREADS = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *work(void *number)
{
	char c = 0, name[16];
	int fd[3];
	for (int n = 0; n < 3; n++) {
		snprintf(name, sizeof name, "f%d.%d", (int)(long)number, n);
		fd[n] = open(name, O_RDWR | O_CREAT, 0600);
	}
	for (long n = 0; n < 30000; n++)
		if (pwrite(fd[n % 3], &c, 1, n * n % 1000003) != 1)
			return number;
	return NULL;
}
int main(void)
{
	pthread_t t[4];
	for (long n = 0; n < 4; n++)
		pthread_create(&t[n], NULL, work, (void *)n);
	for (int n = 0; n < 4; n++)
		pthread_join(t[n], NULL);
	return 0;
}
"""


def test_threads_that_take_each_others_chunks(
    observe: Observe, tmp_path: Path, compile_program: Callable[[str], Path]
) -> None:
    settings = {"IOLENS_TRACE": 1, "IOLENS_TRACE_BUDGET": 0.0625, "IOLENS_TRACE_KEEP": "newest"}
    seen = run(observe, [compile_program(RING_OF_THREADS)], tmp_path, **settings)
    assert seen.done.returncode == 0
    found = traced.accesses(traced.segments(seen.log))
    assert sum(map(len, found.values())) > 5000
    for (_, name, _, kind), accesses in found.items():
        all_of_it = [(n * n % 1000003, 1) for n in range(int(name[-1]), 30000, 3)]
        assert kind == "write"
        assert accesses == all_of_it[-len(accesses) :], name


def test_damaged_stores_make_a_log_or_a_line(preload: Path, iolens: Path, tmp_path: Path) -> None:
    program = MANY.format(3000, length="(1 + n % 9)", offset="n * n") + "os.kill(os.getpid(), 9)"
    stores = tmp_path / "stores"
    stores.mkdir()
    own = {"LD_PRELOAD": str(preload), "IOLENS_ENABLE_NONMPI": "1", "IOLENS_TMPDIR": str(stores)}
    env = {**os.environ, **own, "IOLENS_TRACE": "1", "IOLENS_ABANDONED": "keep"}
    subprocess.run([*PYTHON, program], cwd=tmp_path, env=env, check=False)
    (store,) = stores.rglob("*.store")
    whole = store.read_bytes()
    modules = [at for at, _ in struct.iter_unpack("<QQ", whole[48 : 48 + 16 * 64]) if at]
    # They stand in front of the records, where 4 MiB begin with the size of a chunk.
    places = range(min(modules) - (4 << 20), 0, -4096)
    chunks = next(at for at in places if struct.unpack_from("<I", whole, at) == (256,))
    chance = random.Random(7)
    for turn in range(25):
        damaged = bytearray(whole)
        for _ in range(1 + turn):
            damaged[chance.randrange(chunks, chunks + 40_000)] = chance.randrange(256)
        store.write_bytes(damaged)
        log = tmp_path / f"{turn}.darshan"
        done = subprocess.run([iolens, "recover", "-o", log, store], check=False, capture_output=True)
        assert done.returncode in (0, 3, 4), done.stderr
        assert not log.exists() or traced.text(log)


# Where offsets are Darshan's belief, not the kernel's: docs/decisions/0003.
BELIEVED = {("POSIX", "append", 0, "read"), ("POSIX", "append", 0, "write"), ("POSIX", "vectors", 0, "read")}


RUNS = {
    "dxt_patterns": {},
    "dxt_patterns_small": {"DARSHAN_DXT_SMALL_IO_TRIGGER": "0.5"},
    "dxt_patterns_unaligned": {"IOLENS_TRACE_UNALIGNED": "0.6"},
}


@pytest.mark.parametrize("name", RUNS)
def test_darshan_has_the_same_segments(observe: Observe, tmp_path: Path, name: str) -> None:
    source = LAYERS / "programs" / "dxt_patterns.c"
    if not source.exists():
        pytest.skip(f"no programs that were run under Darshan at {LAYERS}: set IOLENS_LAYERS")
    program = tmp_path / "patterns"
    subprocess.run(["cc", "-O1", "-w", "-o", program, source], check=True)
    work = tmp_path / "work"
    work.mkdir()
    seen = run(observe, [program, work], work, IOLENS_TRACE=1, **RUNS[name])
    found = traced.accesses(s for s in traced.segments(seen.log) if s.interface != "STDIO")  # not Darshan's
    with gzip.open(LAYERS / "expected" / f"{name}.dxt.txt.gz", "rt") as lines:
        wanted = traced.accesses(traced.of_lines(lines))
    assert found.keys() == wanted.keys()
    for key in wanted.keys() - BELIEVED:
        assert found[key] == wanted[key], key
    assert found["POSIX", "append", 0, "write"] == [(n * 7, 7) for n in range(5)]
    assert found["POSIX", "append", 0, "read"] == [(n * 3, 3) for n in range(10)]
    assert found["POSIX", "vectors", 0, "read"] == [(60, 60), (990, 40)]


def test_handlers_and_jumps_out_of_accesses(
    observe: Observe, tmp_path: Path, compile_program: Callable[[str], Path]
) -> None:
    program = compile_program(r"""
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>
static sigjmp_buf out;
static volatile int left;
static void on_alarm(int signal)
{
	left++;
	siglongjmp(out, signal);
}
int main(void)
{
	char buffer[64] = {0};
	struct itimerval often = {{0, 300}, {0, 300}};
	int fd = open("file", O_RDWR | O_CREAT, 0600);
	signal(SIGALRM, on_alarm);
	sigsetjmp(out, 1);
	if (!left)
		setitimer(ITIMER_REAL, &often, NULL);
	for (long n = 0; left < 300; n++)
		if (pwrite(fd, buffer, (size_t)(n % 64), n % 1000) < 0)
			return 1;
	return 0;
}
""")
    seen = run(observe, [program], tmp_path)
    assert seen.done.returncode == 0
    found = traced.accesses(traced.segments(seen.log))["POSIX", "file", 0, "write"]
    assert all(0 <= at < 1000 and length < 64 for at, length in found)
    written = seen.total("POSIX", "WRITES")
    assert written - 300 <= len(found) <= written


def test_text_says_where_files_were_opened(
    observe: Observe, iolens: Path, tmp_path: Path, compile_program: Callable[[str], Path]
) -> None:
    program = compile_program(
        "#include <fcntl.h>\n#include <stdio.h>\n#include <unistd.h>\nint main(void) {"
        ' FILE *f = fopen("stream", "w"); fputs("x", f); fclose(f);'
        ' return write(open("file", O_CREAT | O_WRONLY, 0600), "x", 1) != 1; }'
    )
    seen = observe([program], cwd=tmp_path, options=["--quiet", "--trace"])
    text = subprocess.run([iolens, "trace", seen.log], capture_output=True, text=True, check=True).stdout
    lines = [line for line in text.splitlines() if line.startswith("# DXT, opened by: ")]
    offsets = [int(row["offset"]) for row in seen.sections["sites"]]
    assert len(offsets) == 2
    assert sorted(lines) == sorted(f"# DXT, opened by: {program}+{offset:#x}" for offset in offsets)
