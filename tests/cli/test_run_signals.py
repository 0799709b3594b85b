"""`iolens run` ends as its command ends, and lets signals reach it once."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from observed import Observe

# Notes each signal it gets; ends by itself with 9.
NOTING = """
import signal, sys, time
caught = []
for number in (1, 2, 3, 10, 12, 15, 34):
    signal.signal(number, lambda n, _: caught.append(n))
open("ready", "w").close()
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    time.sleep(0.05)
print(*caught)
sys.exit(9)
"""


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline, f"no {path}"
        time.sleep(0.01)


def start(iolens: Path, cwd: Path, command: list[str], **settings: object) -> subprocess.Popen[bytes]:
    line = [iolens, "run", "-q", "-o", cwd / "a.darshan", "--", *command]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    return subprocess.Popen(line, cwd=cwd, **{**streams, **settings})


@pytest.mark.parametrize("code", [0, 1, 2, 3, 77, 126, 127, 128, 255])
def test_the_exit_code_is_the_commands(observe: Observe, code: int) -> None:
    seen = observe(["sh", "-c", f"exit {code}"])
    assert seen.done.returncode == code
    assert seen.sections["process"][0]["exit_code"] == str(code)


@pytest.mark.parametrize("name", "HUP INT QUIT ABRT KILL USR1 SEGV PIPE ALRM TERM XCPU SYS".split())
def test_death_by_signal_is_ours_too(observe: Observe, tmp_path: Path, name: str) -> None:
    seen = observe(["sh", "-c", f"echo text >file; kill -{name} $$"], cwd=tmp_path)
    assert seen.done.returncode == -getattr(signal, f"SIG{name}")
    assert seen.done.stderr == b""
    assert seen.files("POSIX") == {str(tmp_path / "file")}
    assert seen.sections["process"][0]["ended"] == "signal"


@pytest.mark.parametrize("name", ["HUP", "INT", "QUIT", "TERM", "USR1", "USR2"])
def test_a_signal_to_us_reaches_the_command_once(iolens: Path, tmp_path: Path, name: str) -> None:
    number = getattr(signal, f"SIG{name}")
    with start(iolens, tmp_path, [sys.executable, "-c", NOTING, "0.6"]) as running:
        wait_for(tmp_path / "ready")
        running.send_signal(number)
        out, err = running.communicate(timeout=300)
    assert (running.returncode, out, err) == (9, b"%d\n" % number, b"")
    assert (tmp_path / "a.darshan").exists()


@pytest.mark.parametrize("name", ["INT", "TERM", "USR1", "RTMIN"])
def test_a_signal_to_the_group_reaches_the_command_once(iolens: Path, tmp_path: Path, name: str) -> None:
    number = getattr(signal, f"SIG{name}")
    command = [sys.executable, "-c", NOTING, "0.6"]
    with start(iolens, tmp_path, command, start_new_session=True) as running:
        wait_for(tmp_path / "ready")
        for _ in range(2):
            os.killpg(running.pid, number)
            time.sleep(0.1)
        out, err = running.communicate(timeout=300)
    assert (running.returncode, out, err) == (9, b"%d %d\n" % (number, number), b"")


def test_a_signal_that_ends_the_command_ends_us_by_it(iolens: Path, tmp_path: Path) -> None:
    with start(iolens, tmp_path, ["sh", "-c", ">ready; exec sleep 60"]) as running:
        wait_for(tmp_path / "ready")
        running.terminate()
        out, err = running.communicate(timeout=300)
    assert (running.returncode, out, err) == (-signal.SIGTERM, b"", b"")
    assert (tmp_path / "a.darshan").exists()


def test_ctrl_c_ends_the_command_and_leaves_the_log(iolens: Path, tmp_path: Path) -> None:
    line = [str(iolens), "run", "-o", "a.darshan", "--", "sh", "-c", "echo x >file; >ready; exec sleep 60"]
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        os.execv(line[0], line)
    wait_for(tmp_path / "ready")
    os.write(terminal, b"\x03")
    shown = b""
    try:
        while piece := os.read(terminal, 4096):
            shown += piece
    except OSError:  # how the end of a terminal shows
        pass
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT
    assert b"iolens: sh -c" in shown
    assert (tmp_path / "a.darshan").exists()


def test_ctrl_c_that_the_command_handles_is_the_commands_business(iolens: Path, tmp_path: Path) -> None:
    line = [str(iolens), "run", "-q", "-o", "a.darshan", "--", sys.executable, "-c", NOTING, "0.6"]
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        os.execv(line[0], line)
    wait_for(tmp_path / "ready")
    os.write(terminal, b"\x03")
    _, status = os.waitpid(child, 0)
    shown = os.read(terminal, 4096)
    os.close(terminal)
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 9
    assert shown.strip().endswith(b"2")


@pytest.mark.parametrize(
    "ignored", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE]
)
def test_what_the_caller_ignores_stays_ignored(iolens: Path, tmp_path: Path, ignored: int) -> None:
    def caller() -> None:
        signal.signal(ignored, signal.SIG_IGN)

    settings = {"preexec_fn": caller, "restore_signals": False}
    with start(iolens, tmp_path, ["grep", "SigIgn", "/proc/self/status"], **settings) as running:
        out, _ = running.communicate(timeout=300)
    assert int(out.split()[1], 16) & 1 << (ignored - 1)
    (tmp_path / "a.darshan").unlink()
    with start(iolens, tmp_path, ["sh", "-c", "exit 6"], **settings) as running:
        assert running.wait(timeout=300) == 6


def test_the_command_starts_with_the_callers_signal_mask(iolens: Path, tmp_path: Path) -> None:
    script = "import signal; print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))"
    blocked = {signal.SIGUSR1, signal.SIGTERM}
    old = signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    try:
        plain = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
        with start(iolens, tmp_path, [sys.executable, "-c", script]) as running:
            out, _ = running.communicate(timeout=300)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)
    assert (running.returncode, out) == (0, plain.stdout)


def test_no_process_of_ours_outlives_us(iolens: Path, tmp_path: Path) -> None:
    with start(iolens, tmp_path, ["sh", "-c", ">ready; exec sleep 60"], start_new_session=True) as running:
        wait_for(tmp_path / "ready")
        running.kill()
    time.sleep(0.2)
    left = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        name, _, rest = file.read_text().partition("(")[2].rpartition(")")
        state, _, group = rest.split()[:3]
        if group == str(running.pid) and state != "Z":
            left[name] = int(file.parent.name)
    for process in left.values():
        os.kill(process, signal.SIGKILL)
    assert list(left) == ["sleep"]
