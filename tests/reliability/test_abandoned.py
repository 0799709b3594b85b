"""The library alone: what a signal ends leaves a store, of which the next processes make a log."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import shown

Compile = Callable[[str], Path]
Run = Callable[..., "subprocess.CompletedProcess[str]"]

HANDFUL = 5

PROGRAM = r"""
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd = open("data", O_WRONLY | O_CREAT | O_APPEND, 0600);
	for (int i = 0; i < 10; i++)
		if (write(fd, "12345", 5) != 5)
			return 1;
	if (!strcmp(argv[1], "killed"))
		raise(SIGKILL);
	if (!strcmp(argv[1], "waits")) {
		close(open("ready", O_CREAT | O_WRONLY, 0600));
		for (;;)
			pause();
	}
	if (!strcmp(argv[1], "leaves")) {
		if (fork() == 0)
			for (;;)
				pause();
		raise(SIGKILL);
	}
	if (!strcmp(argv[1], "children"))
		for (int i = 0; i < atoi(argv[2]); i++) {
			if (fork() == 0) {
				if (write(fd, "12345", 5) == 5)
					raise(SIGKILL);
				_exit(1);
			}
			wait(NULL);
			if (write(fd, "1", 1) != 1)
				return 1;
		}
	return argc < 2;
}
"""


class Alone:
    """Programs under the library without `iolens run`."""

    def __init__(self, preload: Path, program: Path, folder: Path) -> None:
        self.program, self.place, self.logs, self.top = (
            program,
            folder / "place",
            folder / "logs",
            folder / "tmp",
        )
        for path in (self.place, self.logs, self.top):
            path.mkdir()
        self.environment = {
            **os.environ,
            "LD_PRELOAD": str(preload),
            "IOLENS_ENABLE_NONMPI": "1",
            "IOLENS_LOGPATH": str(self.logs),
            "IOLENS_TMPDIR": str(self.top),
        }

    def start(self, *command: str | Path, **settings: str) -> subprocess.Popen[bytes]:
        environment = {**self.environment, **settings}
        settled = {"cwd": self.place, "env": environment, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(command, start_new_session=True, **settled)

    def __call__(self, *arguments: str, **settings: str) -> int:
        return self.start(self.program, *arguments, **settings).wait(timeout=300)

    def stores(self) -> list[Path]:
        return sorted(self.top.rglob("*.store"))

    def made(self) -> list[Path]:
        return sorted(self.logs.glob("*.darshan"))


@pytest.fixture(scope="module")
def program(compile_program: Compile) -> Path:
    return compile_program(PROGRAM)


@pytest.fixture
def alone(preload: Path, program: Path, tmp_path: Path) -> Alone:
    return Alone(preload, program, tmp_path)


@pytest.fixture
def small(alone: Alone) -> Iterator[Callable[[str], None]]:
    """Mounts a file system of its own where the stores go."""
    mounted = []

    def mount(options: str) -> None:
        command = ["mount", "-t", "tmpfs", "-o", options, "none", alone.top]
        if subprocess.run(command, check=False, capture_output=True).returncode:
            pytest.skip(f"tmpfs with {options} cannot be mounted here")
        mounted.append(alone.top)

    yield mount
    for place in mounted:
        subprocess.run(["umount", "-l", place], check=True)


def writes(log: Path, data: Path, run_iolens: Run) -> int:
    done = run_iolens(["show", log])
    assert done.returncode == 0, done.stderr
    return int(shown.records(done.stdout)["POSIX", str(data), 0]["POSIX_WRITES"])


def test_a_hundred_pipelines_leave_a_handful(alone: Alone, run_iolens: Run) -> None:
    loop = "for i in $(seq 100); do yes | head -1 >/dev/null; done"
    assert alone.start("sh", "-c", loop).wait(timeout=120) == 0
    assert len(alone.stores()) <= HANDFUL
    names = [re.sub(r"^[^_]*_|_id.*", "", log.name) for log in alone.made()]
    assert names.count("head") == 100
    assert names.count("yes") + len(alone.stores()) == 100
    log = next(log for log in alone.made() if "_yes_" in log.name)
    assert run_iolens(["check", log]).returncode == 0


def test_stores_of_the_killed_do_not_fill_their_directory(
    alone: Alone, small: Callable[[str], None], run_iolens: Run
) -> None:
    """150 stores of 40 KiB and more, and nothing that ends by itself."""
    small("size=2m")
    for _ in range(150):
        assert alone("killed") == -signal.SIGKILL
        assert len(alone.stores()) <= HANDFUL
    logs = alone.made()
    assert len(logs) >= 145
    assert all(writes(log, alone.place / "data", run_iolens) == 10 for log in logs[::30])
    assert alone("ends") == 0
    assert not list(alone.top.iterdir()), "and the last one removes the directory"
    assert len(alone.made()) == 151


def test_children_that_are_killed_become_logs_when_others_start_and_end(alone: Alone) -> None:
    """A forked child makes no logs itself: its parent's threads may have held any lock."""
    assert alone("children", "60") == 0
    others = 0
    while alone.stores():
        others += 1
        assert alone("ends") == 0
        assert others < 30, "two at each start, at least"
    assert len(alone.made()) == 61 + others


