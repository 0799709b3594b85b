"""Stores of ended processes take no memory of the job, however many there are, and nothing of them is lost."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import shown

Run = Callable[..., "subprocess.CompletedProcess[str]"]

PROCESSES = 400
KIB = 1024

# Prints the most that /dev/shm held of it, and whether a part went to a disk. One process at a time lives with it.
MANY = f"""
import glob, os, subprocess, time
def used():
    s = os.statvfs("/dev/shm")
    return (s.f_blocks - s.f_bfree) * s.f_frsize
most = 0
for n in range({PROCESSES}):
    subprocess.run(["cat", "data"], stdout=subprocess.DEVNULL)
    most = max(most, used())
until = time.monotonic() + 30
while not (moved := glob.glob("/dev/shm/iolens-*/moved.stores")) and time.monotonic() < until:
    time.sleep(0.05)
print(most, len(moved))
"""

# Workers that end together, with a store of some hundred KiB each; then nothing more is made.
WORKERS = """
import os, time
def used():
    s = os.statvfs("/dev/shm")
    return (s.f_blocks - s.f_bfree) * s.f_frsize
for n in range(24):
    if os.fork() == 0:
        for k in range(400):
            with open(f"file-{n}-{k}", "w") as f:
                f.write("x" * 10)
            os.unlink(f"file-{n}-{k}")
        os._exit(0)
for n in range(24):
    os.wait()
until = time.monotonic() + 30
while used() > 2 << 20 and time.monotonic() < until:
    time.sleep(0.05)
print(used())
"""


def own_shm(command: list[object], place: Path, size: str = "64m") -> subprocess.CompletedProcess[str]:
    """As in a container: a /dev/shm of its own, of 64 MiB."""
    script = f'mount -t tmpfs -o size={size} tmpfs /dev/shm && exec "$@"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", *map(str, command)],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    if "unshare failed" in done.stderr or "permission denied" in done.stderr:
        pytest.skip("no mount namespaces here")
    return done


def processes(run_iolens: Run, log: Path, program: str) -> list[dict[str, str]]:
    rows = shown.sections(run_iolens(["show", "--ext", log]).stdout)["process"]
    return [row for row in rows if row["exe"].endswith(program)]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data").write_text("0123456789")
    return tmp_path


def test_memory_stays_below_a_mebibyte(iolens: Path, run_iolens: Run, data: Path) -> None:
    done = own_shm([iolens, "run", "-q", "-o", "log", "--", "python3", "-c", MANY], data)
    assert (done.returncode, done.stderr) == (0, "")
    most, moved = map(int, done.stdout.split())
    assert most < 4096 * KIB, "25 MB of stores; 0.6 MiB stay on a machine that is not busy"
    assert moved == 1, "what is packed takes 0.8 MiB, and goes to a disk when it passes 384 KiB"
    cats = processes(run_iolens, data / "log", "/cat")
    assert len(cats) == PROCESSES
    assert {(row["seen_read"], row["ended"]) for row in cats} == {("10", "exit")}
    assert sorted(path.name for path in data.iterdir()) == ["data", "log"]


def test_stores_that_were_made_long_ago(iolens: Path, run_iolens: Run, data: Path) -> None:
    done = own_shm([iolens, "run", "-q", "-o", "log", "--", "python3", "-c", WORKERS], data)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) <= 2048 * KIB
    forked = [row for row in processes(run_iolens, data / "log", "") if row["forked"] == "1"]
    assert [row["seen_written"] for row in forked] == ["4000"] * 24


# Three processes that ended, and four files more in the directory, upon which it is looked through at once.
FEW = """
import os, pathlib, subprocess, time
session = pathlib.Path(os.environ["IOLENS_SESSION"])
for n in range(3):
    subprocess.run(["cat", "data"], stdout=subprocess.DEVNULL)
marks = [session / f"mark{n}" for n in range(4)]
for mark in marks:
    mark.touch()
until = time.monotonic() + 1
while not list(session.glob("*.stores")) and time.monotonic() < until:
    time.sleep(0.05)
for mark in marks:
    mark.unlink()
