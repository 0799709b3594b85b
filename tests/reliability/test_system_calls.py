"""docs/reliability.md lists the system calls that iolens adds: what a filter must allow that kills."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from system_calls import all_documented, calls, documented

pytestmark = pytest.mark.skipif(not shutil.which("strace"), reason="no strace")

WORK = ["dd", "if=/dev/zero", "of=made", "bs=1000", "count=3", "status=none"]
CHAIN = ["sh", "-c", "(true); exec true"]


START, OTHER, OPEN, USE, RECORD, EXEC, LOG = (
    "start of an observed program, and its first operation",
    "start of another one",
    "a path that is opened for the first time, and an open of more than 0.5 ms (a named pipe has no record)",
    "first use of an inherited descriptor",
    "the first record of an interface, and when there is no room for more",
    "exec and spawn",
    "a process without `iolens run` writes its log",
)


@pytest.mark.parametrize("command", [WORK, CHAIN], ids=["file", "fork and exec"])
def test_what_the_library_adds_is_listed(
    root: Path, preload: Path, tmp_path: Path, command: list[str]
) -> None:
    bare = calls(command, tmp_path)
    library = {"LD_PRELOAD": str(preload)}
    assert calls(command, tmp_path, **library) - bare <= documented(root, OTHER, EXEC)
    # A place of its own: where others have left stores, it looks at these, too.
    alone = {
        **library,
        "IOLENS_ENABLE_NONMPI": "1",
        "IOLENS_LOGPATH": str(tmp_path),
        "IOLENS_TMPDIR": str(tmp_path),
    }
    assert calls(command, tmp_path, **alone) - bare <= documented(
        root, START, OTHER, OPEN, USE, RECORD, EXEC, LOG
    )


@pytest.mark.parametrize("command", [WORK, CHAIN], ids=["file", "fork and exec"])
def test_a_session_adds_less(root: Path, preload: Path, tmp_path: Path, command: list[str]) -> None:
    session = tmp_path / "session"
    session.mkdir(mode=0o700)
    env = {"LD_PRELOAD": str(preload), "IOLENS_SESSION": str(session)}
    added = calls(command, tmp_path, **env) - calls(command, tmp_path)
    assert added <= documented(root, START, OTHER, OPEN, USE, RECORD, EXEC)
    assert list(session.glob("*.store"))


# What every program does in any case.
ANYHOW = {"openat", "read", "close", "mmap", "mprotect", "newfstatat", "exit_group"}


def test_every_call_in_the_sources_is_listed(root: Path) -> None:
    sources = [path for room in ("runtime", "modules") for path in (root / room).rglob("*.[ch]")]
    made = {name for path in sources for name in re.findall(r"sys_call\(SYS_(\w+)", path.read_text())}
    assert len(made) > 30
    assert made - ANYHOW <= all_documented(root)


KINDS = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *to)
{
	for (int i = 0; i < 200; i++)
		if (write(*(int *)to, "x", 1) != 1)
			_exit(9);
	return NULL;
}

int main(void)
{
	int fd = open("made", O_RDWR | O_CREAT, 0600), pair[2], flags;
	pthread_t thread[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, work, &fd);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	void *map = mmap(NULL, 400, PROT_READ, MAP_SHARED, fd, 0);
	flags = *(volatile char *)map;
	munmap(map, 400);
	mkdir("below", 0700);
	close(open("below/../made", O_RDONLY));
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	if (send(pair[0], "x", 1, 0) != 1 || recv(pair[1], &flags, 1, 0) != 1 || write(0, "x", 1) != 1)
		return 9;
	if (fork() == 0)
		_exit(write(fd, "x", 1) != 1);
	wait(&flags);
	if (fork() == 0)
		execlp("true", "true", NULL);
	wait(&flags);
	return flags != 0;
}
"""


def test_what_a_program_of_all_kinds_adds_is_listed(
    root: Path, preload: Path, tmp_path: Path, compile_program: Callable[[str], Path]
) -> None:
    program = ["sh", "-c", f"rm -rf below made; exec {compile_program(KINDS)} 0<>made.by.sh"]
    alone = {"LD_PRELOAD": str(preload), "IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGPATH": str(tmp_path)}
    added = calls(program, tmp_path, **alone) - calls(program, tmp_path)
    assert added >= {"readlinkat", "mremap", "getpeername", "pwrite64"}
    assert added <= all_documented(root)
