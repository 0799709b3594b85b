"""The whole report of a job, made from its log by a process of its own that has so much time and no more."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, cast

from iolens.error import IolensError
from iolens.fleet.archive.source import extracted, sources
from iolens.fleet.lake import Lake
from iolens.portal.bounded import View

if TYPE_CHECKING:
    from iolens.fleet.tables import LakeData

__all__ = ["full_report", "policy_of"]

SECONDS = 120
AT_ONCE = 2
MEMORY = "1G"

_making = threading.BoundedSemaphore(AT_ONCE)
_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')


def policy_of(html: str) -> str:
    """The page's own policy, by the hashes of what is in it, and a sandbox: it has none of this portal's rights."""
    found = _POLICY.search(html)
    inner = found[1] if found else "default-src 'none'"
    return f"{inner}; frame-ancestors 'none'; sandbox allow-scripts allow-downloads"


def full_report(lake: Lake, view: View) -> str:
    """Of the one log of a view. Raises IolensError if it is not there any more, cannot be read, or takes too long."""
    if not _making.acquire(timeout=10):
        raise IolensError("other reports are being made: try again in a moment")
    try:
        with tempfile.TemporaryDirectory(prefix="iolens-report-") as folder:
            try:
                found = sources(cast("LakeData", view.data))
                with extracted(lake, found[:1]) as paths:
                    return _made(paths[0], Path(folder))
            except (IolensError, OSError, IndexError) as error:
                why = re.sub(r"/\S*/", "", getattr(error, "problem", "")) or "the log is not where it was"
                raise IolensError(f"{why}; the job's page has what the lake knows of it") from error
    finally:
        _making.release()


def _made(log: str, folder: Path) -> str:
    out = folder / "report.html"
    command = [
        sys.executable,
        "-c",
        "from iolens.cli import main; main()",
        "report",
        "-o",
        str(out),
        "--",
        log,
    ]
    environment = {**os.environ, "IOLENS_MEMORY": MEMORY, "TMPDIR": str(folder)}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise IolensError(
            f"the report takes more than {SECONDS} s: `iolens report` makes it on your own machine"
        ) from None
    if not out.exists():
        lines = done.stderr.strip().splitlines() or ["no report was made"]
        raise IolensError(re.sub(r"^iolens: ", "", lines[-1].replace(log, Path(log).name))[:300])
    return out.read_text(encoding="utf-8")