print(len(list(session.glob("*.store"))), len(list(session.glob("*.stores"))))
"""


def test_few_stores_stay_as_they_are(iolens: Path, data: Path) -> None:
    """Of 256 KiB and less none is packed."""
    done = own_shm([iolens, "run", "-q", "-o", "log", "--", "python3", "-c", FEW], data)
    assert (done.returncode, done.stdout, done.stderr) == (0, "4 0\n", "")


ASLEEP = r"""
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
int main(void)
{
	int got;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, 0);
	sigwait(&set, &got);
	int fd = open("woken", O_CREAT | O_WRONLY, 0600);
	return write(fd, "0123456789", 10) != 10 || close(fd);
}
"""

# In a container with a host name of its own, by a number that is free outside; others end meanwhile, and are packed.
CONTAINER = """
import os, pathlib, signal, subprocess, sys, time
session = pathlib.Path(os.environ["IOLENS_SESSION"])
number = next(n for n in range(30000, 2000, -1) if not os.path.exists(f"/proc/{n}"))
inside = f"hostname elsewhere; echo {number - 1} > /proc/sys/kernel/ns_last_pid; {sys.argv[1]} & wait"
container = subprocess.Popen(["unshare", "-u", "-p", "-f", "sh", "-c", inside])
def stores():
    return list(session.glob(f"elsewhere.{number}.*.store"))
while not stores():
    time.sleep(0.01)
def packed():
    return b"".join(bundle.read_bytes() for bundle in session.glob("*.stores")).count(b"iolstor1")
while packed() < 8:
    subprocess.run(["cat", "data"], stdout=subprocess.DEVNULL)
print(len(stores()))
for name in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    if name.read_bytes() == sys.argv[1].encode() + b"\\0":
        os.kill(int(name.parent.name), signal.SIGUSR1)
container.wait()
"""


def test_a_process_asleep_in_a_container_keeps_its_store(
    iolens: Path, run_iolens: Run, compile_program: Callable[[str], Path], data: Path
) -> None:
    """It has nothing mapped, and cannot be looked up: whether it lives is not known."""
    asleep = compile_program(ASLEEP)
    done = own_shm([iolens, "run", "-q", "-o", "log", "--", "python3", "-c", CONTAINER, asleep], data)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    (row,) = processes(run_iolens, data / "log", asleep.name)
    assert (row["seen_written"], row["ended"]) == ("10", "exit")


TWICE = r"""
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
int main(void)
{
	int got, fd = open("made", O_CREAT | O_WRONLY, 0600);
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, 0);
	if (write(fd, "0123456789", 10) != 10)
		return 1;
	sigwait(&set, &got);
	return write(fd, "0123456789", 10) != 10 || close(fd);
}
"""

# `iolens run` is killed alone while its command lives, by another host name.
LEFT = """
import os, pathlib, signal, subprocess, sys, time
iolens, program = sys.argv[1:]
inside = f"hostname elsewhere; exec {program}"
run = subprocess.Popen([iolens, "run", "-q", "-o", "log", "--", "unshare", "-u", "sh", "-c", inside])
made = pathlib.Path("made")
while not made.exists() or made.stat().st_size < 10:
    time.sleep(0.01)
run.kill()
run.wait()
def recover():
    return subprocess.run([iolens, "recover"], capture_output=True, text=True)
early = recover()
print(early.returncode, "still run" in early.stderr, len(list(pathlib.Path("/dev/shm").glob("iolens-*"))))
for name in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    if name.read_bytes() == program.encode() + b"\\0":
        os.kill(int(name.parent.name), signal.SIGUSR1)
while made.stat().st_size < 20:
    time.sleep(0.01)
while (late := recover()).returncode == 4:
    time.sleep(0.01)
