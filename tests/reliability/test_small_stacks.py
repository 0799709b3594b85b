"""Signal handlers with little stack: crash handlers on an alternate one, also as what a process does first."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from observed import Observe

# THREADS open paths with `..` all the time; JUMPS out of a handler leave such a call before.
HANDLER = r"""
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HANDLERS = 500 };

static volatile int stop;
static volatile sig_atomic_t handled;
static sigjmp_buf start;

static void jump(int s)
{
	siglongjmp(start, s);
}

static void crash(int s)
{
	char name[] = "e/../e/../crash000";
	int n = handled++;
	name[15] += (char)(n / 100 % 10), name[16] += (char)(n / 10 % 10), name[17] += (char)(n % 10);
	int fd = open(name, O_WRONLY | O_CREAT, 0600);
	if (write(fd, "crashed\n", 8) != 8)
		_exit(s);
	close(fd);
}

static void touch(const char *format, long who, long i)
{
	char name[100];
	snprintf(name, sizeof name, format, who, i);
	int fd = open(name, O_RDONLY | O_CREAT, 0600);
	if (fd >= 0)
		close(fd);
}

static void *ever(void *who)
{
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, 0);
	for (long i = 0; !stop; i++)
		touch("e/../e/../e/../e/../e/../z%ld_%ld", (long)who, i % 300);
	return who;
}

static void leave(volatile int jumps)
{
	volatile long k = 0;
	struct itimerval often = {{0, 70}, {0, 70}}, never = {{0, 0}, {0, 0}};
	signal(SIGALRM, jump);
	if (sigsetjmp(start, 1))
		jumps--;
	setitimer(ITIMER_REAL, &often, 0);
	while (jumps > 0)
		touch("e/../e/../e/../e/../e/../j%ld_%ld", 0, k++ % 400);
	setitimer(ITIMER_REAL, &never, 0);
}

int main(int argc, char **argv)
{
	int threads = atoi(argv[1]), jumps = atoi(argv[2]), status = 0;
	pthread_t thread[64];
	mkdir("e", 0700);
	char *room = mmap(0, 16384, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(room + 4096, 8192, PROT_READ | PROT_WRITE);
	stack_t small = {.ss_sp = room + 4096, .ss_size = 8192};
	sigaltstack(&small, 0);
	struct sigaction action = {.sa_handler = crash, .sa_flags = SA_ONSTACK};
	sigaction(SIGUSR1, &action, 0);
	if (jumps)
		leave(jumps);
	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], 0, ever, (void *)i);
	if (argc > 3 && fork()) { /* what the threads have in hand is left behind in the child */
		wait(&status);
		_exit(status ? 9 : 0);
	}
	for (int i = 0; i < HANDLERS; i++) {
		raise(SIGUSR1);
		if (threads)
			usleep(200);
	}
	puts("fine");
	fflush(stdout);
	_exit(0);
}
"""


@pytest.mark.parametrize("case", ["32 0", "64 0", "0 300", "4 100", "64 0 forks"])
def test_a_handler_with_8_kib_opens_files(
    compile_program: Callable[[str], Path], case: str, observe: Observe, tmp_path: Path
) -> None:
    program = compile_program(HANDLER)
    for attempt in range(3):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        seen = observe([program, *case.split()], cwd=folder)
        assert (seen.done.returncode, seen.done.stdout) == (0, b"fine\n")
        assert len(list(folder.glob("crash*"))) == 500
        assert os.access(seen.log, os.R_OK)


def test_bare_it_runs_as_well(compile_program: Callable[[str], Path], tmp_path: Path) -> None:
    done = subprocess.run(
        [compile_program(HANDLER), "32", "0"], cwd=tmp_path, capture_output=True, check=True
    )
    assert done.stdout == b"fine\n"


# What a process does first, a handler does: on an alternate stack with 1,280 bytes more than the kernel's frame, a
# page that must not be touched below it. The linker, which takes more, binds the program at its start. With a second
# thread the work is done by a thread of iolens.
FIRST = r"""
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, MORE = 1280 };

static const char *what;

static void handle(int s)
{
	if (!strcmp(what, "ends"))
		_exit(0);
	int fd = open("first", O_RDWR | O_CREAT, 0600);
	if (fd < 0 || write(fd, "first", 5) != 5)
		_exit(s);
	close(fd);
}

