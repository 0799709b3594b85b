"""Every counter of a POSIX record, compared with a model that counts one access after the other in the plainest way."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from observed import Observe, Observed

# Does what its input says: R, W (at the cursor), r, w (at an offset), S (seek), each with an offset, bytes, and how far
# the buffer is from an aligned address. The first word is "alone", or "another": another thread is there. With a second
# one it is killed, and has closed nothing.
PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
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
	if (fd < 0 || ftruncate(fd, 1 << 30) != 0 || (argv[1][1] == 'n' && pthread_create(&other, NULL, wait, NULL) != 0))
		return 1;
	while (scanf(" %c %ld %ld %ld", &what, &at, &bytes, &off) == 4) {
		if (done(fd, what, memory + off, bytes, at) != (what == 'S' ? at : bytes))
			return 2;
	}
	return argc > 2 ? raise(SIGKILL) : close(fd);
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


def random_accesses(seed: int, count: int) -> list[tuple[str, int, int, int]]:
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


def record_of_file(seen: Observed) -> dict[str, str]:
    (row,) = [
        row for (module, name, _), row in seen.records.items() if (module, name[-5:]) == ("POSIX", "/file")
    ]
    return row


# Runs that end with the program, of what their record does not show before: the fifth of its sizes, a distance.
UNSEEN = {
    "size": [
        ("r", 0, size, 0)
        for size, times in ((5000, 3000), (4000, 600), (3000, 600), (2000, 600), (1000, 600), (500, 605))
        for _ in range(times)
    ],
    "distance": [("r", 0, 1, 0)] * 2000 + [("r", 4096 * (n + 1), 1, 0) for n in range(14)],
}


@pytest.mark.parametrize("times", ["exact", "always-sampled"])
@pytest.mark.parametrize("words", ["alone", "another", "alone killed", "another killed"])
@pytest.mark.parametrize("accesses", [1, 2, 3, *UNSEEN])
def test_every_counter_is_the_models(
    accesses: int | str, words: str, times: str, observe: Observe, tmp_path: Path
) -> None:
    source, program = tmp_path / "accesses.c", tmp_path / "accesses"
    source.write_text(PROGRAM)
    subprocess.run(["cc", "-O1", "-o", program, source, "-lpthread"], check=True)
    model = Model()
    list_ = UNSEEN[accesses] if isinstance(accesses, str) else random_accesses(accesses, 12_000)
    for one in list_:
        model.do(*one)
    text = "".join(f"{what} {at} {size} {off}\n" for what, at, size, off in list_)
    seen = observe(
        [program, *words.split()],
        input=text.encode(),
        cwd=tmp_path,
        env={"IOLENS_TIMES": times},
    )
    assert seen.done.returncode == (-signal.SIGKILL if "killed" in words else 0), seen.done.stderr
    row = record_of_file(seen)
    assert int(row["POSIX_FILE_ALIGNMENT"]) == BLOCK and int(row["POSIX_MEM_ALIGNMENT"]) == ALIGNMENT
    wanted = {**model.counters, **model.frequent()}
    assert {name: int(row[f"POSIX_{name}"]) for name in wanted} == wanted


# Four threads have a file each a descriptor of their own for, and one in common. With an argument it ends killed.
TOGETHER = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { CALLS = 20000, SIZE = 64, EACH = CALLS * SIZE };
static int common;

static void check(long got)
{
	if (got != SIZE)
		_exit(3);
}

static void *work(void *number)
{
	static __thread char buffer[SIZE] __attribute__((aligned(64)));
	long from = (long)number * EACH, at;
	int own = open("file", O_RDWR);
	for (at = from; at < from + EACH; at += SIZE)
		check(pread(own, buffer, SIZE, at));
	if (lseek(own, from, SEEK_SET) != from)
		_exit(4);
	for (int n = 0; n < CALLS; n++)
		check(read(own, buffer, SIZE));
	for (int n = 0; n < CALLS; n++)
		check(read(common, buffer, SIZE));
	for (int n = 0; n < CALLS; n++)
		if (lseek(own, n, SEEK_SET) != n)
			_exit(4);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[4];
	(void)argv;
	common = open("file", O_RDWR | O_CREAT, 0600);
	if (common < 0 || ftruncate(common, 4 * EACH) != 0)
		return 1;
	for (long n = 0; n < 4; n++)
		pthread_create(&thread[n], NULL, work, (void *)n);
	for (int n = 0; n < 4; n++)
		pthread_join(thread[n], NULL);
	return argc > 1 ? raise(SIGKILL) : 0;
}
"""


