"""Killed at any moment, a program leaves a log with every operation that it had finished.

The program keeps its own account in a mapped file: it adds to it after each operation, so that a log may hold
at most the one operation more that had ended but was not yet accounted for.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import struct
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import shown

PROGRAM = """
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct account { uint64_t opens, writes, reads, bytes, group; } *account;

/* Each process has its own page: a child killed alone must not disturb the parent's. */
static void enter_account(int process)
{
	int fd = open("account", O_RDWR);
	account = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096 * process);
	close(fd);
}

static void work(int process, int rounds)
{
	char name[32], data[100] = "";
	for (int i = 0; i < rounds; i++) {
		snprintf(name, sizeof name, "work-%d-%d", process, i % 50);
		int fd = open(name, O_RDWR | O_CREAT, 0600);
		account->opens++;
		for (int k = 0; k < 20; k++) {
			account->bytes += (uint64_t)write(fd, data, sizeof data);
			account->writes++;
		}
		lseek(fd, 0, SEEK_SET);
		for (int k = 0; k < 20; k++)
			account->reads += read(fd, data, sizeof data) == sizeof data;
		close(fd);
	}
}

int main(int argc, char **argv)
{
	setpgid(0, 0);
	enter_account(0);
	account->group = (uint64_t)getpid();
	work(0, 30);
	for (int child = 1; child <= 3; child++)
		if (fork() == 0) {
			enter_account(child);
			work(child, argc > 1 ? 100000 : 60);
			return 0;
		}
	work(0, argc > 1 ? 100000 : 100);
	while (wait(NULL) > 0)
		;
	return argv[0] == NULL;
}
"""

ROUNDS = int(os.environ.get("KILLS", "60"))
PROCESSES = 4


def account(folder: Path) -> Counter[str]:
    data = (folder / "account").read_bytes()
    total: Counter[str] = Counter()
    for process in range(PROCESSES):
        values = struct.unpack_from("4Q", data, 4096 * process)
        total.update(dict(zip(("OPENS", "WRITES", "READS", "BYTES_WRITTEN"), values, strict=True)))
    return total


def logged(text: str) -> Counter[str]:
    total: Counter[str] = Counter()
    for (module, name, _), row in shown.records(text).items():
        if module == "POSIX" and "/work-" in name:
            for counter in ("OPENS", "WRITES", "READS", "BYTES_WRITTEN"):
                total[counter] += int(row[f"POSIX_{counter}"])
    return total


def compare(folder: Path, text: str) -> None:
    done, found = account(folder), logged(text)
    for counter, slack in (("OPENS", 1), ("WRITES", 1), ("READS", 1), ("BYTES_WRITTEN", 100)):
        least, most = done[counter], done[counter] + slack * PROCESSES
        assert least <= found[counter] <= most, f"{counter}: log {found[counter]}, finished {least}"


def group_of(folder: Path) -> int:
    (group,) = struct.unpack_from("Q", (folder / "account").read_bytes(), 32)
    return int(group)


def kill_all(run: int, folder: Path) -> None:
    """All processes of the program at once, and nobody else: `iolens run` has to outlive them."""
    if not group_of(folder):
        for child in Path(f"/proc/{run}/task/{run}/children").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
    if group_of(folder):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group_of(folder), signal.SIGKILL)


@pytest.fixture(scope="module")
def program(compile_program: Callable[[str], Path]) -> Path:
    return compile_program(PROGRAM)


@pytest.mark.parametrize("chance", range(ROUNDS))
def test_killed_at_a_random_moment(
    chance: int,
    program: Path,
    iolens: Path,
    run_iolens: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
) -> None:
    (tmp_path / "account").write_bytes(bytes(4096 * PROCESSES))
    command = [iolens, "run", "-q", "-o", "log", "--", program, "long"]
    run = subprocess.Popen(command, cwd=tmp_path, start_new_session=True, stderr=subprocess.PIPE)
    time.sleep(random.Random(chance).uniform(0.0, 0.06))
    while run.poll() is None:  # on a busy machine the program may begin later
        kill_all(run.pid, tmp_path)
        time.sleep(0.01)
    _, stderr = run.communicate(timeout=300)
    started = account(tmp_path)["OPENS"] > 0
    assert run.returncode in (-signal.SIGKILL, 0) or not started, stderr
    if not (tmp_path / "log").exists():
        assert not started, f"no log: {stderr.decode()}"
        return
    shown_log = run_iolens(["show", "--base", "--ext", "log"], cwd=tmp_path)
    assert shown_log.returncode == 0, shown_log.stderr
    compare(tmp_path, shown_log.stdout)


ENDS = {
    "segmentation fault": "*(volatile int *)0 = 1;",
    "abort": "abort();",
    "_exit": "_exit(3);",
    "_Exit": "_Exit(3);",
    "quick_exit": "quick_exit(3);",
    "exit_group": "syscall(SYS_exit_group, 3);",
    "exec": 'execlp("true", "true", NULL);',
    "failed exec": 'execlp("/no/such/program", "x", NULL);',
    "floating point": "raise(SIGFPE);",
    "out of file size": "raise(SIGXFSZ);",
    "killed by itself": "kill(getpid(), SIGKILL);",
    "exit in a thread": "pthread_t t; pthread_create(&t, NULL, leave, NULL); pthread_join(t, NULL);",
    "return": "return 3;",
}


@pytest.mark.parametrize("end", ENDS)
def test_every_way_to_end_keeps_what_was_done(
    end: str,
    compile_program: Callable[[str], Path],
    run_iolens: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
) -> None:
    program = compile_program(
        f"""
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

void *leave(void *unused)
{{
	exit(3);
	return unused;
}}

int main(void)
{{
	int fd = open("data", O_WRONLY | O_CREAT, 0600);
	for (int i = 0; i < 1000; i++)
		if (write(fd, "12345", 5) != 5)
			return 1;
	{ENDS[end]}
	return 4;
}}
"""
    )
    bare = subprocess.run([program], cwd=tmp_path, check=False)
    done = run_iolens(["run", "-q", "-o", "log", "--", program], cwd=tmp_path)
    assert done.returncode == bare.returncode, done.stderr
    found = shown.records(run_iolens(["show", "log"], cwd=tmp_path).stdout)
    row = found["POSIX", f"{tmp_path}/data", 0]
    assert (row["POSIX_WRITES"], row["POSIX_BYTES_WRITTEN"]) == ("1000", "5000")
