"""A process that narrows the system calls that it may make is recorded on, and its own library asks for none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from observed import Observe

Compile = Callable[[str], Path]

PROGRAM = r"""
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILES = 40, THREADS = 3, BYTES = 1 << 16 };

static char block[BYTES];

/* What the program makes itself below, and what a thread needs; everything else ends it. */
#define ALLOW(n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, n, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int confine(int how)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_openat), ALLOW(SYS_write), ALLOW(SYS_close), ALLOW(SYS_exit_group), ALLOW(SYS_exit),
		ALLOW(SYS_futex), ALLOW(SYS_clone3), ALLOW(SYS_clone), ALLOW(SYS_mmap), ALLOW(SYS_mprotect),
		ALLOW(SYS_munmap), ALLOW(SYS_set_robust_list), ALLOW(SYS_rseq), ALLOW(SYS_rt_sigprocmask),
		ALLOW(SYS_rt_sigaction), ALLOW(SYS_madvise), ALLOW(SYS_brk), ALLOW(SYS_getrandom),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
	struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return 1;
	if (how == 'p')
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static void put(int number)
{
	char name[] = {'f', (char)('0' + number / 10), (char)('0' + number % 10), 0};
	int fd = open(name, O_WRONLY | O_CREAT, 0600);
	if (fd < 0 || write(fd, block, BYTES) != BYTES || close(fd))
		_exit(2);
}

static void *work(void *first)
{
	for (int i = (int)(intptr_t)first; i < FILES; i += THREADS)
		put(i);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	if (argc > 2)
		close(open("before", O_WRONLY | O_CREAT, 0600));
	if (confine(*argv[1]))
		return 1;
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)i))
			return 3;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	_exit(0);
}
"""

FILES, BYTES = 40, 1 << 16


@pytest.fixture(scope="module")
def program(compile_program: Compile) -> Path:
    return compile_program(PROGRAM)


@pytest.mark.parametrize("before", [[], ["before"]], ids=["asleep", "awake"])
@pytest.mark.parametrize("how", ["prctl", "seccomp"])
def test_what_follows_is_recorded(
    program: Path, how: str, before: list[str], observe: Observe, tmp_path: Path
) -> None:
    seen = observe([program, how, *before], cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr
    written = {name: seen.total("POSIX", "BYTES_WRITTEN", name) for name in seen.files("POSIX")}
    expected = {f"{tmp_path}/f{i:02d}": BYTES for i in range(FILES)}
    assert written == expected | ({f"{tmp_path}/before": 0} if before else {})
    (process,) = seen.sections["process"]
    assert int(process["kernel_written"]) == int(process["seen_written"]) == FILES * BYTES
    assert process["unseen_written"] == "0"


def test_what_a_confined_child_did_otherwise_is_unknown(
    program: Path, observe: Observe, tmp_path: Path
) -> None:
    """Nobody has asked at its end, and the counts of before are no counts of it."""
    seen = observe(["sh", "-c", f"{program} prctl; true"], cwd=tmp_path, options=())
    assert seen.done.returncode == 0
    assert b"unknown of 1 process: killed, confined, or still running" in seen.done.stderr
    unseen = {
        Path(row["exe"]).name: (row["seen_written"], row["unseen_written"])
        for row in seen.sections["process"]
    }
    assert unseen["program"] == (str(FILES * BYTES), "-1")
    ways = [row for row in seen.sections.get("operation", []) if row["interface"] == "unobserved"]
    assert [row["name"] for row in ways] == ["processor"]  # its parent waited for it; no bytes
