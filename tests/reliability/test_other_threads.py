"""What a thread does while another is half-way: replaced descriptors, threads that share what is a thread's own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from observed import Observe, Observed

Compile = Callable[[str], Path]

# One thread copies a descriptor that is always open, another puts new files in its place: no description is used
# without a reference. Afterwards, alone: eight files, of which each is read 100 + i times while all are open.
COPIES = """
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
enum { FD = 50 };
static volatile int stop;
static void *copy(void *by_fcntl)
{
	while (!stop) {
		int fd = by_fcntl ? fcntl(FD, F_DUPFD, 0) : dup(FD);
		if (fd < 0)
			abort();
		close(fd);
	}
	return NULL;
}
static void *rotate(void *unused)
{
	char name[40];
	for (long turn = 0; !stop; turn++) {
		snprintf(name, sizeof name, "turn%ld", turn % 50);
		int fd = open(name, O_RDWR | O_CREAT, 0600);
		if (fd < 0)
			abort();
		dup2(fd, FD);
		close(fd);
	}
	return unused;
}
int main(int argc, char **argv)
{
	char bytes[64] = {0}, name[40];
	pthread_t thread[2];
	int fd[8], first = open("turn0", O_RDWR | O_CREAT, 0600);
	dup2(first, FD);
	close(first);
	pthread_create(&thread[0], NULL, copy, argc > 1 ? argv : NULL);
	pthread_create(&thread[1], NULL, rotate, NULL);
	sleep(2);
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof name, "after%d", i);
		fd[i] = open(name, O_RDWR | O_CREAT, 0600);
		if (write(fd[i], bytes, 64) != 64)
			abort();
	}
	for (int k = 0; k < 107; k++)
		for (int i = 0; i < 8; i++)
			if (k < 100 + i && pread(fd[i], bytes, 10, 0) != 10)
				abort();
	return 0;
}
"""


@pytest.mark.parametrize("by", [[], ["fcntl"]], ids=["dup", "F_DUPFD"])
def test_a_descriptor_that_is_copied_while_it_is_replaced(
    observe: Observe, compile_program: Compile, tmp_path: Path, by: list[str]
) -> None:
    seen = observe([compile_program(COPIES), *by], cwd=tmp_path)
    assert seen.done.returncode == 0
    reads = [seen.total("POSIX", "READS", f"{tmp_path}/after{i}") for i in range(8)]
    assert reads == [100 + i for i in range(8)]
    assert [seen.total("POSIX", "WRITES", f"{tmp_path}/after{i}") for i in range(8)] == [1] * 8


# The debugger looks at a recycled description after each instruction that makes it another open.
AGAIN = """
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 3; i++)
		close(open(i % 2 ? "one" : "other", O_RDWR | O_CREAT, 0600));
	return 0;
}
"""

BEGIN = """
import gdb
for what in "confirm off,pagination off,breakpoint pending on,startup-with-shell off,debuginfod enabled off".split(","):
    gdb.execute("set " + what)
"""

STEPS = """
gdb.execute("break posix_open_make")
gdb.execute("run", to_string=True)
gdb.execute("continue", to_string=True)
made = int(gdb.parse_and_eval("(long)free_list"))
file = gdb.parse_and_eval("&((struct posix_open *)%d)->file" % made)
name = gdb.parse_and_eval("&((struct posix_open *)%d)->head.name" % made)
outside = gdb.newest_frame().older().pc()
seen, steps = set(), 0
while gdb.newest_frame().pc() != outside:
    seen.add((int(file.dereference()), int(name.dereference())))
    gdb.execute("stepi", to_string=True)
    steps += 1
