"""What a scheduler accounts for: jobs of Slurm (sacct, its database), PBS and plain CSV, as rows of one shape.

A format is a file of this folder with ``recognizes(first line)`` and ``jobs(lines, reading)``.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from iolens.error import IolensError
from iolens.fleet.accounting import delimited, pbs, slurm_dump
from iolens.fleet.accounting.job import AccountedJob, Reading

__all__ = ["AccountedJob", "Reading", "read_jobs"]

_FORMATS = (pbs, slurm_dump, delimited)


def read_jobs(reading: Reading) -> Iterator[AccountedJob]:
    """The jobs of a file, plain or gzipped, one run of a job after the other, in its order; "-" is standard input.

    Lines that cannot be read are noted in ``reading`` and passed over. Raises IolensError if nothing of the file is
    accounting of a known format, OSError if it cannot be opened.
    """
    with contextlib.ExitStack() as stack:
        raw = sys.stdin.buffer if reading.path == "-" else stack.enter_context(Path(reading.path).open("rb"))
        gzipped = io.BufferedReader.peek(raw, 2)[:2] == b"\x1f\x8b"  # type: ignore[arg-type]
        unpacked = gzip.GzipFile(fileobj=raw) if gzipped else raw
        lines = io.TextIOWrapper(unpacked, encoding="utf-8", errors="replace", newline="")
        try:
            head = lines.readline()
            if not head.strip():
                raise IolensError("is empty", reading.path)
            for form in _FORMATS:
                if form.recognizes(head):
                    yield from form.jobs(chain([head], lines), reading)
                    return
        except (EOFError, gzip.BadGzipFile) as error:
            raise IolensError(f"is damaged: {error}", reading.path) from error
    raise IolensError(
        "unknown form of accounting: expected sacct --parsable2 with its header line, a CSV file with a column job_id, "
        "an accounting log of PBS, or a mysqldump of Slurm's database",
        reading.path,
    )
