"""Two threads that end the process or replace its program at once: one log, whichever of them succeeds."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Compile = Callable[[str], Path]

# One thread replaces the program, which strace delays; meanwhile another fails to.
TWO_EXECS = """
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
static void *fail(void *unused)
{
	usleep(300000);
	execl("/not/there", "there", NULL);
	return unused;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	close(open("data", O_RDWR | O_CREAT, 0600));
	pthread_create(&thread, NULL, fail, NULL);
	execl(argv[1], argv[1], NULL);
	return argc;
}
"""


def test_an_exec_that_fails_leaves_the_log_of_one_that_does_not(
    compile_program: Compile, preload: Path, tmp_path: Path
) -> None:
    true = shutil.which("true")
    assert true
    program = compile_program(TWO_EXECS)
    (tmp_path / "logs").mkdir()
    trace = ["strace", "-f", "-qq", "-o", tmp_path / "strace", "-P", true]
    trace += ["-e", "trace=execve", "-e", "inject=execve:delay_enter=1000000"]
    own = {"LD_PRELOAD": preload, "IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGPATH": tmp_path / "logs"}
    words = [word for name, value in own.items() for word in ("-E", f"{name}={value}")]
    subprocess.run([*trace, *words, program, true], cwd=tmp_path, check=True)
    (log,) = (tmp_path / "logs").iterdir()
    assert f"_{program.name}_" in log.name


# One thread's exec fails. Meanwhile another thread ends the process, or replaces its program.
EXEC_AND_END = """
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *end(void *program)
{
	usleep(200000);
	if (program)
		execl(program, program, NULL);
	exit(3);
}
int main(int argc, char **argv)
{
	pthread_t thread;
	close(open("data", O_RDWR | O_CREAT, 0600));
	pthread_create(&thread, NULL, end, argc > 1 ? argv[1] : NULL);
	execl("/not/there", "there", NULL);
	sleep(3);
	return 4;
}
"""


@pytest.mark.parametrize("ends", ["exit", "exec"])
def test_an_exec_that_fails_leaves_the_log_to_a_thread_that_ends_the_process(
    compile_program: Compile, preload: Path, tmp_path: Path, ends: str
) -> None:
    """Each exec takes a second longer, the end of the process two."""
    program, logs = compile_program(EXEC_AND_END), tmp_path / "logs"
    logs.mkdir()
    trace = ["strace", "-f", "-qq", "-o", tmp_path / "strace", "-e", "trace=execve,exit_group"]
    trace += ["-e", "inject=execve:delay_enter=1000000", "-e", "inject=exit_group:delay_enter=2000000"]
    own = {"LD_PRELOAD": preload, "IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGPATH": logs}
    words = [word for name, value in own.items() for word in ("-E", f"{name}={value}")]
    arguments = [shutil.which("true") or ""] if ends == "exec" else []
    done = subprocess.run([*trace, *words, program, *arguments], cwd=tmp_path, check=False)
    assert done.returncode == (3 if ends == "exit" else 0)
    (log,) = logs.iterdir()
    assert f"_{program.name}_" in log.name