print(late.returncode, late.stderr, len(list(pathlib.Path("/dev/shm").iterdir())))
"""


def test_a_living_process_of_another_host_name_keeps_its_session(
    iolens: Path, run_iolens: Run, compile_program: Callable[[str], Path], data: Path
) -> None:
    program = compile_program(TWICE)
    done = own_shm(["python3", "-c", LEFT, iolens, program], data)
    assert (done.returncode, done.stdout, done.stderr) == (0, "4 True 1\n0  0\n", "")
    (row,) = processes(run_iolens, data / "log", program.name)
    assert row["seen_written"] == "20"


def kill_in_the_middle(iolens: Path, place: Path, least: int) -> None:
    """`iolens run` alone; its command ends by itself."""
    step = "subprocess.run(['cat', 'data'], stdout=open('out', 'a'))"
    script = f"import subprocess\nfor n in range({PROCESSES}):\n    {step}"
    env = {**os.environ, "IOLENS_TMPDIR": str(place / "sessions")}
    run = subprocess.Popen(
        [iolens, "run", "-q", "-o", "log", "--", "python3", "-c", script], cwd=place, env=env
    )
    while not (place / "out").exists() or (place / "out").stat().st_size < least * 10:
        time.sleep(0.001)
    run.send_signal(signal.SIGKILL)
    run.wait()
    while (place / "out").stat().st_size < PROCESSES * 10:
        time.sleep(0.01)


@pytest.mark.parametrize("least", [20, 77, 150, 391])
def test_a_killed_run_loses_no_process(least: int, iolens: Path, run_iolens: Run, data: Path) -> None:
    (data / "sessions").mkdir()
    kill_in_the_middle(iolens, data, least)
    settings = {"IOLENS_TMPDIR": str(data / "sessions")}
    late = time.monotonic() + 60
    while (
        done := run_iolens(["recover"], env=settings, cwd=data)
    ).returncode == 4 and time.monotonic() < late:
        time.sleep(0.01)  # the last of its processes ends
    assert (done.returncode, done.stdout) == (0, f"{data}/log\n"), done.stderr
    cats = processes(run_iolens, data / "log", "/cat")
    assert len(cats) == PROCESSES
    assert {row["seen_read"] for row in cats} == {"10"}
    assert list((data / "sessions").iterdir()) == []
    assert not list(data.glob(".iolens-*"))


# `iolens run` is killed where it calls a function for the N-th time. Its command goes on; what is left becomes the log.
PACKED = 220
KILLED_AT = f"""
import pathlib, re, subprocess, sys, time
iolens, function, nth = sys.argv[1:]
step = "subprocess.run(['cat', 'data'], stdout=open('out', 'a'))"
script = "import subprocess\\nfor n in range({PACKED}):\\n    " + step
command = [iolens, "run", "-q", "-o", "log", "--", "python3", "-c", script]
orders = ["set breakpoint pending on", f"break {{function}}", f"ignore 1 {{int(nth) - 1}}", "run", "kill"]
debugger = ["gdb", "-q", "-batch", *(word for order in orders for word in ("-ex", order)), "--args", *command]
stopped = subprocess.run(debugger, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
assert re.search(r"Breakpoint 1, (\\w+_)?" + function, stopped), stopped
while pathlib.Path("out").stat().st_size < {PACKED} * 10:
    time.sleep(0.01)
while (done := subprocess.run([iolens, "recover"], capture_output=True, text=True)).returncode == 4:
    time.sleep(0.01)
print(done.returncode, done.stderr, *pathlib.Path("/dev/shm").iterdir())
"""

# In an entry of the bundle; before a packed store, what a bundle on the disk has, and their link are removed or made.
STEPS = {
    "entry": ("pwrite64", 2),
    "packed": ("unlinkat", 30),
    "moved": ("ftruncate64", 1),
    "link": ("symlink", 1),
}


@pytest.mark.parametrize("step", STEPS)
def test_killed_between_two_steps(step: str, iolens: Path, run_iolens: Run, data: Path) -> None:
    if not shutil.which("gdb"):
        pytest.skip("no gdb")
    function, nth = STEPS[step]
    done = own_shm(["python3", "-c", KILLED_AT, iolens, function, nth], data, size="128m")
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 \n", "")
    cats = processes(run_iolens, data / "log", "/cat")
    assert len(cats) == PACKED
    assert {row["seen_read"] for row in cats} == {"10"}


CROWD = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>
/* Workers with many files each, and what /dev/shm holds when all of them are through and live. */
int main(int argc, char **argv)
{
	int ready[2], go[2], workers = atoi(argv[1]);
	char c = 0, name[64];
	if (pipe(ready) || pipe(go) || close(open("first", O_WRONLY | O_CREAT, 0600)))
		return 2;
	for (int w = 0; w < workers; w++)
		if (!fork()) {
			close(go[1]);
			for (int i = 0; i < 3000; i++) {
				snprintf(name, sizeof name, "f%d-%d", w, i);
				int fd = open(name, O_RDWR | O_CREAT, 0600);
				if (write(fd, "0123456789", 10) != 10)
					return 1;
				close(fd);
				unlink(name);
			}
			if (write(ready[1], &c, 1) != 1 || read(go[0], &c, 1))
				return 1;
			return 0;
		}
	for (int w = 0; w < workers; w++)
		if (read(ready[0], &c, 1) != 1)
			return 2;
	struct statvfs s;
	statvfs("/dev/shm", &s);
	printf("%lld\n", (long long)(s.f_blocks - s.f_bfree) * s.f_frsize);
	fflush(stdout);
	close(go[0]), close(go[1]);
	int status, bad = 0;
	while (wait(&status) > 0)
		bad += status != 0;
	return bad;
}
"""


def test_living_workers_leave_three_quarters_of_what_is_free(
    iolens: Path, run_iolens: Run, compile_program: Callable[[str], Path], data: Path
) -> None:
    """Each would have 2.5 MiB of records: what has no room shares one, and the totals stay exact."""
    done = own_shm([iolens, "run", "-q", "-o", "log", "--", compile_program(CROWD), "16"], data)
    assert (done.returncode, done.stderr) == (0, "")
    assert 8 << 20 < int(done.stdout) <= 16 << 20
    rows = shown.records(run_iolens(["show", "--base", "--show-incomplete", data / "log"]).stdout)
    posix = [row for (module, _, _), row in rows.items() if module == "POSIX"]
    assert sum(int(row["POSIX_BYTES_WRITTEN"]) for row in posix) == 16 * 3000 * 10
    assert len(posix) > 16 * 500


def test_the_same_with_the_library_alone(
    preload: Path, run_iolens: Run, compile_program: Callable[[str], Path], data: Path
) -> None:
    settings = [f"LD_PRELOAD={preload}", "IOLENS_ENABLE_NONMPI=1", f"IOLENS_LOGPATH={data}"]
    done = own_shm(["env", *settings, compile_program(CROWD), "16"], data)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) <= 16 << 20
    logs = sorted(data.glob("*.darshan"))
    written = 0
    for log in logs:
        rows = shown.records(run_iolens(["show", "--base", "--show-incomplete", log]).stdout)
        written += sum(int(row["POSIX_BYTES_WRITTEN"]) for (m, _, _), row in rows.items() if m == "POSIX")
    assert written == 16 * 3000 * 10