print("SEEN", made != 0, steps > 10, len({f for f, _ in seen}), all(f and n for f, n in seen))
gdb.execute("kill")
"""


def debugged(script: str, source: str, preload: Path, compile_program: Compile, place: Path) -> list[str]:
    """What the script says it has seen of the program."""
    (place / "script.py").write_text(BEGIN + script)
    given = {
        "LD_PRELOAD": preload,
        "IOLENS_ENABLE_NONMPI": 1,
        "IOLENS_TMPDIR": place,
        "IOLENS_LOGPATH": place,
    }
    settings = [word for item in given.items() for word in ("-ex", "set environment {}={}".format(*item))]
    command = ["gdb", "-nx", "-batch", *settings, "-x", "script.py", compile_program(source)]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False, timeout=120)
    said = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("SEEN ")]
    assert said, done.stdout + done.stderr
    return said[0]


@pytest.mark.skipif(not shutil.which("gdb"), reason="no gdb")
def test_a_description_that_becomes_another_open_always_has_a_file(
    preload: Path, compile_program: Compile, tmp_path: Path
) -> None:
    assert debugged(STEPS, AGAIN, preload, compile_program, tmp_path) == ["True", "True", "2", "True"]


# A thread may print to a stream while another reopens it: what is kept of it becomes another stream's.
STREAMS = """
#include <stdio.h>
int main(void)
{
	static const char *const names[] = {"one", "/dev/null", "other", "/dev/null", "one"};
	for (int i = 0; i < 5; i++)
		fclose(fopen(names[i], "w"));
	return 0;
}
"""

WATCH = """
gdb.execute("break stdio_table_set")
gdb.execute("run", to_string=True)
while int(gdb.parse_and_eval("(long)stream")) == 0 or int(gdb.parse_and_eval("(long)stream->file")) == 0:
    gdb.execute("continue", to_string=True)
gdb.execute("watch -l stream->file")
place = gdb.parse_and_eval("&stream->file")
gdb.execute("delete 1")
values = [int(place.dereference())]
while gdb.selected_inferior().threads():
    gdb.execute("continue", to_string=True)
    if gdb.selected_inferior().threads():
        values.append(int(place.dereference()))
print("SEEN", len(set(values)), all(values))
"""


@pytest.mark.skipif(not shutil.which("gdb"), reason="no gdb")
def test_a_stream_that_becomes_another_keeps_a_file(
    preload: Path, compile_program: Compile, tmp_path: Path
) -> None:
    assert debugged(WATCH, STREAMS, preload, compile_program, tmp_path) == ["2", "True"]


# As stress-ng and checkpointers make them: a thread that has no thread-local memory of its own.
RAW = """
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static int fd;
static volatile int ended;
static void some(int n)
{
	char bytes[64];
	for (int i = 0; i < n; i++)
		if (pread(fd, bytes, 64, i % 100 * 64) != 64)
			abort();
}
static int run(void *unused)
{
	some(2000);
	ended = 1;
	syscall(SYS_exit, 0);
	return unused != NULL;
}
int main(void)
{
	enum { STACK = 1 << 20, SHARED = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM };
	fd = open("data", O_RDWR | O_CREAT, 0600);
	if (ftruncate(fd, 6400))
		return 9;
	some(2000);
	if (clone(run, (char *)malloc(STACK) + STACK, SHARED, NULL) < 0)
		return 8;
	some(2000);
	while (!ended)
		;
	usleep(2000);
	return 4;
}
"""


def test_a_thread_without_thread_local_memory_of_its_own(
    observe: Observe, compile_program: Compile, tmp_path: Path
) -> None:
    program = compile_program(RAW)
    loop = f"for i in $(seq 60); do {program} || echo $?; done"
    seen = observe(["bash", "-c", loop], cwd=tmp_path)
    assert seen.done.stdout.split() == [b"4"] * 60


# A thread unmaps a file again and again, or starts programs; neither opens anything. The other takes the lowest number
# for a file of its own, closes what it does not know, or forks.
NUMBERS = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static int file;
static volatile int stop;
static void *unmap(void *unused)
{
	while (!stop) {
		char *p = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		p[0]++;
		munmap(p, 1 << 16);
	}
	return unused;
}
static void *start(void *unused)
{
	char *const arguments[] = {"true", NULL};
	int status, child;
	while (!stop)
		if (!posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ))
			waitpid(child, &status, 0);
	return unused;
}
static int lowest(void)
{
	close(0);
	int fd = open("/dev/null", O_RDONLY), wrong = fd != 0;
	if (wrong) {
		close(fd);
		open("/dev/null", O_RDONLY);
	}
	return wrong;
}
static int closed(void)
{
	close_range(3, 19, 0);
	int fd = open("/dev/null", O_RDONLY);
	for (volatile int k = 0; k < 30000; k++)
		;
	return fcntl(fd, F_GETFD) < 0;
}
static int inherited(void)
{
	int status, child = fork();
	if (!child) {
		int foreign = 0;
		for (int fd = 3; fd < 64; fd++)
			foreign |= fd != file && fcntl(fd, F_GETFD) >= 0;
		_exit(foreign);
	}
	waitpid(child, &status, 0);
	return status != 0;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	int wrong = 0, rounds = 0;
	file = open("mapped", O_RDWR | O_CREAT, 0600);
	if (argc < 3 || ftruncate(file, 1 << 16))
		return 9;
	file = fcntl(file, F_DUPFD, 20);
	for (int i = 3; i < 20; i++)
		close(i);
	pthread_create(&thread, NULL, argv[2][0] == 'u' ? unmap : start, NULL);
	for (; rounds < (argv[1][0] == 'i' ? 1000 : 6000); rounds++)
		wrong += argv[1][0] == 'l' ? lowest() : argv[1][0] == 'c' ? closed() : inherited();
	stop = 1;
	pthread_join(thread, NULL);
	printf("%d\\n", wrong);
	return 0;
}
"""


