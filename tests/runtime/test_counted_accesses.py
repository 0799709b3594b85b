"""Every counter of a POSIX record, beside a model that counts one access after the other in the plainest way."""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from observed import Observe

# Does what its input says: R, W (at the cursor), r, w (at an offset), S (seek), each with an offset, bytes, and how far
# the buffer is from an aligned address. With an argument, while another thread is there.
PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char memory[1 << 20] __attribute__((aligned(4096)));

static void *wait(void *unused)
{
	pause();
	return unused;
}

static long done(int fd, char what, char *buffer, long bytes, long at)
{
	switch (what) {
	case 'R': return read(fd, buffer, bytes);
	case 'W': return write(fd, buffer, bytes);
	case 'r': return pread(fd, buffer, bytes, at);
	case 'w': return pwrite(fd, buffer, bytes, at);
	default: return lseek(fd, at, SEEK_SET);
	}
}

int main(int argc, char **argv)
{
	pthread_t other;
	char what;
	long at, bytes, off;
	int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, 1 << 30) != 0 || (argc > 1 && pthread_create(&other, NULL, wait, NULL) != 0))
		return 1;
	while (scanf(" %c %ld %ld %ld", &what, &at, &bytes, &off) == 4) {
		if (done(fd, what, memory + off, bytes, at) != (what == 'S' ? at : bytes))
			return 2;
	}
	return close(fd);
}
"""

EDGES = [100, 1024, 10240, 102400, 1048576]
CLASSES = ["0_100", "100_1K", "1K_10K", "10K_100K", "100K_1M"]
ALIGNMENT = 8  # of memory
BLOCK = 4096


@dataclass
class Model:
    """The file's counters."""

    cursor: int = 0
    last: dict[str, int] = field(default_factory=lambda: {"READ": 0, "WRITTEN": 0})
    kind: str = ""
    counters: Counter[str] = field(default_factory=Counter)
    strides: Counter[int] = field(default_factory=Counter)
    sizes: Counter[int] = field(default_factory=Counter)

    def do(self, what: str, at: int, size: int, off: int) -> None:
        if what == "S":
            self.cursor = at
            self.counters["SEEKS"] += 1
            return
        if what in "RW":
            at, self.cursor = self.cursor, self.cursor + size
        self.access("READ" if what in "Rr" else "WRITTEN", at, size, off)

    def access(self, kind: str, at: int, size: int, off: int) -> None:
        reads, word = ("READS", "READ") if kind == "READ" else ("WRITES", "WRITE")
        last, count = self.last[kind], self.counters
        count[reads] += 1
        count[f"BYTES_{kind}"] += size
        count[f"SIZE_{word}_{CLASSES[sum(size > edge for edge in EDGES)]}"] += 1
        count["MEM_NOT_ALIGNED"] += off % ALIGNMENT != 0
        count["FILE_NOT_ALIGNED"] += at % BLOCK != 0
        count[f"SEQ_{reads}"] += at > last
        count[f"CONSEC_{reads}"] += at == last + 1
        count["RW_SWITCHES"] += self.kind not in ("", kind)
        count[f"MAX_BYTE_{kind}"] = max(count[f"MAX_BYTE_{kind}"], at + size - 1)
        stride = at - last - 1 if at > last and at > 0 and last != 0 else 0
        for seen, value in ((self.strides, stride), (self.sizes, size)):
            if value in seen or len(seen) < 32:
                seen[value] += 1
        self.last[kind], self.kind = at + size - 1, kind

    def frequent(self) -> dict[str, int]:
        shown = {}
        for name, seen in (("STRIDE", self.strides), ("ACCESS", self.sizes)):
            rows = sorted(((count, value) for value, count in seen.items() if value), reverse=True)[:4]
            for i, (count, value) in enumerate([*rows, (0, 0), (0, 0), (0, 0), (0, 0)][:4], 1):
                shown[f"{name}{i}_{name}"], shown[f"{name}{i}_COUNT"] = value, count
        return shown


def accesses(seed: int, count: int) -> list[tuple[str, int, int, int]]:
    """Runs of equal accesses, one behind the other, at equal distances or anywhere, of few sizes or of many."""
    dice = random.Random(seed)
    made: list[tuple[str, int, int, int]] = []
    while len(made) < count:
        what, at, off = dice.choice("RRWWrrrwwwS"), dice.randrange(1 << 20), dice.choice([0, 0, 8, 3])
        size = dice.choice([1, 64, 64, 4096, 4096, 20_000, dice.randrange(1, 5000)])
        step = dice.choice([size, size, size, size + 512, 0, -size])
        for _ in range(dice.choice([1, 2, 10, 60]) if what != "S" else 1):
            made.append((what, at, size, off))
            at = max(at + step, 0) % (1 << 21)
            if dice.random() < 0.02:
                made.append(("S", dice.randrange(1 << 20), 0, 0))
    return made


@pytest.mark.parametrize("times", ["exact", "always-sampled"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_counter_is_the_models(
    seed: int, threads: int, times: str, observe: Observe, tmp_path: Path
) -> None:
    source, program = tmp_path / "accesses.c", tmp_path / "accesses"
    source.write_text(PROGRAM)
    subprocess.run(["cc", "-O1", "-o", program, source, "-lpthread"], check=True)
    model, list_ = Model(), accesses(seed, 12_000)
    for one in list_:
        model.do(*one)
    text = "".join(f"{what} {at} {size} {off}\n" for what, at, size, off in list_)
    seen = observe(
        [program, *["another"] * (threads - 1)],
        input=text.encode(),
        cwd=tmp_path,
        env={"IOLENS_TIMES": times},
    )
    assert seen.done.returncode == 0, seen.done.stderr
    (row,) = [
        row for (module, name, _), row in seen.records.items() if (module, name[-5:]) == ("POSIX", "/file")
    ]
    assert int(row["POSIX_FILE_ALIGNMENT"]) == BLOCK and int(row["POSIX_MEM_ALIGNMENT"]) == ALIGNMENT
    wanted = {**model.counters, **model.frequent()}
    assert {name: int(row[f"POSIX_{name}"]) for name in wanted} == wanted
