"""`iolens completion`: each shell itself offers the commands, and each option that a usage has."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Complete = Callable[[str], set[str]]
OPTION = re.compile(r"^ +(?:(-\w), +)?(--[a-z0-9-]+)", re.M)


def words(line: str) -> list[str]:
    return line.split(" ")


def in_bash(script: Path, line: str) -> set[str]:
    ask = (
        f'source {script}; COMP_LINE=$1; COMP_POINT=${{#1}}; read -ra COMP_WORDS <<<"$1"; '
        '[[ $1 != *" " ]] || COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); '
        '_iolens; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-euc", ask.replace("_iolens;", "_iolens || true;"), "bash", line],
        check=True,
        capture_output=True,
        text=True,
    )
    assert not done.stderr
    return set(done.stdout.split())


def in_fish(script: Path, line: str) -> set[str]:
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert not done.stderr
    return {candidate.split("\t")[0] for candidate in done.stdout.splitlines()}


class Terminal:
    """A zsh at a terminal of its own."""

    def __init__(self, script: Path) -> None:
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb", "HOME": str(script.parent)})
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 400, 300, 0, 0))
        # What completion would show goes to a file instead, one candidate a line.
        self.shown = script.parent / "shown"
        self.type(
            "PS1='' PS2=''; unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u -D\n"
            f"source {script}\n"
            'compadd() { builtin compadd -O offered "$@"; print -l -- $offered'
            f' >>{self.shown}; builtin compadd "$@" }}\n'
            f"finished() {{ print end >>{self.shown} }}\n"
            "bindkey '^I' complete-word; zle -N finished; bindkey '^X' finished; print rea''dy\n"
        )
        self.read_until(lambda text: "ready" in text)

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def read_until(self, enough: Callable[[str], bool]) -> None:
        text, end = "", time.monotonic() + 60
        while not enough(text):
            assert time.monotonic() < end, text
            if select.select([self.fd], [], [], 0.1)[0]:
                text += os.read(self.fd, 65536).decode(errors="replace")

    def complete(self, line: str) -> set[str]:
        self.shown.write_text("")
        self.type(f"\x15{line}\t\x18")
        self.read_until(lambda _: self.shown.read_text().endswith("end\n"))
        self.type("\x03")
        return set(self.shown.read_text().splitlines()) - {"end", ""}

    def close(self) -> None:
        os.close(self.fd)
        os.waitpid(self.pid, 0)


@pytest.fixture(scope="module", params=["bash", "zsh", "fish"])
def complete(
    request: pytest.FixtureRequest, iolens: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Complete]:
    """What the shell offers behind a line."""
    shell = request.param
    script = tmp_path_factory.mktemp(shell) / "script"
    script.write_text(
        subprocess.run([iolens, "completion", shell], check=True, capture_output=True, text=True).stdout
    )
    if shell == "zsh":
        terminal = Terminal(script)
        yield terminal.complete
        terminal.close()
    else:
        ask = in_bash if shell == "bash" else in_fish
        yield lambda line: ask(script, line)


def listed(run_iolens: Run) -> list[str]:
    return re.findall(r"^  (\w+)  +\S", run_iolens(["--help"]).stdout.partition("Observe")[2], re.M)


def test_commands(complete: Complete, run_iolens: Run) -> None:
    assert complete("iolens ") == set(listed(run_iolens))
    assert complete("iolens re") >= {"report", "recover"}
    assert "show" not in complete("iolens re")


def test_every_option_of_every_usage(complete: Complete, run_iolens: Run) -> None:
    for command in listed(run_iolens):
        usage = {option for _, option in OPTION.findall(run_iolens([command, "--help"]).stdout)}
        offered = {c.partition("=")[0] for c in complete(f"iolens {command} --")}
        assert offered == usage, command


def test_values(complete: Complete) -> None:
    assert complete("iolens trace --op ") == {"read", "write"}
    assert complete("iolens show --module ") >= {"posix", "mpiio", "stdio"}
    assert complete("iolens findings --fail-on ") == {"high", "medium", "low"}
    assert complete("iolens completion ") == {"bash", "zsh", "fish"}


def test_files_and_commands(complete: Complete, tmp_path: Path) -> None:
    (tmp_path / "only.darshan").touch()
    assert "only.darshan" in {Path(c).name for c in complete(f"iolens info {tmp_path}/on")}
    assert "true" in complete("iolens run --quiet tru")


def test_a_shell_that_there_is_not(run_iolens: Run) -> None:
    done = run_iolens(["completion", "csh"])
    assert (done.returncode, done.stdout) == (2, "")
    assert "completion: unknown shell" in done.stderr


def test_without_python_the_native_commands_remain(run_iolens: Run) -> None:
    done = run_iolens(["completion", "bash"], env={"IOLENS_PYTHON": "/nowhere"})
    assert done.returncode == 4 and done.stderr.count("\n") == 1
    assert "--file-list" in done.stdout and "findings" in done.stdout