@pytest.mark.parametrize("end", ["closed", "killed"])
@pytest.mark.parametrize("times", ["exact", "sampled", "always-sampled"])
def test_threads_that_share_a_file_lose_nothing(
    times: str, end: str, observe: Observe, tmp_path: Path
) -> None:
    calls, size = 20_000, 64
    source, program = tmp_path / "together.c", tmp_path / "together"
    source.write_text(TOGETHER)
    subprocess.run(["cc", "-O1", "-o", program, source, "-lpthread"], check=True)
    seen = observe([program, *["x"] * (end == "killed")], cwd=tmp_path, env={"IOLENS_TIMES": times})
    assert seen.done.returncode == (0 if end == "closed" else -signal.SIGKILL), seen.done.stderr
    row = {name[6:]: int(float(value)) for name, value in record_of_file(seen).items()}
    reads = 3 * 4 * calls
    assert row["READS"] == row["SIZE_READ_0_100"] == row["ACCESS1_COUNT"] == reads
    assert row["BYTES_READ"] == reads * size and row["ACCESS1_ACCESS"] == size
    assert row["MAX_BYTE_READ"] == 4 * calls * size - 1
    assert row["FILE_NOT_ALIGNED"] == reads * 63 // 64 and row["MEM_NOT_ALIGNED"] == 0
    assert row["SEEKS"] == 4 * (calls + 1)
    # Each of the three ways reads in order, the common descriptor's accesses as the kernel gives them out.
    assert row["CONSEC_READS"] == 8 * (calls - 1) + 4 * calls - 1
    assert row["STRIDE1_COUNT"] == 0


# Stops a child at each instruction, from the function on that adds a run to its record: kills it there, or sends it a
# signal whose handler jumps away. Each child has a file of its own, and counts its calls that have returned.
STOPPED = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 64, HITS = 3 };
static sigjmp_buf back;
static volatile long *done;

static void leave(int number)
{
	siglongjmp(back, number);
}

static long call(char what, int fd, char *buffer, long n)
{
	switch (what) {
	case 'r': return pread(fd, buffer, SIZE, 4096 + n * 256);
	case 'w': return write(fd, buffer, SIZE);
	default: return lseek(fd, n, SEEK_SET) == n ? SIZE : -1;
	}
}

static void child(char what, int number)
{
	static char buffer[SIZE], name[32];
	snprintf(name, sizeof name, "file-%d", number);
	int fd = open(name, O_RDWR);
	signal(SIGUSR1, leave);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	if (sigsetjmp(back, 1) == 0)
		for (long n = 0; call(what, fd, buffer, n) == SIZE; n++) {
			if (n == 100)
				raise(SIGSTOP);
			*done = n + 1;
		}
	_exit(0);
}

static int go(int how, int pid, int number)
{
	int status;
	if (ptrace(how, pid, 0, number) != 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		exit(4);
	return WSTOPSIG(status);
}

/* To the function's next entry. */
static void enter(int pid, unsigned long at)
{
	long word = ptrace(PTRACE_PEEKTEXT, pid, at, 0);
	struct user_regs_struct r;
	ptrace(PTRACE_POKETEXT, pid, at, (word & ~0xffL) | 0xcc);
	if (go(PTRACE_CONT, pid, 0) != SIGTRAP)
		exit(5);
	ptrace(PTRACE_POKETEXT, pid, at, word);
	ptrace(PTRACE_GETREGS, pid, 0, &r);
	r.rip = at;
	ptrace(PTRACE_SETREGS, pid, 0, &r);
}

static unsigned long base(void)
{
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof line, f) && !strstr(line, "libiolens"))
		;
	fclose(f);
	return strtoul(line, NULL, 16);
}

