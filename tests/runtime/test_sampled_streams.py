"""Calls that a buffer serves, of which only some read the clock: counts are exact, stamps and heat maps right."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from observed import Observe, Observed

# Reads one stream and writes another, by characters and by blocks, in turn on each of both, with seeks between.
MIXED = r"""
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	char block[64];
	FILE *a = fopen("a", "w+"), *b = fopen("b", "w+");
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 3000; i++)
			fputc('x', a);
		rewind(a);
		for (int i = 0; i < 2000; i++) {
			if (i % 7 < 4 || fgetc(a) == EOF)
				fread(block, 1, 1 + i % 64, a);
			fwrite(block, 1 + i % 3, 2, i % 5 ? b : a);
		}
		fseek(a, 0, SEEK_END);
		if (round == 20 && fork() == 0) {
			for (int i = 0; i < 500; i++)
				fputc('y', b);
			return 0;
		}
		wait(NULL); /* both write where the other has left the offset of the descriptor */
	}
	return fclose(a) + fclose(b);
}
"""

# Two bursts of 200,000 characters, a second apart.
BURSTS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static void *burst(void *file)
{
	for (int i = 0; i < 200000; i++)
		fputc('x', file);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t second;
	FILE *f = fopen("out", "w");
	burst(f);
	nanosleep(&(struct timespec){1, 0}, NULL);
	if (argc > 1)
		return pthread_create(&second, NULL, burst, f) || pthread_join(second, NULL) || fclose(f);
	burst(f);
	return fclose(f);
}
"""

# Two threads write characters to one stream at once.
TOGETHER = r"""
#include <pthread.h>
#include <stdio.h>

static void *write_all(void *file)
{
	for (int i = 0; i < 400000; i++)
		fputc('x', file);
	return NULL;
}

int main(void)
{
	pthread_t second;
	FILE *f = fopen("out", "w");
	if (pthread_create(&second, NULL, write_all, f) != 0)
		return 1;
	write_all(f);
	return pthread_join(second, NULL) || fclose(f);
}
"""

# Characters with pauses of the program between them, in which nothing else happens.
SLOW = r"""
#include <stdio.h>
#include <time.h>

int main(void)
{
	FILE *f = fopen("out", "w");
	for (int i = 0; i < 400; i++) {
		fputc('x', f);
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	}
	return fclose(f);
}
"""

Compile = Callable[[str], Path]


@pytest.fixture
def compiled(tmp_path: Path) -> Compile:
    def build(text: str) -> Path:
        (tmp_path / "program.c").write_text(text)
        command = ["cc", "-O1", "-o", tmp_path / "program", tmp_path / "program.c", "-lpthread"]
        subprocess.run(command, check=True)
        return tmp_path / "program"

    return build


def counted(seen: Observed) -> list[tuple[str, str, dict[str, str]]]:
    """All counters of streams but times."""
    return sorted(
        (name, str(rank), {counter: value for counter, value in row.items() if "_F_" not in counter})
        for (module, name, rank), row in seen.records.items()
        if module == "STDIO" and name.endswith(("/a", "/b"))
    )


def row_of(seen: Observed, name: str) -> dict[str, Any]:
    (row,) = [r for (module, file, _), r in seen.records.items() if module == "STDIO" and file.endswith(name)]
    return row


def moments(seen: Observed) -> list[tuple[float, int]]:
    """When bytes were written by streams: starts of bins, s, and their bytes."""
    heat = seen.records["HEATMAP", "heatmap:STDIO", 0]
    width = float(heat["HEATMAP_F_BIN_WIDTH_SECONDS"])
    bins = {int(name.rsplit("_", 1)[1]): int(value) for name, value in heat.items() if "WRITE_BIN" in name}
    return [(bin_ * width, bytes_) for bin_, bytes_ in sorted(bins.items()) if bytes_]


def test_what_is_counted_does_not_depend_on_it(compiled: Compile, observe: Observe, tmp_path: Path) -> None:
    program = compiled(MIXED)
    runs = {}
    for way in ("exact", "sampled", "always-sampled"):
        seen = observe([program], cwd=tmp_path, env={"IOLENS_TIMES": way})
        assert seen.done.returncode == 0, seen.done.stderr
        runs[way] = counted(seen)
    assert len(runs["exact"]) >= 3  # the child has a record of its own
    assert runs["sampled"] == runs["always-sampled"] == runs["exact"]


@pytest.mark.parametrize("threads", [1, 2])
def test_bytes_are_where_they_were_written(
    threads: int, compiled: Compile, observe: Observe, tmp_path: Path
) -> None:
    seen = observe(
        [compiled(BURSTS), *["second"] * (threads - 1)], cwd=tmp_path, env={"IOLENS_TIMES": "sampled"}
    )
    assert seen.done.returncode == 0, seen.done.stderr
    row = row_of(seen, "/out")
    assert (int(row["STDIO_WRITES"]), int(row["STDIO_BYTES_WRITTEN"])) == (400_000, 400_000)
    first = float(row["STDIO_F_WRITE_START_TIMESTAMP"])
    early = sum(bytes_ for at, bytes_ in moments(seen) if at < first + 0.5)
    late = sum(bytes_ for at, bytes_ in moments(seen) if at >= first + 0.5)
    assert early + late == 400_000
    assert 200_000 <= early < 200_016
    assert float(row["STDIO_F_WRITE_END_TIMESTAMP"]) > first + 1


@pytest.mark.parametrize("way", ["sampled", "always-sampled"])
def test_threads_on_one_stream_lose_no_call(
    way: str, compiled: Compile, observe: Observe, tmp_path: Path
) -> None:
    seen = observe([compiled(TOGETHER)], cwd=tmp_path, env={"IOLENS_TIMES": way})
    row = row_of(seen, "/out")
    counters = ("STDIO_WRITES", "STDIO_BYTES_WRITTEN", "STDIO_MAX_BYTE_WRITTEN")
    assert [int(row[counter]) for counter in counters] == [800_000, 800_000, 799_999]
    assert sum(bytes_ for _, bytes_ in moments(seen)) == 800_000


def test_calls_with_pauses_all_read_the_clock(compiled: Compile, observe: Observe, tmp_path: Path) -> None:
    seen = observe([compiled(SLOW)], cwd=tmp_path, env={"IOLENS_TIMES": "sampled"})
    row = row_of(seen, "/out")
    spent = float(row["STDIO_F_WRITE_END_TIMESTAMP"]) - float(row["STDIO_F_WRITE_START_TIMESTAMP"])
    assert 0.399 < spent < float(row["STDIO_F_CLOSE_END_TIMESTAMP"])
    assert len(moments(seen)) >= 4  # bins of a tenth of a second