def test_many_living_processes_leave_room_and_are_named(
    iolens: Path, run_iolens: Run, compile_program: Callable[[str], Path], data: Path
) -> None:
    """Of 600 that live at a time some have no store; the log counts them."""
    program = compile_program(CROWD.replace("3000", "2"))
    done = own_shm([iolens, "run", "-o", "log", "--", program, "600"], data)
    assert done.returncode == 0
    assert int(done.stdout) <= 17 << 20
    tables = shown.sections(run_iolens(["show", "--ext", data / "log"]).stdout)
    children = [row for row in tables["process"] if row["forked"] == "1"]
    (lost,) = [row for row in tables["unobserved"] if row["reason"] == "no_store"]
    assert 120 < len(children) < 400
    assert len(children) + int(lost["count"]) == 600


AT_ONCE = r"""
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
enum { ALL = 128 };
static int ready[2], go[2];
static int child(int number)
{
	char name[16], c = 0;
	if (ptrace(PTRACE_TRACEME, 0, 0, 0) || raise(SIGSTOP) || close(go[1]))
		return 1;
	snprintf(name, sizeof name, "f%d", number);
	int fd = open(name, O_RDWR | O_CREAT, 0600);
	return write(fd, "0123456789", 10) != 10 || close(fd) || write(ready[1], &c, 1) != 1 || read(go[0], &c, 1);
}
/* Its store is the only file that it makes with O_EXCL. A child that was refused one goes on to read. */
static int is_at_store(pid_t child)
{
	struct __ptrace_syscall_info now = {0};
	const unsigned flags = O_CREAT | O_EXCL;
	if (ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof now, &now) < 0)
		return -1;
	if (now.op != PTRACE_SYSCALL_INFO_ENTRY)
		return 0;
	if (now.entry.nr == SYS_read && now.entry.args[0] == (unsigned)go[0])
		return -1;
	return now.entry.nr == SYS_openat && (now.entry.args[2] & flags) == flags;
}
static int goes_to_next_call(pid_t child)
{
	int status;
	return ptrace(PTRACE_SYSCALL, child, 0, 0) == 0 && waitpid(child, &status, 0) == child && WIFSTOPPED(status);
}
/* It is about to make its store, or has made it. */
static int hold(pid_t child, int made)
{
	int status, at = 0;
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
	if (waitpid(child, &status, 0) != child || ptrace(PTRACE_SETOPTIONS, child, 0, options))
		return 0;
	while (at == 0)
		at = goes_to_next_call(child) ? is_at_store(child) : -1;
	return at > 0 && (!made || goes_to_next_call(child));
}
int main(int argc, char **argv)
{
	pid_t one[ALL];
	char c;
	int status, bad = 0, made = argc > 1 && strcmp(argv[1], "made") == 0;
	if (pipe(ready) || pipe(go) || close(open("first", O_WRONLY | O_CREAT, 0600)))
		return 2;
	alarm(300); /* a child may die */
	for (int i = 0; i < ALL; i++) {
		if ((one[i] = fork()) == 0)
			return child(i);
		if (!hold(one[i], made))
			return 3;
	}
	for (int i = 0; i < ALL; i++)
		if (ptrace(PTRACE_DETACH, one[i], 0, 0) || read(ready[0], &c, 1) != 1)
			return 4;
	struct statvfs s;
	statvfs("/dev/shm", &s);
	printf("%lld\n", (long long)(s.f_blocks - s.f_bfree) * s.f_frsize);
	fflush(stdout);
	close(go[0]), close(go[1]);
	while (wait(&status) > 0)
		bad += status != 0;
	return bad;
}
"""


