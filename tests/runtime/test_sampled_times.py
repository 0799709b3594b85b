"""Fast calls of which only some take the clock: counts are exact, times are those of the program's own clock."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from observed import Observe, Observed

# Copies a file of 1 MiB `rounds` times by blocks of up to 4 KiB, times each call itself, and says how long it was in
# reads, writes and seeks, and how long in those reads and writes that no other program can have interrupted: a copy of
# 4 KiB takes some microseconds. Every `often` reads it sleeps between two calls.
COPY = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct sum {
	double all, undisturbed;
};

static void add(struct sum *sum, double took)
{
	sum->all += took;
	sum->undisturbed += took < 5e-5 ? took : 0;
}

#define TIMED(sum, call) (began = now(), got = (call), add(&sum, now() - began), got)

int main(int argc, char **argv)
{
	static char block[4096];
	int rounds = atoi(argv[1]), often = atoi(argv[2]);
	double began;
	struct sum reading = {0}, writing = {0}, seeking = {0};
	long got, reads = 0, pause = argc > 3 ? atol(argv[3]) : 0;
	int in = open("in", O_RDWR | O_CREAT, 0600), out = open("out", O_RDWR | O_CREAT, 0600);
	for (int i = 0; i < 256; i++)
		write(in, block, sizeof block);
	for (int i = 0; i < rounds; i++) {
		TIMED(seeking, lseek(in, 0, SEEK_SET));
		for (long at = 0, n = 512; at < 1 << 20; at += got, n = 512 + (n * 7 + at) % 3584) {
			TIMED(reading, read(in, block, n));
			long moved = got;
			TIMED(writing, pwrite(out, block, moved, at));
			got = moved;
			if (often && ++reads % often == 0)
				nanosleep(&(struct timespec){0, pause * 1000000}, NULL);
		}
	}
	printf("%.6f %.6f %.6f", reading.all, writing.all, seeking.all);
	printf(" %.6f %.6f\n", reading.undisturbed, writing.undisturbed);
	return 0;
}
"""

# Every `SLOW`th pread of the process takes 5 ms.
SLOW_LIBC = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

