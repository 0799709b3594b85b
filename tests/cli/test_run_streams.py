"""`iolens run` leaves the command's input, output and descriptors alone."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from observed import Observe

BINARY = bytes(range(256)) * 1024


def shell(
    observe: Observe, script: str, *, around: str = '"$@"', cwd: Path
) -> subprocess.CompletedProcess[bytes]:
    """`iolens run ... sh -c script` as "$@" of a shell line of ours."""
    line = [observe.iolens, "run", "-q", "-o", cwd / "shell.darshan", "--", "sh", "-c", script]
    command = ["bash", "-c", around, "bash", *map(str, line)]
    return subprocess.run(command, cwd=cwd, capture_output=True, check=False, timeout=300)


def test_binary_data_passes_through(observe: Observe) -> None:
    seen = observe(["cat"], input=BINARY)
    assert (seen.done.returncode, seen.done.stdout, seen.done.stderr) == (0, BINARY, b"")
    assert seen.class_total("bytes_read", "pipe") == seen.class_total("bytes_written", "pipe") == len(BINARY)


def test_stderr_is_the_commands_and_then_ours(observe: Observe) -> None:
    seen = observe(["sh", "-c", "echo out; echo err >&2"], options=())
    assert seen.done.stdout == b"out\n"
    assert seen.done.stderr.startswith(b"err\n\niolens: sh -c ")


def test_quiet_says_nothing(observe: Observe) -> None:
    for option in ("-q", "--quiet"):
        seen = observe(["sh", "-c", "echo out; echo err >&2"], options=[option])
        assert (seen.done.stdout, seen.done.stderr) == (b"out\n", b"err\n")


def test_what_the_command_leaves_unread_stays_in_the_input(observe: Observe, tmp_path: Path) -> None:
    (tmp_path / "input").write_text("first\nsecond\nthird\n")
    done = shell(observe, "read line", around='{ "$@"; cat; } <input', cwd=tmp_path)
    assert done.stdout == b"second\nthird\n"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_stays_closed(observe: Observe, tmp_path: Path, closed: str) -> None:
    script = "ls -l /proc/self/fd >seen; exit 5"
    done = shell(observe, script, around=f'"$@" {closed}', cwd=tmp_path)
    with_iolens = [line.split()[8] for line in (tmp_path / "seen").read_text().splitlines()[1:]]
    plain = subprocess.run(["bash", "-c", f'sh -c "{script}" {closed}'], cwd=tmp_path, check=False)
    without = [line.split()[8] for line in (tmp_path / "seen").read_text().splitlines()[1:]]
    assert done.returncode == plain.returncode == 5
    assert with_iolens == without


@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-"])
def test_a_closed_stderr_does_not_let_the_summary_into_the_log(
    run_iolens, observe: Observe, tmp_path: Path, closed: str
) -> None:
    line = f'"$@" -o a.darshan -- true {closed}'
    done = subprocess.run(["bash", "-c", line, "bash", observe.iolens, "run"], cwd=tmp_path, check=False)
    assert done.returncode == 0
    assert run_iolens(["show", "a.darshan"], cwd=tmp_path).returncode == 0


def test_a_reader_that_goes_away_ends_the_command_as_before(observe: Observe, tmp_path: Path) -> None:
    around = '"$@" | head -n 1; echo ${PIPESTATUS[0]}'
    done = shell(observe, "yes", around=around, cwd=tmp_path)
    assert done.stdout == b"y\n141\n"


def test_a_summary_that_nobody_reads_changes_no_exit_code(observe: Observe, tmp_path: Path) -> None:
    line = '{ "$@" -o a.darshan -- sh -c "sleep 0.2; exit 7"; echo $? >code; } 2>&1 >&- | true'
    subprocess.run(["bash", "-c", line, "bash", observe.iolens, "run"], cwd=tmp_path, check=True, timeout=300)
    time.sleep(0.5)
    assert (tmp_path / "code").read_text() == "7\n"
    assert (tmp_path / "a.darshan").exists()


def test_the_end_of_the_output_is_when_the_command_closes_it(observe: Observe, tmp_path: Path) -> None:
    """Nobody else may hold it open: the command here waits for what comes after it."""
    os.mkfifo(tmp_path / "answer")
    script = "echo out; exec >&-; read answer <answer; echo $answer >result"
    around = '"$@" | { cat; echo all >answer; }'
    done = shell(observe, script, around=around, cwd=tmp_path)
    assert done.stdout == b"out\n"
    assert (tmp_path / "result").read_text() == "all\n"


def test_descriptors_of_the_caller_reach_the_command_and_only_it(observe: Observe, tmp_path: Path) -> None:
    around = 'exec 7>seven; "$@"; echo $?'
    done = shell(observe, "echo text >&7; exit 4", around=around, cwd=tmp_path)
    assert done.stdout == b"4\n"
    assert (tmp_path / "seven").read_text() == "text\n"


def test_a_daemon_left_behind_does_not_hold_us(observe: Observe, tmp_path: Path) -> None:
    script = "setsid sh -c 'sleep 3; echo late >late' >&- 2>&- <&- & echo started"
    start = time.monotonic()
    seen = observe(["sh", "-c", script], cwd=tmp_path)
    assert time.monotonic() - start < 2
    assert (seen.done.returncode, seen.done.stdout) == (0, b"started\n")
    assert seen.text
    deadline = time.monotonic() + 20
    while not (tmp_path / "late").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert (tmp_path / "late").read_text() == "late\n"


def test_a_program_that_closes_every_descriptor(observe: Observe, tmp_path: Path) -> None:
    script = (
        "import os; os.closerange(0, 65536); fd = os.open('made', 65); os.write(fd, b'x' * 100); os._exit(fd)"
    )
    seen = observe(["/usr/bin/python3", "-S", "-c", script], cwd=tmp_path)
    assert (seen.done.returncode, seen.done.stderr) == (0, b"")
    assert seen.total("POSIX", "BYTES_WRITTEN", str(tmp_path / "made")) == 100
