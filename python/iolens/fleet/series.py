"""Series of numbers that a site's servers recorded, shown with jobs: CSV, or answers of Prometheus."""

from __future__ import annotations

import csv
import datetime
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iolens.error import IolensError
from iolens.fleet.tables.schema import Column

if TYPE_CHECKING:
    from iolens.fleet.spark.data import SparkData
    from iolens.fleet.tables.data import LakeData

__all__ = ["Point", "load_series", "read_series"]

Point = tuple[str, datetime.datetime, float]
"""Name, time (UTC) and value."""

_COLUMNS = (Column("name", "text"), Column("time", "moment"), Column("value", "double"))
_TIMES = ("time", "timestamp", "date")


def _moment(text: str, path: str) -> datetime.datetime:
    """Seconds since 1970, or ISO 8601; without a zone it is UTC."""
    try:
        return datetime.datetime.fromtimestamp(float(text), datetime.timezone.utc).replace(tzinfo=None)
    except (ValueError, OverflowError, OSError):
        pass
    try:
        found = datetime.datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        raise IolensError(f'"{text}" is no time: seconds since 1970, or 2026-01-31T12:00:00', path) from None
    return found.astimezone(datetime.timezone.utc).replace(tzinfo=None) if found.tzinfo else found


def _csv(text: str, path: str) -> Iterator[Point]:
    """A column of times, and a series in each other column; or columns time, name and value."""
    rows = csv.DictReader(text.splitlines())
    names = list(rows.fieldnames or ())
    time = next((name for name in names if name.strip().lower() in _TIMES), None)
    if time is None:
        raise IolensError(f"expected a column {' or '.join(_TIMES)}", path)
    long = {"name", "value"} <= set(names)
    for row in rows:
        moment = _moment(row[time] or "", path)
        pairs = [(row["name"], row["value"])] if long else [(n, row[n]) for n in names if n != time]
        for name, value in pairs:
            number = _number(value)
            if number is not None:
                yield name or "", moment, number


def _number(text: Any) -> float | None:
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def _prometheus(text: str, path: str) -> Iterator[Point]:
    """The answer to a range query (/api/v1/query_range): a series is called as there, labels in braces."""
    try:
        found = json.loads(text)["data"]["result"]
        for one in found:
            labels = dict(one["metric"])
            name = labels.pop("__name__", "")
            told = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
            for time, value in one["values"]:
                number = _number(value)
                if number is not None:
                    yield f"{name}{{{told}}}" if told else name, _moment(str(time), path), number
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise IolensError("expected CSV, or the answer of Prometheus to a range query", path) from error


def read_series(path: str) -> Iterator[Point]:
    """The points of a file. Raises IolensError for one that is neither CSV nor Prometheus' JSON."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise IolensError(getattr(error, "strerror", None) or str(error), path) from error
    yield from _prometheus(text, path) if text.lstrip().startswith("{") else _csv(text, path)


def load_series(data: LakeData | SparkData, paths: tuple[str, ...]) -> None:
    """The table ``series`` (name, time, value) of a lake, from files."""
    data.add_table("series", _COLUMNS, [point for path in paths for point in read_series(path)])