ssize_t pread(int fd, void *to, size_t n, off_t at)
{
	static ssize_t (*real)(int, void *, size_t, off_t);
	static long calls;
	real = real ? real : (ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
	if (++calls % SLOW == 0)
		nanosleep(&(struct timespec){0, 5000000}, NULL);
	return real(fd, to, n, at);
}
"""

READ = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char c;
	int fd = open("file", O_RDWR | O_CREAT, 0600);
	write(fd, "x", 1);
	for (long i = 0; i < atol(argv[1]); i++)
		pread(fd, &c, 1, 0);
	return argc < 2;
}
"""

Compiled = Callable[..., Path]


@pytest.fixture
def compiled(tmp_path: Path) -> Compiled:
    def build(name: str, text: str, *options: str) -> Path:
        source, made = tmp_path / f"{name}.c", tmp_path / name
        source.write_text(text)
        subprocess.run(["cc", "-O1", "-o", made, source, *options], check=True)
        return made

    return build


def times(way: str) -> dict[str, str]:
    return {"IOLENS_TIMES": way}


def sampled(seen: Observed) -> dict[str, float]:
    """The table's one row, empty where all calls were timed."""
    rows = seen.sections.get("sampled_times", [])
    assert len(rows) <= 1
    return {name: float(value) for name, value in rows[0].items()} if rows else {}


def counted(seen: Observed) -> dict[tuple[str, str], dict[str, str]]:
    """All counters of files but times, and which access was the longest."""
    return {
        (module, name): {
            counter: value
            for counter, value in row.items()
            if "_F_" not in counter and "_TIME_SIZE" not in counter and "FASTEST" not in counter
        }
        for (module, name, _), row in seen.records.items()
        if name.endswith(("/in", "/out"))
    }


def test_what_is_counted_does_not_depend_on_it(compiled: Compiled, observe: Observe, tmp_path: Path) -> None:
    program = compiled("copy", COPY)
    runs = {}
    for way in ("exact", "sampled", "always-sampled"):
        seen = observe([program, "20", "0"], cwd=tmp_path, env=times(way))
        assert seen.done.returncode == 0, seen.done.stderr
        runs[way] = seen
        (tmp_path / "in").unlink()
        (tmp_path / "out").unlink()
    first = counted(runs["exact"])
    assert len(first) == 2
    assert counted(runs["sampled"]) == counted(runs["always-sampled"]) == first
    calls = sum(runs["exact"].total("POSIX", counter) for counter in ("READS", "WRITES", "SEEKS"))
    table = sampled(runs["always-sampled"])
    assert not sampled(runs["exact"])
    assert 0.7 * calls < table["calls"] < 0.95 * calls  # all but the first 1,024 of each kind, and one in 16
    assert 12 < table["calls"] / table["timed"] < 19
    assert table["doubtful"] == 0


@pytest.mark.parametrize("way", ["exact", "sampled"])
def test_times_are_those_of_the_programs_own_clock(
    way: str, compiled: Compiled, observe: Observe, tmp_path: Path
) -> None:
    program = compiled("copy", COPY)
    seen = observe([program, "100", "0"], cwd=tmp_path, env=times(way))
    reading, writing, _, *undisturbed = (float(word) for word in seen.done.stdout.split())
    records = [row for (module, *_), row in seen.records.items() if module == "POSIX"]
    recorded = [sum(float(row[f"POSIX_F_{kind}_TIME"]) for row in records) for kind in ("READ", "WRITE")]
    # The program's clock holds the wrapper, too, and what other programs take meanwhile, unless it is undisturbed.
    for ours, least, most in zip(recorded, undisturbed, (reading, writing)):
        assert 0.7 * least < ours + sampled(seen).get("doubtful_time", 0.0)
        assert ours < 1.05 * most
    (process,) = seen.sections["process"]
    parts = sum(float(process[f"{kind}_time"]) for kind in ("read", "write", "meta"))
    assert float(process["io_time"]) == pytest.approx(parts, rel=0.02)
    assert float(process["read_time"]) == pytest.approx(recorded[0], rel=0.05)
    assert float(process["write_time"]) == pytest.approx(recorded[1], rel=0.05)


def test_slow_calls_keep_their_time(compiled: Compiled, observe: Observe, tmp_path: Path) -> None:
    """20 calls of 5 ms among 400,000: the first may be missed, and the table says what of."""
    slow = compiled("slow.so", SLOW_LIBC, "-shared", "-fPIC", "-DSLOW=20000", "-ldl")
    program = compiled("read", READ)
    behind = f'LD_PRELOAD="$LD_PRELOAD:{slow}" exec {program} 400000'
    seen = observe(["sh", "-c", behind], cwd=tmp_path, env=times("sampled"))
    assert seen.done.returncode == 0, seen.done.stderr
    assert seen.total("POSIX", "READS") == 400_000
    ((_, row),) = [(key, row) for key, row in seen.records.items() if key[1].endswith("/file")]
    recorded, table = float(row["POSIX_F_READ_TIME"]), sampled(seen)
    assert recorded > 0.9 * 20 * 0.005
    assert recorded + table.get("doubtful_time", 0.0) > 20 * 0.005
    assert float(row["POSIX_F_MAX_READ_TIME"]) > 0.005


def test_pauses_of_the_program_are_no_time_in_calls(
    compiled: Compiled, observe: Observe, tmp_path: Path
) -> None:
    """60 pauses of 10 ms, each after some 6,700 pairs of calls."""
    program = compiled("copy", COPY)
    seen = observe([program, "900", "6700", "10"], cwd=tmp_path, env=times("sampled"))
    measured = [float(word) for word in seen.done.stdout.split()]
    (process,) = seen.sections["process"]
    for kind, own in zip(("read", "write"), measured):
        assert float(process[f"{kind}_time"]) < 1.05 * own


def test_a_traced_program_has_every_time(compiled: Compiled, observe: Observe, tmp_path: Path) -> None:
    seen = observe(
        [compiled("read", READ), "5000"],
        options=("--quiet", "--trace"),
        cwd=tmp_path,
        env=times("always-sampled"),
    )
    assert seen.total("POSIX", "READS") == 5000
    assert not sampled(seen)


def test_a_wrong_word_is_named(compiled: Compiled, observe: Observe, tmp_path: Path) -> None:
    environment = {**times("often"), "IOLENS_DUMP_CONFIG": "1"}
    seen = observe([compiled("read", READ), "5"], cwd=tmp_path, env=environment)
    assert b"TIMES often: not one of sampled, exact, always-sampled" in seen.done.stderr
