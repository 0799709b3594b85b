"""What `iolens peak` measured on a machine's file systems, kept in its lake: what they could do that day."""

from __future__ import annotations

import json
import math
from datetime import datetime, timezone
from typing import Any

from iolens.error import IolensError
from iolens.fleet.tables.lake import Lake

__all__ = ["add_peaks", "read_peaks"]

_TEXTS = ("mount", "type", "class", "host")
_RATES = ("read_rate", "write_rate")


def _row(found: Any, path: str) -> tuple[Any, ...]:
    """measured, mount, file_system, class, host, read_rate, write_rate, past_page_cache."""
    wrong = IolensError("expected the output of iolens peak --json or --save", path)
    if not isinstance(found, dict) or not isinstance(found.get("past_page_cache"), bool):
        raise wrong
    texts = [found.get(name) for name in _TEXTS]
    rates: list[Any] = [found.get(name) for name in _RATES]
    if not all(isinstance(text, str) for text in texts):
        raise wrong
    if not all(isinstance(rate, (int, float)) and math.isfinite(rate) and rate >= 0 for rate in rates):
        raise wrong
    try:
        measured = datetime.fromisoformat(str(found.get("time")).replace("Z", "+00:00"))
    except ValueError:
        raise wrong from None
    if measured.tzinfo is None:
        raise wrong
    # 0 is not known.
    return (measured, *texts, *(float(rate) or None for rate in rates), found["past_page_cache"])


def read_peaks(text: str, path: str) -> list[tuple[Any, ...]]:
    """The measurements of a file, one after the other. Raises IolensError for anything else in it."""
    decoder, rows, rest = json.JSONDecoder(), [], text.lstrip()
    while rest:
        try:
            found, end = decoder.raw_decode(rest)
        except ValueError as error:
            raise IolensError("expected the output of iolens peak --json or --save", path) from error
        rows.append(_row(found, path))
        rest = rest[end:].lstrip()
    return rows


def add_peaks(lake: Lake, rows: list[tuple[Any, ...]], cluster: str) -> int:
    """Keeps measurements that the lake does not have; how many these were."""
    with lake.open() as data:
        known = set(data.query("SELECT measured, mount, host FROM peak").fetchall())
    new = {}
    for measured, mount, *rest in rows:
        key = (measured.astimezone(timezone.utc).replace(tzinfo=None), mount, rest[2])
        if key not in known:
            new[key] = (measured, cluster or None, mount, *rest)
    if new:
        lake.append("peak", list(new.values()))
    return len(new)
