"""Waits for children: supervisors poll by them, and shells do thousands, so that they cost next to nothing."""

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
def test_a_wait_that_finds_nothing_is_no_system_call_more(
    how: str, compile_program: Callable[[str], Path], preload: Path, writes: Path, tmp_path: Path
) -> None:
    program = compile_program(POLLS)
    own = {"LD_PRELOAD": str(preload), "IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGPATH": str(tmp_path)}
    given = [word for item in own.items() for word in ("-E", "=".join(item))]
    subprocess.run(["strace", "-o", "trace", *given, program, how, writes], cwd=tmp_path, check=True)
    trace = (tmp_path / "trace").read_text()
    assert len(re.findall(r"^openat\(.*/proc/.*/io", trace, re.MULTILINE)) < 10
    assert 1000 < len(re.findall(r"^wait", trace, re.MULTILINE)) < 2000


# Children that are not observed write a block each, one after the other.
STARTS = r"""
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	for (int n = atoi(argv[1]); n--;) {
		int status;
		pid_t child = vfork();
		if (!child) {
			execl(argv[2], argv[2], (char *)0);
			_exit(1);
		}
		if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
			return 2;
	}
	return 0;
}
"""

BLOCK = r"""
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
	static char block[5000];
	int fd = open("/dev/null", O_WRONLY);
	return write(fd, block, sizeof block) == sizeof block ? 7 : 9;
}
"""


@pytest.fixture
def block(compile_program: Callable[..., Path]) -> Path:
    return compile_program(BLOCK, "-static")


@pytest.mark.parametrize("children", [1, 32, 33, 300])
def test_what_many_unobserved_children_moved_is_known_to_the_byte(
    children: int, compile_program: Callable[..., Path], block: Path, observe: Observe, tmp_path: Path
) -> None:
    seen = observe([compile_program(STARTS), str(children), block], cwd=tmp_path, options=())
    assert sum(int(row["unseen_written"]) for row in seen.sections["process"]) == 5000 * children
    assert sum(int(row["unexplained_written"]) for row in seen.sections["process"]) == 0


@pytest.mark.skipif(not shutil.which("strace"), reason="no strace")
def test_most_of_many_children_are_not_asked_about_one_by_one(
    compile_program: Callable[..., Path], block: Path, preload: Path, tmp_path: Path
) -> None:
    """Each answer takes six system calls; strace makes a child take a few milliseconds."""
    own = {"LD_PRELOAD": str(preload), "IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGPATH": str(tmp_path)}
    given = [word for item in own.items() for word in ("-E", "=".join(item))]
    program = [compile_program(STARTS), "1000", block]
    subprocess.run(["strace", "-o", "trace", *given, *program], cwd=tmp_path, check=True)
    trace = (tmp_path / "trace").read_text()
    assert len(re.findall(r"^openat\(.*/proc/thread-self/io", trace, re.MULTILINE)) < 600
