"""The whole report of a job, made from its log by a process of its own that has so much time and no more."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iolens.error import UNREADABLE, IolensError

if TYPE_CHECKING:
    from iolens.portal.portal import Portal

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


def full_report(portal: Portal, job: dict[str, Any]) -> str:
    """Raises IolensError if there is no log any more, it cannot be read, or takes too long."""
    if not _making.acquire(timeout=10):
        raise IolensError("other reports are being made: try again in a moment", exit_code=UNREADABLE)
    try:
        with tempfile.TemporaryDirectory(prefix="iolens-report-") as folder:
            return _made(job["path"], Path(folder))
    finally:
        _making.release()


def _made(log: str, folder: Path) -> str:
    if not Path(log).is_file():
        raise IolensError("the log is not where it was: this page has what the lake knows of the job")
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
