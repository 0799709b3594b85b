"""A signal handler may have a stack of 8 KiB, of which the kernel's frame takes half on some processors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from observed import Observe

Compile = Callable[..., Path]

MOST = 3584  # bytes: what a handler has left, with some kept for itself

PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROOM = 1 << 16 };

static char stack[ROOM];
static char *entry;
static const char *way, *whole;

static int is(const char *name)
{
	return strcmp(way, name) == 0;
}

static void put(int fd)
{
	if (fd < 0 || write(fd, "x", 1) != 1 || close(fd) != 0)
		_exit(1);
}

static void execute(pid_t child, const char *program)
{
	char *arguments[] = {(char *)program, NULL};
	if (child == 0) {
		execvp(program, arguments);
		_exit(9);
	}
	int status;
	if (waitpid(child, &status, 0) != child || status)
		_exit(2);
}

static void map(void)
{
	int fd = open("mapped", O_RDWR);
	char *at = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		_exit(3);
	at[5] = 1;
	munmap(at, 1 << 16);
	close(fd);
}

static void on_signal(int signal)
{
	char here;
	struct stat s;
	entry = signal ? &here : NULL;
	if (is("relative"))
		put(open("written", O_WRONLY | O_CREAT, 0600));
	else if (is("absolute"))
		put(open(whole, O_WRONLY));
	else if (is("dots"))
		put(open("folder/../written", O_WRONLY | O_CREAT, 0600));
	else if (is("at"))
		put(openat(open("folder", O_DIRECTORY), "written", O_WRONLY | O_CREAT, 0600));
	else if (is("excluded"))
		close(open("/etc/passwd", O_RDONLY));
	else if (is("stat"))
		stat("mapped", &s);
	else if (is("rename"))
		rename("mapped", "moved");
	else if (is("stderr"))
		(void)!write(2, "", 0);
	else if (is("fork"))
		execute(fork(), "true");
	else if (is("vfork"))
		execute(vfork(), "true");
	else if (is("map"))
		map();
}

int main(int argc, char **argv)
{
	(void)argc;
	way = argv[1];
	mkdir("folder", 0700);
	truncate("mapped", 1 << 16);
	whole = realpath("mapped", NULL);
	if (strcmp(argv[2], "awake") == 0)
		close(open("first", O_WRONLY | O_CREAT, 0600));
	stack_t alternate = {.ss_sp = stack, .ss_size = ROOM};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &action, NULL);
	memset(stack, 0x55, ROOM);
	raise(SIGUSR1);
	size_t unused = 0;
	while (stack[unused] == 0x55)
		unused++;
	printf("%zu\n", (size_t)(entry - stack) - unused);
	return 0;
}
"""

WAYS = "relative absolute dots at excluded stat rename stderr fork vfork map".split()


@pytest.fixture(scope="module")
def program(compile_program: Compile) -> Path:
    return compile_program(PROGRAM, "-Wl,-z,now")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("before", ["asleep", "awake"])
def test_calls_in_a_handler_take_little_of_its_stack(
    program: Path, way: str, before: str, observe: Observe, tmp_path: Path
) -> None:
    """The program has no lazy binding, which takes more than all else; what the library has is none of a call's."""
    (tmp_path / "mapped").touch()
    seen = observe([program, way, before], cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr
    assert 0 < int(seen.done.stdout) <= MOST
    if way in ("relative", "dots"):
        assert seen.total("POSIX", "BYTES_WRITTEN", f"{tmp_path}/written") == 1
    if way == "at":
        assert seen.total("POSIX", "BYTES_WRITTEN", f"{tmp_path}/folder/written") == 1
    if way == "rename":
        assert seen.total("POSIX", "OPENS") == (before == "awake")
