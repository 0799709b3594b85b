#!/usr/bin/env python3
"""Write the reference page of all metrics from the headers of their SQL files.

usage: metricpage.py FILE.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from iolens.metrics.metric import TOPICS, Metric, metrics

_HEAD = """\
# Metrics

Made by `make docs` from `python/iolens/metrics/sql/*.sql`: do not edit.

A metric is a query over the tables of one or more logs. `iolens explain NAME` prints its definition and its SQL,
`iolens sql LOG "select * from metric.NAME"` its rows, `Dataset(log).metric("NAME")` gives them in Python. Every metric
has a column `log`, the number of the log; one marked *number* has one number per log, `value`. Unknown values are
null. Times are in seconds, sizes in bytes, shares are parts of 1. Unless stated, a metric works on any log, and has
iolens as its source."""

_UNSAID = {"needs": "any log", "source": "iolens"}


def _entry(metric: Metric) -> Iterator[str]:
    yield f"### {metric.name}"
    number = "number; " if metric.layout == "value" else ""
    better = f"; {metric.direction} is better" if metric.direction else ""
    yield f"**{metric.title}** ({number}{metric.unit}{better})."
    yield ""
    yield metric.definition[0].upper() + metric.definition[1:]
    yield ""
    said = [
        f"* {k}: {v}"
        for k in ("needs", "caveats", "source")
        if (v := getattr(metric, k)) and v != _UNSAID.get(k)
    ]
    yield from (*said, *([""] if said else []))


def page() -> str:
    lines = [_HEAD, ""]
    for topic in TOPICS:
        here = [m for m in metrics().values() if m.topic == topic]
        if here:
            lines += [f"## {topic[0].upper()}{topic[1:]}", ""]
            lines += [line for metric in here for line in _entry(metric)]
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
