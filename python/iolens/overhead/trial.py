"""Runs of a program in turn: with iolens and without."""

from __future__ import annotations

import os
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from iolens.error import USAGE, IolensError

__all__ = ["Run", "Trial", "command_text"]

_LIBRARY = "libiolens"
_LAST_LINES = 3
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PATIENCE = 5.0


@dataclass(frozen=True)
class Run:
    """What one run took."""

    observed: bool
    run_time: float
    """Seconds from start to end of the command; with iolens that includes its log."""
    processor_time: float
    """Seconds, user and system, of the command and all its children that were waited for."""
    log: int
    """Bytes of the log; 0 without iolens."""


@dataclass(frozen=True)
class Trial:
    """What shall be run, and how often.

    command: the program and its arguments. runs: how often with, and as often without, at least 2. warmup: pairs of
    runs before that do not count. options: of `iolens run`, for the observed runs. setup: a shell command before each
    run, which is not measured. shown: the program's output is not discarded. iolens: the command that observes.
    """

    command: Sequence[str]
    runs: int = 20
    warmup: int = 1
    options: Sequence[str] = ()
    setup: str | None = None
    shown: bool = False
    iolens: str = "iolens"

    def each(self) -> Iterator[tuple[bool, Run]]:
        """The runs as they end, and whether each counts. One pair begins without, the next one with iolens.

        Raises IolensError where a program cannot be started or fails, or iolens left no log.
        """
        _refuse_observed()
        with tempfile.TemporaryDirectory(prefix="iolens-overhead-") as folder:
            for pair in range(self.warmup + self.runs):
                for observed in (True, False) if pair % 2 else (False, True):
                    yield pair >= self.warmup, self._run(observed, Path(folder))

    def _run(self, observed: bool, folder: Path) -> Run:
        self._prepare()
        log = folder / "observed.darshan"
        log.unlink(missing_ok=True)
        run = [self.iolens, "run", "--quiet", "--output", str(log), *self.options, "--"] if observed else []
        with (folder / "errors").open("w+b") as errors:
            started = time.monotonic()
            status, used = _run_to_end([*run, *self.command], errors.fileno(), self.shown)
            run_time = time.monotonic() - started
            code = os.waitstatus_to_exitcode(status)
            if code:
                errors.seek(0)
                raise _failure(self.command, observed, code, errors.read())
        if observed and not log.exists():
            raise IolensError(
                "the observed run left no log, so there is nothing to compare",
                self.command[0],
                exit_code=USAGE,
            )
        return Run(
            observed,
            run_time,
            used.ru_utime + used.ru_stime,
            log.stat().st_size if observed else 0,
        )

    def _prepare(self) -> None:
        if not self.setup:
            return
        done = subprocess.run(self.setup, shell=True, check=False)
        if done.returncode:
            raise IolensError(f"--setup ended with {done.returncode}: {self.setup}", exit_code=USAGE)


def command_text(command: Sequence[str]) -> str:
    """A command as a shell takes it."""
    return shlex.join(command)


def _run_to_end(command: Sequence[str], errors: int, shown: bool) -> tuple[int, resource.struct_rusage]:
    """Exit status and usage of the command. A stop of this process ends the command too.

    Stops are blocked until the command's number is known: a stop in between would leave it running.
    """
    files: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    ]
    if not shown:
        files += [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_DUP2, errors, 2)]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    try:
        child = os.posix_spawnp(
            command[0],
            list(command),
            os.environ,
            file_actions=files,
            setsigmask=before,
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
        )
    except OSError as error:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise IolensError(f"cannot be started: {error.strerror}", command[0], exit_code=USAGE) from error
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _, status, used = os.wait4(child, 0)
    except BaseException:
        _end(child)
        raise
    return status, used


def _end(child: int) -> None:
    """By SIGTERM; by SIGKILL after five seconds."""
    os.kill(child, signal.SIGTERM)
    latest = time.monotonic() + _PATIENCE
    while time.monotonic() < latest:
        if os.waitpid(child, os.WNOHANG)[0]:
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _failure(command: Sequence[str], observed: bool, code: int, errors: bytes) -> IolensError:
    ended = f"was ended by signal {-code}" if code < 0 else f"ended with {code}"
    said = errors.decode(errors="replace").strip().splitlines()[-_LAST_LINES:]
    told = f"; it said: {' / '.join(said)}" if said else ""
    return IolensError(
        f"{ended} {'with' if observed else 'without'} iolens, and only runs that succeed are compared{told}",
        command[0],
        exit_code=USAGE,
    )


def _refuse_observed() -> None:
    if _LIBRARY in os.environ.get("LD_PRELOAD", ""):
        raise IolensError(
            "programs of this shell are observed already (LD_PRELOAD): "
            f"env -u LD_PRELOAD {Path(sys.argv[0]).name} overhead ... runs them without",
            exit_code=USAGE,
        )