@pytest.mark.parametrize("other", ["unmaps", "starts"])
@pytest.mark.parametrize("case", ["lowest", "closed", "inherited"])
def test_no_number_of_the_programs_is_taken(
    observe: Observe, compile_program: Compile, tmp_path: Path, case: str, other: str
) -> None:
    seen = observe([compile_program(NUMBERS), case, other], cwd=tmp_path)
    assert (seen.done.returncode, seen.done.stdout) == (0, b"0\n")


# While one thread of a process takes the lowest number or closes what it does not know, by calls that iolens does not
# see, the other does the first operation of the process and ends it. The process is a forked child, or starts anew.
BEGINS_AND_ENDS = """
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int *wrong; /* until the process is gone: System V memory, of which iolens knows nothing */
static volatile long turns;
static int range;
static long call(long n, long a, long b, long c, long d)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	__asm__ volatile("syscall" : "+a"(n) : "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return n;
#else
	register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c, x3 __asm__("x3") = d;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x3), "r"(x8) : "memory");
	return x0;
#endif
}
static void *use_numbers(void *unused)
{
	for (;; turns++) {
		if (range)
			call(SYS_close_range, 3, 19, 0, 0);
		long fd = call(SYS_openat, AT_FDCWD, (long)"/dev/null", O_RDONLY, 0);
		*wrong += fd != 3;
		call(SYS_close, fd, 0, 0, 0);
	}
	return unused;
}
static void begin_and_end(void)
{
	pthread_t thread;
	char byte;
	call(SYS_close_range, 3, 29, 0, 0);
	pthread_create(&thread, NULL, use_numbers, NULL);
	while (turns < 100)
		;
	if (pread(0, &byte, 1, 0) != 1)
		abort();
	exit(0);
}
int main(int argc, char **argv)
{
	enum { ROUNDS = 60 };
	char id[20];
	int status, shared = argc > 3 ? atoi(argv[3]) : shmget(IPC_PRIVATE, sizeof *wrong, 0600);
	wrong = shmat(shared, NULL, 0);
	range = argv[2][0] == 'c';
	if (argc > 3)
		begin_and_end();
	shmctl(shared, IPC_RMID, NULL);
	snprintf(id, sizeof id, "%d", shared);
	for (int round = 0; round < ROUNDS; round++) {
		if (fork() == 0) {
			if (argv[1][0] == 'f')
				begin_and_end();
			execl(argv[0], argv[0], argv[1], argv[2], id, NULL);
			abort();
		}
		if (wait(&status) < 0 || status)
			return 1;
	}
	printf("%d\\n", *wrong);
	return 0;
}
"""


PROCESS = pytest.mark.parametrize("process", ["forked", "executed"])
HOW = pytest.mark.parametrize("how", ["lowest", "closed"])


@PROCESS
@HOW
def test_no_number_is_taken_by_the_first_operation(
    iolens: Path, compile_program: Compile, tmp_path: Path, how: str, process: str
) -> None:
    (tmp_path / "read").write_text("text")
    command = [
        iolens,
        "run",
        "-q",
        "-o",
        tmp_path / "log",
        "--",
        compile_program(BEGINS_AND_ENDS),
        process,
        how,
    ]
    with (tmp_path / "read").open() as read:
        done = subprocess.run(command, stdin=read, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"0\n", b"")
    log = Observed(done, tmp_path / "log", iolens)
    assert log.total("POSIX", "READS", f"{tmp_path}/read") == 60


