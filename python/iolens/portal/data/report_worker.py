"""The whole report of a job, made from its log by a process of its own that has so much time and no more."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, cast

import duckdb

from iolens.error import IolensError
from iolens.fleet.archive.source import Source, extracted, sources
from iolens.fleet.tables.lake import Lake
from iolens.portal.data.active import Active
from iolens.portal.data.view import View

if TYPE_CHECKING:
    from iolens.fleet.tables.data import LakeData

__all__ = ["full_report", "log_of", "policy_of"]

SECONDS = 120
AT_ONCE = 2
MEMORY = "1G"

_making = threading.BoundedSemaphore(AT_ONCE)
_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')


# A server that is killed ends nothing: the kernel does, and what began too late to be told ends itself.
_CHILD = """
import ctypes, os, signal
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != {server}:
    os._exit(1)
from iolens.cli import main
main()
"""


class _Making:
    """The process that makes a report, with all that it starts. A portal that stops interrupts it like a question."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._ended = False
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )

    def interrupt(self) -> None:
        self._ended = True
        with contextlib.suppress(ProcessLookupError):
            if self._process.returncode is None:
                os.killpg(self._process.pid, signal.SIGKILL)

    def wait(self) -> str:
        """What it wrote to standard error. Raises IolensError after ``SECONDS``, and as DuckDB does if interrupted."""
        try:
            _, problem = self._process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            self.interrupt()
            self._process.communicate()
            raise IolensError(
                f"the report takes more than {SECONDS} s: `iolens report` makes it on your own machine"
            ) from None
        if self._ended:
            raise duckdb.InterruptException("the report was ended")
        return problem


def policy_of(html: str) -> str:
    """The page's own policy, by the hashes of what is in it, and a sandbox: it has none of this portal's rights."""
    found = _POLICY.search(html)
    inner = found[1] if found else "default-src 'none'"
    return f"{inner}; frame-ancestors 'none'; sandbox allow-scripts allow-downloads"


def log_of(view: View) -> list[Source]:
    """Where the one log of a view is."""
    return sources(cast("LakeData", view.data))[:1]


def full_report(lake: Lake, found: list[Source], active: Active) -> str:
    """Of the log that was found. Raises IolensError if it is not there any more, cannot be read, or takes too long."""
    if not _making.acquire(timeout=10):
        raise IolensError("other reports are being made: try again in a moment")
    try:
        with tempfile.TemporaryDirectory(prefix="iolens-report-") as folder:
            try:
                with extracted(lake, found) as paths:
                    return _made(paths[0], Path(folder), active)
            except (IolensError, OSError, IndexError) as error:
                why = re.sub(r"/\S*/", "", getattr(error, "problem", "")) or "the log is not where it was"
                raise IolensError(f"{why}; the job's page has what the lake knows of it") from error
    finally:
        _making.release()


def _made(log: str, folder: Path, active: Active) -> str:
    out = folder / "report.html"
    command = [
        sys.executable,
        "-c",
        _CHILD.format(server=os.getpid()),
        "report",
        "-o",
        str(out),
        "--",
        log,
    ]
    environment = {**os.environ, "IOLENS_MEMORY": MEMORY, "TMPDIR": str(folder)}
    making = _Making(command, environment)
    active.add(making)
    problem = making.wait()
    if not out.exists():
        lines = problem.strip().splitlines() or ["no report was made"]
        raise IolensError(re.sub(r"^iolens: ", "", lines[-1].replace(log, Path(log).name))[:300])
    return out.read_text(encoding="utf-8")
