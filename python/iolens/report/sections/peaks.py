"""A job's rates, compared with what `iolens peak --save` measured on its file systems."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Callable

from iolens.report.document import Block, Column, Table
from iolens.report.source import Source

__all__ = ["beside_peaks"]

_OWN_MACHINE = {"local", "memory", "overlay", "image", ""}
"""Classes of file systems of which each host has its own."""
_LARGEST = 1 << 16

_MOVED = """
    SELECT n.mount, n.file_system, coalesce(n.class, '') AS class,
        sum(f.bytes_read) AS read, sum(f.read_time) AS read_time,
        sum(f.bytes_written) AS written, sum(f.write_time) AS write_time
    FROM lowest_file AS f JOIN name AS n USING (log, id) WHERE log = {log} AND n.mount IS NOT NULL
    GROUP BY ALL HAVING sum(f.bytes_read) + sum(f.bytes_written) > 0 ORDER BY ALL"""


def _saved(mount: str) -> list[dict[str, Any]]:
    """What this user has measured there, nothing where nothing was, or nothing that can be read."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(cache) if cache.startswith("/") else Path(os.environ.get("HOME") or "/nonexistent") / ".cache"
    path = home / "iolens" / "peak" / f"{mount.replace('/', '%')}.json"
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return []
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return []
    texts, rates = ("mount", "type", "host", "time"), ("read_rate", "write_rate")
    good = isinstance(found, dict) and all(isinstance(found.get(key), str) for key in texts)
    good = good and all(isinstance(found.get(key), (int, float)) for key in rates)
    return [found] if good and found["mount"] == mount else []


def beside_peaks(source: Source, measured: Callable[[str], list[dict[str, Any]]] = _saved) -> list[Block]:
    """A table of the file systems that have a peak; none of those of another host, or of another type since.

    measured: what was measured at a mount point, the best to compare with first.
    """
    hosts = {host for (host,) in source.ask("SELECT DISTINCT host FROM process WHERE log = {log}")}
    rows: list[list[Any]] = []
    for mount, file_system, kind, read, read_time, written, write_time in source.ask(_MOVED):
        found = (p for p in measured(mount) if p["type"] == file_system)
        peak = next((p for p in found if kind not in _OWN_MACHINE or p["host"] in hosts), None)
        if peak is None:
            continue
        for title, moved, seconds, best in (
            ("read", read, read_time, peak["read_rate"]),
            ("write", written, write_time, peak["write_rate"]),
        ):
            if moved and seconds and best:
                rows.append([mount, title, moved / seconds, best, moved / seconds / best, peak["time"][:10]])
    columns = (
        Column("mount", "Mounted at", "path"),
        Column("direction", "Direction"),
        Column("rate", "In its calls", "rate"),
        Column("peak", "Measured", "rate"),
        Column("part", "Part of it", "percent"),
        Column("date", "Measured on"),
    )
    note = (
        "In its calls: bytes by seconds in calls, summed over processes, so that it is the rate of one process while "
        "it reads or writes. Measured: by iolens peak, one process. More than that is from or into the page cache."
    )
    table = Table(
        f"{source.prefix}peaks", "Compared with a measured peak", columns, rows, note=note, total=len(rows)
    )
    return [table] if rows else []
