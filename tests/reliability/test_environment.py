"""Programs that empty their own environment: clearenv() leaves none."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import shown
from observed import Observe

CLEARS = r"""
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const char *how = argv[1];
	char *echo[] = {"echo", "started", NULL};
	int status = 0;
	pid_t child;
	clearenv();
	puts("kept");
	int f = open("w", O_CREAT | O_WRONLY | O_TRUNC, 0644);
	if (write(f, "abc", 3) != 3)
		return 1;
	close(f);
	fflush(stdout);
	if (!strcmp(how, "execl"))
		execl("/bin/echo", "echo", "started", (char *)0);
	if (!strcmp(how, "execv"))
		execv("/bin/echo", echo);
	if (!strcmp(how, "execve"))
		execve("/bin/echo", echo, NULL);
	if (!strcmp(how, "execvp"))
		execvp("echo", echo);
	if (!strcmp(how, "execvpe"))
		execvpe("echo", echo, NULL);
	if (!strcmp(how, "spawn") && !posix_spawn(&child, "/bin/echo", NULL, NULL, echo, NULL))
		waitpid(child, &status, 0);
	if (!strcmp(how, "spawnp") && !posix_spawnp(&child, "echo", NULL, NULL, echo, NULL))
		waitpid(child, &status, 0);
	if (!strcmp(how, "system"))
		status = system("echo started");
	return status ? 2 : 0;
}
"""

STARTS = ["execl", "execv", "execve", "execvp", "execvpe", "spawn", "spawnp", "system"]


@pytest.fixture
def clears(compile_program: Callable[[str], Path]) -> Path:
    return compile_program(CLEARS)


@pytest.mark.parametrize("how", ["ends", *STARTS])
def test_a_program_without_an_environment_is_observed(
    clears: Path, how: str, observe: Observe, tmp_path: Path
) -> None:
    bare = subprocess.run([clears, how], cwd=tmp_path, capture_output=True, check=True)
    seen = observe([clears, how], cwd=tmp_path)
    assert (seen.done.returncode, seen.done.stdout, seen.done.stderr) == (0, bare.stdout, b"")
    assert bare.stdout == (b"kept\n" if how == "ends" else b"kept\nstarted\n")
    assert seen.total("POSIX", "BYTES_WRITTEN", f"{tmp_path}/w") == 3


@pytest.mark.parametrize("how", ["ends", *STARTS])
def test_the_library_alone_survives_it_too(
    clears: Path,
    how: str,
    preload: Path,
    run_iolens: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
) -> None:
    """With the scheduler's job of the start in its log."""
    settings = {"IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGFILE": str(tmp_path / "log"), "SLURM_JOB_ID": "4711"}
    env = {**os.environ, **settings, "LD_PRELOAD": str(preload)}
    done = subprocess.run([clears, how], cwd=tmp_path, env=env, capture_output=True, check=True)
    assert done.stdout == (b"kept\n" if how == "ends" else b"kept\nstarted\n")
    text = run_iolens(["show", tmp_path / "log"]).stdout
    assert shown.records(text)["POSIX", f"{tmp_path}/w", 0]["POSIX_BYTES_WRITTEN"] == "3"
    assert "# jobid: 4711\n" in text


@pytest.mark.skipif(not shutil.which("strace"), reason="no strace")
@pytest.mark.parametrize("observed", [True, False], ids=["observed", "loaded"])
def test_a_shell_that_starts_programs_reads_its_environment_where_it_lies(
    observed: bool, preload: Path, tmp_path: Path
) -> None:
    """Through the kernel it took two system calls a variable, for each program."""
    own = {"LD_PRELOAD": str(preload), "IOLENS_LOGPATH": str(tmp_path)}
    own |= {"IOLENS_ENABLE_NONMPI": "1"} if observed else {}
    own |= {f"VARIABLE_{n}": "v" * n for n in range(200)}
    given = [word for item in own.items() for word in ("-E", "=".join(item))]
    loop = "i=0; while [ $i -lt 10 ]; do /bin/true; i=$((i+1)); done"
    subprocess.run(["strace", "-f", "-o", "trace", *given, "sh", "-c", loop], cwd=tmp_path, check=True)
    calls = re.findall(r"^\d+ +(\w+)\(", (tmp_path / "trace").read_text(), re.MULTILINE)
    assert calls.count("execve") == 11
    assert calls.count("process_vm_readv") == 0
    assert calls.count("getpid") < 11 * 10