@pytest.mark.parametrize("held", ["looked", "made"])
def test_processes_that_begin_at_once_leave_room(
    held: str, iolens: Path, run_iolens: Run, compile_program: Callable[[str], Path], data: Path
) -> None:
    """Each is held before it makes its store, or behind that, until all others are: they go on one by one."""
    program = compile_program(AT_ONCE)
    done = own_shm([iolens, "run", "-o", "log", "--", program, held], data, size="24m")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= 6 << 20, "a quarter; 8 MB with all 128"
    tables = shown.sections(run_iolens(["show", "--ext", data / "log"]).stdout)
    children = [row for row in tables["process"] if row["forked"] == "1"]
    (lost,) = [row for row in tables["unobserved"] if row["reason"] == "no_store"]
    assert 40 <= len(children) <= 72
    assert len(children) + int(lost["count"]) == 128


FULL = r"""
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
/* Files by the last descriptor that there is. */
int main(void)
{
	int last = 0;
	char name[32];
	for (int fd; (fd = open("/dev/null", O_RDONLY)) >= 0;)
		last = fd;
	close(last);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "f%d", i);
		int fd = open(name, O_RDWR | O_CREAT, 0600);
		if (fd != last || write(fd, "0123456789", 10) != 10 || close(fd) || unlink(name))
			return 1;
	}
	return 0;
}
"""


def test_a_process_without_a_descriptor_has_its_share(
    iolens: Path, run_iolens: Run, compile_program: Callable[[str], Path], data: Path
) -> None:
    """What the other stores take cannot be asked: each counts as much as its own."""
    program = compile_program(FULL)
    script = 'ulimit -n 30 && exec "$@"'
    command = [iolens, "run", "-q", "-o", "log", "--", "sh", "-c", script, "sh", program]
    done = own_shm(command, data, size="24m")
    assert (done.returncode, done.stderr) == (0, "")
    rows = shown.records(run_iolens(["show", "--base", data / "log"]).stdout)
    assert len([row for row in rows.values() if row.get("POSIX_BYTES_WRITTEN") == "10"]) == 1000