static void *sleeps(void *nothing)
{
	for (;;)
		pause();
	return nothing;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	size_t size = getauxval(AT_MINSIGSTKSZ) + MORE, room = (size + PAGE - 1) / PAGE * PAGE;
	char *low = mmap(NULL, room + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + PAGE;
	what = argv[1];
	if (mprotect(low, room, PROT_READ | PROT_WRITE) || (argc > 2 && pthread_create(&thread, NULL, sleeps, NULL)))
		return 2;
	stack_t small = {.ss_sp = low, .ss_size = size};
	sigaltstack(&small, NULL);
	memset(low, 1, room);
	sigaction(SIGUSR1, &(struct sigaction){.sa_handler = handle, .sa_flags = SA_ONSTACK}, NULL);
	raise(SIGUSR1);
	_exit(0);
}
"""


THREADS = pytest.mark.parametrize("threads", [[], ["threads"]], ids=["one-thread", "threads"])
WHAT = pytest.mark.parametrize("what", ["opens", "ends"])


@THREADS
@WHAT
def test_the_first_operation_on_a_stack_of_1280_bytes(
    compile_program: Callable[..., Path], observe: Observe, tmp_path: Path, what: str, threads: list[str]
) -> None:
    seen = observe([compile_program(FIRST, "-Wl,-z,now"), what, *threads], cwd=tmp_path)
    assert seen.done.returncode == 0
    assert seen.total("POSIX", "BYTES_WRITTEN", f"{tmp_path}/first") == (5 if what == "opens" else 0)


@THREADS
@WHAT
def test_the_first_operation_of_the_library_alone_on_a_stack_of_1280_bytes(
    compile_program: Callable[..., Path], preload: Path, tmp_path: Path, what: str, threads: list[str]
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    own = {"LD_PRELOAD": f"{preload}", "IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGPATH": f"{logs}"}
    command = [compile_program(FIRST, "-Wl,-z,now"), what, *threads]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, **own}, check=False)
    assert done.returncode == 0
    assert len(list(logs.iterdir())) == (what == "opens")


# The linker binds getppid after the first call, and getpgrp after all others.
CALLS = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void put(const char *name)
{
	char text[16];
	struct stat s;
	int fd = open(name, O_RDWR | O_CREAT, 0600), other = dup(fd);
	if (write(fd, "0123456789", 10) != 10 || pread(other, text, 10, 0) != 10 || lseek(fd, 0, SEEK_SET))
		_exit(1);
	char *at = mmap(NULL, 10, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	at[0]++;
	munmap(at, 10);
	if (fstat(fd, &s) || stat(name, &s) || fsync(fd) || close(fd) || close(other))
		_exit(2);
}

static void use_stream(const char *name)
{
	char text[16];
	FILE *f = fopen(name, "r+");
	if (!fgets(text, 8, f) || ftello(f) != 7 || fseek(f, 0, SEEK_END) || fputs("more", f) < 0 || fclose(f))
		_exit(3);
}

static void start(const char *program)
{
	int status = 1;
	pid_t child = vfork();
	if (child == 0) {
		execlp(program, program, NULL);
		_exit(9);
	}
	if (waitpid(child, &status, 0) != child || status)
		_exit(4);
}

static void *thread_main(void *name)
{
	put(name);
	return name;
}

int main(void)
{
	pthread_t thread;
	close(open("first", O_RDWR | O_CREAT, 0600));
	(void)getppid();
	put("second");
	mkdir("folder", 0700);
	put("absent/../folder/../data");
	use_stream("data");
	if (chdir("folder"))
		return 5;
	put("inner");
	rename("inner", "../inner");
	unlink("../inner");
	start("true");
	start("../script");
	pthread_create(&thread, NULL, thread_main, "of a thread");
	pthread_join(thread, NULL);
	return getpgrp() < 0;
}
"""


@pytest.mark.parametrize("observed", [True, False], ids=["observed", "loaded"])
def test_the_linker_binds_nothing_for_the_library_within_a_call(
    observed: bool, compile_program: Callable[..., Path], preload: Path, tmp_path: Path
) -> None:
    """It takes 3 KiB of stack: what calls need is bound at the start, or when the process wakes."""
    (tmp_path / "absent").mkdir()
    (tmp_path / "script").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "script").chmod(0o700)
    own = {"LD_PRELOAD": f"{preload}", "LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": f"{tmp_path}/bindings"}
    own |= {"IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGPATH": f"{tmp_path}"} if observed else {}
    program = compile_program(CALLS, "-Wl,-z,lazy")
    done = subprocess.Popen([program], cwd=tmp_path, env={**os.environ, **own})
    assert done.wait() == 0
    lines = (tmp_path / f"bindings.{done.pid}").read_text().splitlines()
    after, before = (
        next(n for n, line in enumerate(lines) if f"`{mark}'" in line) for mark in ("getppid", "getpgrp")
    )
    ours = [n for n, line in enumerate(lines) if f"binding file {preload} " in line]
    assert 20 < len([n for n in ours if n < after]) < 60
    assert [lines[n] for n in ours if after < n < before] == []
