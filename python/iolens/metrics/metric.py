"""A metric is one SQL file: a header that says what it is, and a query whose rows have a column ``log``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from iolens.error import USAGE, IolensError
from iolens.metrics import threshold

__all__ = ["TOPICS", "Metric", "find_metric", "metrics", "parse", "thresholds", "words"]

_REQUIRED = ("title", "definition", "unit", "source")
_DEFAULTS = {"topic": "other", "direction": "", "needs": "", "caveats": "", "layout": "value"}

TOPICS = ("job", "time", "files", "accesses", "ranks and layers", "storage", "other")
"""What metrics are about, in the order in which they are listed."""


@dataclass(frozen=True)
class Metric:
    """What a metric is. ``sql`` gives one row per log with a column ``value``, or a table with a column ``log``."""

    name: str
    title: str
    topic: str
    """One of TOPICS."""
    definition: str
    unit: str
    source: str
    """Where it comes from: paper, tool, or "iolens"."""
    direction: str
    """"lower" or "higher" is better; empty if neither."""
    needs: str
    """What a log must have for it."""
    caveats: str
    layout: str
    """"value" (one number per log) or "table"."""
    sql: str


def parse(name: str, text: str) -> Metric:
    """The metric of a file: ``-- key: words`` lines first, a line ``--   words`` goes on. Raises ValueError.

    ``threshold.py`` says what a line ``-- threshold`` is.
    """
    header: dict[str, str] = {}
    lines = text.splitlines()
    end = next((n for n, line in enumerate(lines) if not line.startswith("--")), len(lines))
    key = ""
    for line in lines[:end]:
        found = re.match(r"-- (\w+): (.*)", line)
        if threshold.LINE.fullmatch(line):
            key = ""
        elif found and found[1] in (*_REQUIRED, *_DEFAULTS):
            key = found[1]
            header[key] = found[2].strip()
        elif key:
            header[key] += " " + line[2:].strip()
        else:
            raise ValueError(f"{name}: not understood: {line}")
    missing = [k for k in _REQUIRED if not header.get(k)]
    if header.get("topic", "other") not in TOPICS:
        raise ValueError(f"{name}: topic is none of {', '.join(TOPICS)}")
    if missing:
        raise ValueError(f"{name}: header lacks {', '.join(missing)}")
    sql = "\n".join(lines[end:]).strip().rstrip(";")
    written = {key: value for key, (value, _) in threshold.read(text).items()}
    if written:
        header = {key: threshold.replaced(words, written) for key, words in header.items()}
        sql = threshold.replaced(sql, {key: threshold.plain(value) for key, value in written.items()})
    return Metric(
        name=name,
        sql=sql,
        **{k: header[k] for k in _REQUIRED},
        **{k: header.get(k, default) for k, default in _DEFAULTS.items()},
    )


@cache
def metrics() -> dict[str, Metric]:
    """All metrics by name, in alphabetical order."""
    folder = files("iolens.metrics").joinpath("sql")
    found = sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    return {f.name[:-4]: parse(f.name[:-4], f.read_text(encoding="utf-8")) for f in found}


@cache
def thresholds(name: str) -> dict[str, float]:
    """Those of a metric's file, in seconds, bytes, bytes/s or parts of 1."""
    text = files("iolens.metrics").joinpath("sql").joinpath(f"{name}.sql").read_text(encoding="utf-8")
    return {key: float(threshold.plain(value)) for key, (value, _) in threshold.read(text).items()}


@cache
def words() -> frozenset[str]:
    """Every word of the queries of all metrics."""
    return frozenset(word for metric in metrics().values() for word in re.findall(r"\w+", metric.sql))


def find_metric(name: str) -> Metric:
    """The metric of this name. Raises IolensError, naming near ones."""
    if name not in metrics():
        from iolens.log.unknown import unknown_text

        raise IolensError(
            unknown_text("metric", name, metrics(), "`iolens explain` lists them"), exit_code=USAGE
        )
    return metrics()[name]
