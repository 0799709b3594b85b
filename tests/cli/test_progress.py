"""What takes more than a second says so, on a terminal, and leaves no trace there; elsewhere it says nothing."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from iolens.progress import Progress, each, step
from logmaker import plain_log

Run = Callable[..., Any]


class Screen(io.StringIO):
    """A terminal that wakes who waits for a text."""

    def __init__(self, awaited: str) -> None:
        super().__init__()
        self.awaited = awaited
        self.seen = threading.Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        if self.awaited in self.getvalue():
            self.seen.set()
        return written


def shown(raw: str) -> str:
    """What is left of it on a terminal."""
    lines = []
    for line in raw.split("\n"):
        lines.append(line.rpartition("\r\x1b[K")[2])
    return "\n".join(lines)


def test_the_step_is_told_and_then_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen("iolens: opening logs: 2 of 3, ")
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(sys, "stdout", screen)
    with Progress(screen, interval=0.001):
        for item in each("opening logs", "abc", 3):
            if item == "b":
                assert screen.seen.wait(60)
        print("result")
    assert shown(screen.getvalue()) == "result\n"
    assert sys.stdout is screen


def test_outside_of_a_command_nobody_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    step("reading")
    assert list(each("reading", [1, 2], 2)) == [1, 2]
    assert capsys.readouterr() == ("", "")


SLOW = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A file called slow.darshan opens when there is one called as $RELEASE says; the first $AT_ONCE times, at once. */
int open64(const char *path, int flags, ...)
{
	static int opened;
	const char *at_once = getenv("AT_ONCE");
	bool slow = strstr(path, "slow.darshan") && opened++ >= (at_once ? atoi(at_once) : 0);
	while (slow && access(getenv("RELEASE"), F_OK))
		usleep(1000);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
}
int open(const char *path, int flags, ...) __attribute__((alias("open64")));
"""


@pytest.fixture
def slow(tmp_path: Path) -> dict[str, str]:
    """The environment in which slow.darshan, a log, takes its time to open."""
    (tmp_path / "slow.c").write_text(SLOW)
    library = tmp_path / "slow.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", library, tmp_path / "slow.c"], check=True)
    for name in ("a", "slow"):
        (tmp_path / f"{name}.darshan").write_bytes(bytes(plain_log()))
    return {**os.environ, "LD_PRELOAD": str(library), "RELEASE": str(tmp_path / "go")}


def on_terminal(command: list[Any], environment: dict[str, str], awaited: bytes) -> str:
    """All that it writes to a terminal; the slow log is released when `awaited` is there."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # EIO: nobody has the other end
        while part := os.read(ours, 65536):
            said += part
            if awaited in said:
                Path(environment["RELEASE"]).touch()
    os.close(ours)
    assert process.wait() == 0
    return said.decode().replace("\r\n", "\n")


def test_a_native_command(iolens: Path, tmp_path: Path, slow: dict[str, str]) -> None:
    logs = [tmp_path / "a.darshan", tmp_path / "slow.darshan"]
    said = on_terminal([iolens, "check", *logs], slow, b"iolens: checking logs: 1 of 2, 1 s")
    assert shown(said) == "".join(f"{log}: sound: 0 records, 0 names\n" for log in logs)


def test_a_merge_counts_logs(iolens: Path, tmp_path: Path, slow: dict[str, str]) -> None:
    logs = [tmp_path / "a.darshan", tmp_path / "slow.darshan"]
    command = [iolens, "merge", "-o", tmp_path / "new.darshan", *logs]
    said = on_terminal(command, slow, b"iolens: merging 2 logs: survey: 1 of 2, 1 s")
    assert shown(said) == "" and (tmp_path / "new.darshan").exists()


def test_recovery_counts_stores(
    iolens: Path, preload: Path, run_iolens: Run, tmp_path: Path, slow: dict[str, str]
) -> None:
    left = tmp_path / "left"
    left.mkdir(mode=0o700)
    session = {"LD_PRELOAD": str(preload), "IOLENS_SESSION": str(left)}
    subprocess.run(["sh", "-c", "/bin/true; /bin/true; :"], env={**os.environ, **session}, check=True)
    stores = sorted(path for path in left.iterdir() if path.suffix == ".store")
    assert len(stores) == 3
    stores[1].rename(tmp_path / "slow.darshan")
    command = [
        iolens,
        "recover",
        "-o",
        tmp_path / "new.darshan",
        stores[0],
        tmp_path / "slow.darshan",
        stores[2],
    ]
    slow["AT_ONCE"] = "1"  # it is looked at before
    said = on_terminal(command, slow, b"iolens: recovering what 3 processes left: survey: 1 of 3, 1 s")
    assert shown(said) == f"{tmp_path / 'new.darshan'}\n"


def test_a_command_in_python(tmp_path: Path, slow: dict[str, str]) -> None:
    command = Path(sys.executable).with_name("iolens")
    said = on_terminal(
        [command, "findings", tmp_path / "slow.darshan"], slow, b"iolens: opening logs: 1 of 1, 1 s"
    )
    assert "opening" not in shown(said) and shown(said).endswith("\n")


def test_what_is_no_terminal_hears_nothing(run_iolens: Run, tmp_path: Path) -> None:
    (tmp_path / "a.darshan").write_bytes(bytes(plain_log()))
    for command in ("check", "findings"):
        assert run_iolens([command, tmp_path / "a.darshan"]).stderr == ""