static void stop(char what, int number, int kills, unsigned long at)
{
	char name[32];
	snprintf(name, sizeof name, "file-%d", number);
	int fd = open(name, O_RDWR | O_CREAT, 0600), pid = ftruncate(fd, 1 << 20) == 0 && close(fd) == 0 ? fork() : -1;
	if (pid == 0)
		child(what, number);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		exit(6);
	for (int hit = 0; hit < HITS; hit++) {
		if (hit)
			go(PTRACE_SINGLESTEP, pid, 0);
		enter(pid, at);
	}
	for (int n = 0; n < number; n++)
		go(PTRACE_SINGLESTEP, pid, 0);
	printf("%d %ld\n", number, *done);
	if (kills ? kill(pid, SIGKILL) : ptrace(PTRACE_DETACH, pid, 0, SIGUSR1))
		exit(7);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	unsigned long at = base() + strtoul(argv[3], NULL, 16);
	done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int number = 0; number < 200; number++)
		stop(argv[1][0], number, argv[2][0] == 'k', at);
	return argc != 4;
}
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="steps as x86-64 does")
@pytest.mark.parametrize("end", ["killed", "jumps"])
@pytest.mark.parametrize("what", ["read at distances", "write", "seek"])
def test_a_run_is_counted_once_wherever_its_thread_is_stopped(
    what: str, end: str, observe: Observe, preload: Path, tmp_path: Path
) -> None:
    symbols = subprocess.run(["nm", preload], check=True, capture_output=True, text=True).stdout
    settle = re.search(r"^(\w+) t run_settle$", symbols, re.MULTILINE)
    if not settle:
        pytest.skip("the library has no symbols")
    source, program = tmp_path / "stopped.c", tmp_path / "stopped"
    source.write_text(STOPPED)
    subprocess.run(["cc", "-O1", "-o", program, source], check=True)
    seen = observe([program, what, end, settle[1]], cwd=tmp_path, env={"IOLENS_TIMES": "always-sampled"})
    if seen.done.returncode == 4:
        pytest.skip("no process may trace another here")
    assert seen.done.returncode == 0, seen.done
    truth = dict(map(int, line.split()) for line in seen.done.stdout.decode().splitlines())
    assert len(truth) == 200
    wrong = []
    for (_, name, rank), record in seen.records.items():
        number = re.search(r"/file-(\d+)$", name)
        if not number or rank == 0:
            continue
        row = {field[6:]: int(float(value)) for field, value in record.items()}
        calls = truth.pop(int(number[1]))
        if what == "seek":
            counted = [row["SEEKS"]]
        elif what == "write":
            counted = [row[field] for field in ("WRITES", "SIZE_WRITE_0_100", "ACCESS1_COUNT")]
            counted += [row[field] + 1 for field in ("SEQ_WRITES", "CONSEC_WRITES")]
            counted += [row["BYTES_WRITTEN"] // 64, (row["MAX_BYTE_WRITTEN"] + 1) // 64]
        else:
            counted = [row[field] for field in ("READS", "SIZE_READ_0_100", "ACCESS1_COUNT", "SEQ_READS")]
            counted += [
                row["STRIDE1_COUNT"] + 1,
                row["BYTES_READ"] // 64,
                (row["MAX_BYTE_READ"] - 63 - 4096) // 256 + 1,
            ]
        # The call at hand has not returned: it may be counted, in part at worst.
        if not set(counted) <= {calls, calls + 1}:
            wrong.append((number[1], calls, counted))
    assert truth == {} and wrong == []
