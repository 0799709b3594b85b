"""The native command line, for what only it does."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from iolens.error import USAGE, IolensError

__all__ = ["native", "run_in_place"]


def native(wanted_by: str) -> str:
    """Path of the native ``iolens``. Raises IolensError if there is none."""
    beside = Path(sys.executable).parent / "iolens"
    found = str(beside) if beside.exists() else shutil.which("iolens")
    if found is None:
        raise IolensError(f"{wanted_by} needs the command iolens in PATH", exit_code=USAGE)
    return found


def run_in_place(command: Sequence[str | Path]) -> int:
    """Runs a command that takes this process's place: stops are passed on. Its exit code, as a shell says it.

    The terminal sends SIGINT to the command itself. A stop that comes before the command has started waits for it.
    """
    child: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if child:
            child.send_signal(number)
        else:
            early.append(number)

    before = {signal.SIGINT: signal.signal(signal.SIGINT, lambda _number, _frame: None)}
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, pass_on)
    try:
        child = subprocess.Popen(command)
        for stop in early:
            child.send_signal(stop)
        code = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code
