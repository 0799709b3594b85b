"""Waits for children that do not block: supervisors poll by them, so that they cost a system call and no more."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from observed import Observe

POLLS = r"""
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* HOW: polls 1,000 times, ends the child, and polls until it has it. */
int main(int argc, char **argv)
{
	int status = 0, left = 0, got = 0, ready[2], go[2];
	char byte;
	if (pipe(ready) || pipe(go))
		return 1;
	pid_t child = fork();
	if (!child) {
		if (write(ready[1], "x", 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(1);
		execl(argv[2], argv[2], (char *)0);
		_exit(2);
	}
	if (read(ready[0], &byte, 1) != 1)
		return 3;
	for (int i = 0; i < 1000 || !got; i++) {
		siginfo_t info = {.si_pid = 0};
		if (i == 1000 && write(go[1], "x", 1) != 1)
			return 4;
		if (!strcmp(argv[1], "waitpid"))
			got = waitpid(child, &status, WNOHANG);
		if (!strcmp(argv[1], "any"))
			got = waitpid(-1, &status, WNOHANG);
		if (!strcmp(argv[1], "group"))
			got = waitpid(0, &status, WNOHANG);
		if (!strcmp(argv[1], "wait4"))
			got = wait4(child, &status, WNOHANG, NULL);
		if (!strcmp(argv[1], "waitid") && !waitid(P_PID, (id_t)child, &info, WNOHANG | WEXITED)) {
			got = info.si_pid;
			status = got ? info.si_status << 8 : 0;
		}
		if (i >= 1000)
			usleep(1000);
	}
	printf("%d %d\n", got == child, WEXITSTATUS(status));
	return left;
}
"""

# Static: not observed, so that what it moves is in the count of the process that waits for it.
WRITES = r"""
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
	static char block[1 << 20];
	int fd = open("written", O_WRONLY | O_CREAT, 0600);
	for (int i = 0; i < 8; i++)
		if (write(fd, block, sizeof block) != sizeof block)
			return 9;
	return 7;
}
"""


@pytest.fixture
def writes(tmp_path: Path) -> Path:
    (tmp_path / "writes.c").write_text(WRITES)
    subprocess.run(["cc", "-static", "-o", "writes", "writes.c"], cwd=tmp_path, check=True)
    return tmp_path / "writes"


@pytest.mark.parametrize("how", ["waitpid", "any", "group", "wait4", "waitid"])
def test_what_an_unobserved_child_moved_is_known(
    how: str, compile_program: Callable[[str], Path], writes: Path, observe: Observe, tmp_path: Path
) -> None:
    seen = observe([compile_program(POLLS), how, writes], cwd=tmp_path, options=())
    assert seen.done.stdout == b"1 7\n"
    unseen = [int(row["unseen_written"]) for row in seen.sections["process"]]
    assert abs(sum(unseen) - (8 << 20)) < 64  # bytes through pipes are on both sides


@pytest.mark.skipif(not shutil.which("strace"), reason="no strace")
@pytest.mark.parametrize("how", ["waitpid", "waitid"])
def test_a_wait_that_finds_nothing_is_one_system_call_more(
    how: str, compile_program: Callable[[str], Path], preload: Path, writes: Path, tmp_path: Path
) -> None:
    program = compile_program(POLLS)
    own = {"LD_PRELOAD": str(preload), "IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGPATH": str(tmp_path)}
    given = [word for item in own.items() for word in ("-E", "=".join(item))]
    subprocess.run(["strace", "-o", "trace", *given, program, how, writes], cwd=tmp_path, check=True)
    trace = (tmp_path / "trace").read_text()
    assert len(re.findall(r"^openat\(.*/proc/self/io", trace, re.MULTILINE)) < 10
    assert 2000 < len(re.findall(r"^wait", trace, re.MULTILINE)) < 4000
