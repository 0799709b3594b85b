"""Launchers of sandboxes: a filter of system calls that kills is set, and the next program runs in it."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from observed import Observe
from system_calls import all_documented, calls

LAUNCHER = r"""
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <spawn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* HOW ANSWER NUMBER,NUMBER,... PROGRAM...: all other system calls get the answer. */
int main(int argc, char **argv)
{
	static struct sock_filter f[1200];
	int n = 0, status;
	pid_t child;
	unsigned answer = SECCOMP_RET_ERRNO | EPERM;
	if (!strcmp(argv[2], "kill"))
		answer = SECCOMP_RET_KILL_PROCESS;
	if (!strcmp(argv[2], "trap"))
		answer = SECCOMP_RET_TRAP;
	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (char *p = strtok(argv[3], ","); p; p = strtok(NULL, ",")) {
		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, atoi(p), 0, 1);
		f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer);
	struct sock_fprog p = {n, f};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return 1;
	if (strstr(argv[1], "prctl"))
		status = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
	else
		status = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p);
	if (status)
		return 2;
	if (strstr(argv[1], "exec"))
		execv(argv[4], argv + 4);
	if (posix_spawn(&child, argv[4], NULL, NULL, argv + 4, environ) || waitpid(child, &status, 0) != child)
		return 3;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}
"""

CAT = "/bin/cat"
FILTERS, ANSWERS = ("prctl", "seccomp"), ("kill", "trap")


def numbers(names: set[str]) -> str:
    header = "#include <sys/syscall.h>\n" + "".join(f"n_{name} SYS_{name}\n" for name in sorted(names))
    text = subprocess.run(["cc", "-E", "-P", "-"], input=header, capture_output=True, text=True, check=True)
    return ",".join(re.findall(r"^n_\w+ (\d+)$", text.stdout, re.MULTILINE))


@pytest.fixture(scope="module")
def allowed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What cat needs without iolens, and what its launcher does after the filter."""
    if not shutil.which("strace"):
        pytest.skip("no strace")
    folder = tmp_path_factory.mktemp("bare")
    (folder / "text").write_text("read\n")
    own = {"execve", "prctl", "seccomp", "clone", "clone3", "vfork", "wait4", "exit_group", "rt_sigprocmask"}
    return numbers(calls([CAT, "text"], folder) | own | {"mmap", "munmap", "rt_sigaction", "write"})


@pytest.fixture
def launcher(compile_program: Callable[[str], Path], tmp_path: Path) -> Path:
    (tmp_path / "text").write_text("read\n")
    return compile_program(LAUNCHER)


@pytest.mark.parametrize(
    "how", [f"{f} {start} {answer}" for f in FILTERS for start in ("exec", "spawn") for answer in ANSWERS]
)
def test_a_program_in_a_filter_that_kills_is_left_alone(
    launcher: Path, allowed: str, how: str, observe: Observe, tmp_path: Path
) -> None:
    answer = how.rsplit(maxsplit=1)[-1]
    seen = observe([launcher, how, answer, allowed, CAT, "text"], cwd=tmp_path, options=())
    assert (seen.done.returncode, seen.done.stdout) == (0, b"read\n"), seen.done.stderr
    rows = [(row["program"], row["reason"], row["count"]) for row in seen.sections["unobserved"]]
    assert rows == [(CAT, "filter", "1")]
    assert b"cat, in a sandbox" in seen.done.stderr


@pytest.mark.parametrize("how", ["prctl exec", "seccomp exec"])
def test_the_library_alone_leaves_it_alone_too(
    launcher: Path, allowed: str, how: str, preload: Path, tmp_path: Path
) -> None:
    own = {"IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGPATH": str(tmp_path), "LD_PRELOAD": str(preload)}
    command = [launcher, how, "kill", allowed, CAT, "text"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **own}, capture_output=True, check=False, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, b"read\n")


def test_one_in_a_filter_that_answers_is_observed(
    launcher: Path, allowed: str, observe: Observe, tmp_path: Path
) -> None:
    seen = observe([launcher, "prctl exec", "error", allowed, CAT, "text"], cwd=tmp_path)
    assert (seen.done.returncode, seen.done.stdout) == (0, b"read\n")
    assert not seen.sections.get("unobserved")


def test_a_filter_that_allows_what_is_listed_is_no_reason(
    root: Path, launcher: Path, allowed: str, observe: Observe, tmp_path: Path
) -> None:
    every = f"{allowed},{numbers(all_documented(root))}"
    seen = observe([launcher, "seccomp exec", "kill", every, CAT, "text"], cwd=tmp_path)
    assert (seen.done.returncode, seen.done.stdout) == (0, b"read\n")
    assert not seen.sections.get("unobserved")
    assert seen.total("POSIX", "BYTES_READ", f"{tmp_path}/text") == 5


ANSWERED = r"""
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A filter answers 0 to every other system call: to getpid, to the clock, to sleeping. */
int main(void)
{
	static const int allowed[] = {SYS_read, SYS_write, SYS_openat, SYS_close, SYS_exit_group, SYS_brk, SYS_mmap};
	static struct sock_filter f[32];
	int n = 0, fd;
	long set;
	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < sizeof allowed / sizeof *allowed; i++) {
		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
		f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO);
	struct sock_fprog p = {n, f};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	__asm__ volatile("syscall" : "=a"(set) : "a"(SYS_seccomp), "D"(SECCOMP_SET_MODE_FILTER), "S"(0), "d"(&p)
		: "rcx", "r11", "memory"); /* which no wrapper sees */
	for (int i = 0; i < 20; i++) {
		fd = open("made", O_WRONLY | O_CREAT, 0600);
		if (set || fd < 0 || write(fd, "text", 4) != 4 || close(fd))
			return 1;
	}
	return 6;
}
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="its system call is written for x86-64")
def test_a_filter_that_answers_nothing_true_is_not_waited_for(
    compile_program: Callable[[str], Path], preload: Path, tmp_path: Path
) -> None:
    program = compile_program(ANSWERED)
    own = {"IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGPATH": str(tmp_path)}
    for library in ({}, {"LD_PRELOAD": str(preload)}):
        env = {**os.environ, **own, **library}
        done = subprocess.run([program], cwd=tmp_path, env=env, capture_output=True, check=False, timeout=300)
        assert (done.returncode, (tmp_path / "made").read_text()) == (6, "text"), library


def test_the_list_in_the_sources_is_the_one_in_the_docs(root: Path) -> None:
    source = (root / "modules" / "process" / "sandbox.c").read_text()
    assert set(re.findall(r"^\tSYS_(\w+),$", source, re.MULTILINE)) == all_documented(root)