def test_children_that_are_killed_leave_half_of_the_room(alone: Alone, small: Callable[[str], None]) -> None:
    small("size=4m")
    assert alone("children", "200", IOLENS_ABANDONED="log") == 0
    assert len(alone.stores()) < 60


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize("stopped", [False, True])
def test_a_store_in_use_is_left_alone_whatever_its_name_says(
    stopped: bool, alone: Alone, run_iolens: Run
) -> None:
    """The number of a process tells nothing in another namespace, or when it was given away again."""
    process = alone.start(alone.program, "waits")
    wait_for(alone.place / "ready")
    (store,) = alone.stores()
    gone = subprocess.Popen(["true"])
    gone.wait()
    named = store.with_name(re.sub(r"\.\d+\.(\w+)\.store$", rf".{gone.pid}.\1.store", store.name))
    store.rename(named)
    if stopped:
        process.send_signal(signal.SIGSTOP)
    for _ in range(20):
        assert alone("ends") == 0
    assert alone.stores() == [named]
    assert len(alone.made()) == 20
    process.kill()
    process.wait()
    assert alone("ends") == 0
    assert not alone.stores()
    assert len(alone.made()) == 22


def test_a_child_that_still_has_its_parents_store_keeps_it(alone: Alone) -> None:
    """It has done nothing yet, and no store of its own; its first operation may need the parent's."""
    process = alone.start(alone.program, "leaves")
    assert process.wait(timeout=300) == -signal.SIGKILL
    before = alone.stores()
    assert len(before) == 1
    for _ in range(5):
        assert alone("ends") == 0
    assert alone.stores() == before
    os.killpg(process.pid, signal.SIGKILL)
    while alone.stores():
        assert alone("ends") == 0


def test_several_at_once_make_each_log_once(alone: Alone) -> None:
    for _ in range(40):
        assert alone("killed", IOLENS_ABANDONED="keep") == -signal.SIGKILL
    assert len(alone.stores()) == 40
    rounds = 0
    while alone.stores():
        rounds += 1
        for process in [alone.start(alone.program, "ends") for _ in range(8)]:
            assert process.wait(timeout=300) == 0
        assert rounds < 10
    assert len(alone.made()) == 40 + 8 * rounds
    pids = [re.findall(r"_id\d+-(\d+)_", log.name)[0] for log in alone.made()]
    assert len(set(pids)) == len(pids)


def test_they_can_be_removed_without_a_log(alone: Alone) -> None:
    for _ in range(6):
        assert alone("killed", IOLENS_ABANDONED="keep") == -signal.SIGKILL
    assert alone("ends", IOLENS_ABANDONED="remove") == 0
    assert not alone.stores()
    assert len(alone.made()) == 1


def test_without_a_place_for_logs_they_stay_while_there_is_room(
    alone: Alone, small: Callable[[str], None]
) -> None:
    small("size=2m")
    shutil.rmtree(alone.logs)
    kept = []
    for _ in range(60):
        assert alone("killed") == -signal.SIGKILL
        kept.append(len(alone.stores()))
    assert kept[3] == 4
    assert max(kept) < 40, "half of the room is left to others"


def test_stores_of_sessions_jobs_and_others_are_left_alone(alone: Alone) -> None:
    for name in ("iolens-abcdef", f"iolens-{os.geteuid()}-0123456789abcdef", "iolens-4711"):
        directory = alone.top / name
        directory.mkdir(mode=0o700)
        killed = alone.start(alone.program, "killed", IOLENS_SESSION=str(directory))
        assert killed.wait(timeout=300) == -signal.SIGKILL
    before = alone.stores()
    assert len(before) == 3
    for _ in range(3):
        assert alone("ends") == 0
    assert alone.stores() == before


def test_a_directory_that_others_may_write_to_is_not_used(alone: Alone) -> None:
    squatted = alone.top / f"iolens-{os.geteuid()}"
    squatted.mkdir()
    squatted.chmod(0o777)
    assert alone("killed") == -signal.SIGKILL
    assert alone("ends") == 0
    assert [store.parent for store in alone.stores()] == [alone.top]
    assert not list(squatted.iterdir())


@pytest.mark.parametrize("size", ["4k", "8k", "16k", "24k", "32k"])
def test_a_full_directory_keeps_no_empty_file(size: str, alone: Alone, small: Callable[[str], None]) -> None:
    small(f"size={size}")
    for _ in range(3):
        assert alone("ends") == 0
    assert not alone.stores()


def test_a_store_takes_no_huge_pages(alone: Alone, small: Callable[[str], None]) -> None:
    small("size=256m,huge=always")
    assert alone("killed", IOLENS_ABANDONED="keep") == -signal.SIGKILL
    (store,) = alone.stores()
    assert store.stat().st_blocks * 512 <= 64 << 10