@PROCESS
@HOW
def test_no_number_is_taken_by_the_log_of_a_process(
    preload: Path, compile_program: Compile, tmp_path: Path, how: str, process: str
) -> None:
    (tmp_path / "read").write_text("text")
    command = [compile_program(BEGINS_AND_ENDS), process, how]
    env = {"LD_PRELOAD": preload, "IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGPATH": tmp_path}
    with (tmp_path / "read").open() as read:
        done = subprocess.run(
            command, stdin=read, env={**os.environ, **env}, capture_output=True, check=False
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"0\n", b"")
    assert len(list(tmp_path.rglob("*.darshan"))) >= 60


# One thread replaces the environment and unmaps the old one, the other starts a program with it that is not there.
ENVIRONMENT = """
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
enum { ENTRIES = 200, SIZE = 16384, AT = 4096 };
static volatile int stop;
static char **make(void)
{
	char *place = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char **list = (char **)place;
	for (int i = 0; i < ENTRIES; i++)
		list[i] = strcpy(place + AT + i * 40, i == ENTRIES - 1 ? "LD_PRELOAD=libiolens.so" : "PATH=/nowhere");
	return list;
}
static void *replace(void *unused)
{
	while (!stop) {
		char **old = environ;
		__atomic_store_n(&environ, make(), __ATOMIC_SEQ_CST);
		munmap(old, SIZE);
	}
	return unused;
}
int main(void)
{
	char *const arguments[] = {"program", NULL};
	pthread_t thread;
	int child, started = 0;
	environ = make();
	pthread_create(&thread, NULL, replace, NULL);
	for (int round = 0; round < 3000; round++) {
		started += !posix_spawn(&child, "/no/such/program", NULL, NULL, arguments, environ);
		started += execv("/no/such/program", arguments) != -1;
	}
	stop = 1;
	pthread_join(thread, NULL);
	printf("%d\\n", started);
	return 0;
}
"""


def test_an_environment_that_another_thread_frees(
    observe: Observe, compile_program: Compile, tmp_path: Path
) -> None:
    seen = observe([compile_program(ENVIRONMENT)], cwd=tmp_path)
    assert (seen.done.returncode, seen.done.stdout) == (0, b"0\n")


# On one processor: a thread of ordinary priority reads a file all the time, one of SCHED_FIFO reads it once in 500 us.
PRIORITIES = """
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static volatile int stop;
static double now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}
static void *ordinary(void *unused)
{
	int fd = open("data", O_RDONLY);
	char bytes[64];
	unsigned random = 1;
	while (!stop) {
		random = random * 1103515245 + 12345;
		if (pread(fd, bytes, 1 + (random >> 16) % 60, (random >> 8) % 4000) < 0)
			return NULL;
	}
	return unused;
}
int main(void)
{
	cpu_set_t one;
	pthread_t thread;
	char bytes[4096] = {0};
	int slow = 0, fd = open("data", O_RDWR | O_CREAT, 0600);
	if (write(fd, bytes, sizeof bytes) < 0)
		return 9;
	sched_getaffinity(0, sizeof one, &one);
	for (int cpu = 0, found = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &one) && found++)
			CPU_CLR(cpu, &one);
	sched_setaffinity(0, sizeof one, &one);
	pthread_create(&thread, NULL, ordinary, NULL);
	struct sched_param high = {.sched_priority = 10};
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &high))
		return 2;
	for (int i = 0; i < 1000; i++) {
		struct timespec pause = {0, 500000 + i % 977};
		nanosleep(&pause, NULL);
		double from = now(CLOCK_MONOTONIC), used = now(CLOCK_THREAD_CPUTIME_ID);
		if (pread(fd, bytes, 16, i) < 0)
			return 9;
		slow += now(CLOCK_MONOTONIC) - from > 0.1 && now(CLOCK_THREAD_CPUTIME_ID) - used > 0.02;
	}
	stop = 1;
	pthread_join(thread, NULL);
	printf("%d\\n", slow);
	return 0;
}
"""


def test_a_thread_of_high_priority_lets_the_holder_of_a_lock_run(
    observe: Observe, compile_program: Compile, tmp_path: Path
) -> None:
    seen = observe([compile_program(PRIORITIES)], cwd=tmp_path)
    if seen.done.returncode == 2:
        pytest.skip("no right to SCHED_FIFO")
    assert (seen.done.returncode, seen.done.stdout) == (0, b"0\n")
