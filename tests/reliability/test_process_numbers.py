"""A process is not its number: a child may have its parent's in a name space of its own, or may not ask for it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import shown

Compile = Callable[[str], Path]
Run = Callable[..., "subprocess.CompletedProcess[str]"]

# Process 1 of a name space, as in a container, makes another one, whose process 1 does nothing, and ends.
NESTED = r"""
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char b[100] = "";
	int s = 0, fd = open("data", O_RDWR | O_CREAT, 0600);
	for (int i = 0; i < 100; i++)
		if (write(fd, b, 100) != 100)
			return 2;
	if (unshare(CLONE_NEWPID))
		return 3;
	pid_t c = fork();
	if (!c)
		_exit(7);
	waitpid(c, &s, 0);
	for (int i = 0; i < 50; i++)
		if (pread(fd, b, 100, i * 100) != 100)
			return 2;
	printf("%d %d\n", (int)getpid(), WEXITSTATUS(s));
	fflush(stdout);
	if (argc > 1)
		raise(SIGKILL), kill(getpid(), SIGKILL);
	return 0;
}
"""

# The numbers of processes are refused from the exec on.
REFUSED = r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, filter};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 3;
	execvp(argv[1], argv + 1);
	return 4;
}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for folder in ("logs", "stores", "place"):
        (tmp_path / folder).mkdir()
    return tmp_path


def alone(preload: Path, place: Path, *command: object, **settings: str) -> subprocess.CompletedProcess[str]:
    env = {
        **os.environ,
        "LD_PRELOAD": str(preload),
        "IOLENS_ENABLE_NONMPI": "1",
        "IOLENS_LOGPATH": str(place / "logs"),
        "IOLENS_TMPDIR": str(place / "stores"),
        **settings,
    }
    words = list(map(str, command))
    return subprocess.run(words, cwd=place / "place", env=env, capture_output=True, text=True, check=False)


def in_namespace(*command: object) -> list[object]:
    return ["unshare", "-pf", "--mount-proc", *command]


def moved(run_iolens: Run, log: Path) -> tuple[int, int]:
    rows = shown.records(run_iolens(["show", "--base", log]).stdout)
    row = next(row for (m, name, _), row in rows.items() if m == "POSIX" and name.endswith("/data"))
    return int(row["POSIX_BYTES_WRITTEN"]), int(row["POSIX_BYTES_READ"])


def test_a_child_of_its_parents_number_makes_no_log_of_the_parent(
    compile_program: Compile, preload: Path, run_iolens: Run, place: Path
) -> None:
    done = alone(preload, place, *in_namespace(compile_program(NESTED)))
    if "unshare" in done.stderr or done.returncode == 3:
        pytest.skip(f"no pid namespaces: {done.stderr}")
    assert (done.returncode, done.stdout) == (0, "1 7\n")
    (log,) = (place / "logs").glob("*_program_*")
    assert moved(run_iolens, log) == (10000, 5000)


def test_nor_ends_it_in_a_session(compile_program: Compile, run_iolens: Run, place: Path) -> None:
    command = in_namespace(compile_program(NESTED))
    done = run_iolens(["run", "-q", "-o", place / "log", "--", *command], cwd=place / "place")
    if done.returncode:
        pytest.skip(f"no pid namespaces: {done.stderr}")
    tables = shown.sections(run_iolens(["show", "--ext", place / "log"]).stdout)
    ends = [(row["exit_code"], row["ended"]) for row in tables["process"] if row["exe"].endswith("/program")]
    assert ("0", "exit") in ends and ends.count(("7", "exit")) <= 1
    assert moved(run_iolens, place / "log") == (10000, 5000)


def test_what_a_killed_parent_did_is_not_lost(
    compile_program: Compile, preload: Path, run_iolens: Run, place: Path
) -> None:
    script = f"{compile_program(NESTED)} killed & wait $!"
    done = alone(preload, place, *in_namespace("sh", "-c", script), IOLENS_ABANDONED="keep")
    if "unshare" in done.stderr:
        pytest.skip(f"no pid namespaces: {done.stderr}")
    assert not list((place / "logs").glob("*_program_*"))
    stores = [str(path) for path in (place / "stores").rglob("*.store")]
    log = place / "log"
    assert run_iolens(["recover", "-o", log, *stores]).returncode in (0, 4)
    assert moved(run_iolens, log) == (10000, 5000)


@pytest.mark.parametrize("how", ["alone", "session"])
def test_a_process_that_is_refused_its_number_has_no_store(
    how: str, compile_program: Compile, preload: Path, run_iolens: Run, place: Path
) -> None:
    (place / "place" / "data").write_text("12345")
    program = compile_program(REFUSED)
    settings = {"IOLENS_TMPDIR": str(place / "stores")}
    if how == "alone":
        done = alone(preload, place, program, "cat", "data")
    else:
        command = ["run", "-q", "-o", place / "log", "--", program, "cat", "data"]
        done = run_iolens(command, cwd=place / "place", env=settings)
    assert (done.returncode, done.stdout, done.stderr) == (0, "12345", "")
    left = [path.name.split(".") for path in (place / "stores").rglob("*.store")]
    assert [
        name for name in left if not 0 < int(name[-3]) < 1 << 31
    ] == []  # the program's that narrows its calls
    assert not list((place / "logs").glob("*_cat_*"))


def test_stores_without_a_process_do_not_stay(preload: Path, run_iolens: Run, place: Path) -> None:
    """As versions before 0.2 left them, and processes that were killed while they made one."""
    private = place / "stores" / f"iolens-{os.geteuid()}"
    private.mkdir(mode=0o700)
    for name in (".18446744073709551615.0", "host.18446744073709551615.4f", "host.999999.4f"):
        (private / f"{name}.store").touch()
    for _ in range(3):
        assert alone(preload, place, "cat", "/dev/null").returncode == 0
    assert not private.exists() or list(private.iterdir()) == []


# The first process of a name space writes 1 MiB and is killed; its parent, outside of it, has waited.
KILLED = r"""
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static char b[1 << 20];
int main(void)
{
	int ends[2], s;
	if (unshare(CLONE_NEWUSER | CLONE_NEWPID) || pipe(ends))
		return 3;
	pid_t c = fork();
	if (!c) {
		int fd = open("data", O_WRONLY | O_CREAT, 0600);
		if (write(fd, b, sizeof b) == sizeof b && write(ends[1], b, 1) == 1)
			pause();
		_exit(1);
	}
	return !(read(ends[0], b, 1) == 1 && !kill(c, SIGKILL) && waitpid(c, &s, 0) == c && WTERMSIG(s) == SIGKILL);
}
"""


def test_how_the_first_of_a_name_space_ended_is_known_from_its_parent(
    compile_program: Compile, run_iolens: Run, tmp_path: Path
) -> None:
    if subprocess.run(["unshare", "-U", "-p", "-f", "true"], check=False, capture_output=True).returncode:
        pytest.skip("no user namespaces")
    done = run_iolens(["run", "-q", "-o", tmp_path / "log", compile_program(KILLED)], cwd=tmp_path)
    assert done.returncode == 0
    sections = shown.sections(run_iolens(["show", "--ext", "--show-incomplete", tmp_path / "log"]).stdout)
    assert [row["ended"] for row in sections["process"]] == ["exit", "signal"]
    again = [int(row["bytes"]) for row in sections["operation"] if row["interface"] == "unobserved"]
    assert sum(again) < 64 << 10  # what iolens itself read in the child
