"""Traces in the Trace Event Format that Perfetto (ui.perfetto.dev) and chrome://tracing open.

A process of the trace is a rank. Each of its threads has a row per interface; where the log does not know the threads,
accesses that overlap lie on rows of their own, as the format wants the slices of a row to nest. Without DXT the log's
timeline stands for the accesses; heat maps are counters. Times are microseconds since the job's start.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from iolens.log.modules import TRACES
from iolens.metrics import Dataset
from iolens.metrics.views import TITLES
from iolens.whole import whole

__all__ = ["events", "write_perfetto"]

Event = dict[str, Any]

_ROWS = 10_000
_LANES = 1000  # numbers of rows, of an interface

# Layer -> (number, title), from the top down.
_TRACED = [m.traces for m in reversed(TRACES) if m.traces]
_LAYERS = {
    layer: (1 + number, "calls" if layer == "timeline" else TITLES[layer])
    for number, layer in enumerate([*_TRACED, "timeline"])
}

_THREAD = (len(_LAYERS) + 1) * _LANES
_HANDLES = 1_000_000  # from here on a thread is no number of iolens' but a handle of Darshan's

# What a slice tells besides its time: an access of DXT, and a stretch of the timeline.
_ARGUMENTS = (("file", "offset", "length"), ("read_s", "write_s", "metadata_s"))

# Sorted as lanes need it: by rank, thread, then time.
_ACCESSES = """
    SELECT rank, thread, '{interface}', operation, name, "offset", length, "start", "end"
    FROM dxt_{interface} LEFT JOIN name_of USING (log, id) WHERE log = {log}
    ORDER BY rank, thread NULLS FIRST, "start", "end"
"""

_TIMELINE = """
    SELECT rank, thread + 1, 'timeline',
        CASE WHEN meta >= greatest("read", "write") THEN 'metadata' WHEN "read" >= "write" THEN 'read' ELSE 'write' END,
        "read", "write", meta, "start", "end"
    FROM timeline WHERE log = {log} ORDER BY rank, thread, "start", "end"
"""

# Bins without bytes have no row: the counter falls to zero where the next bin is not the following one.
_HEAT = """
    SELECT rank, interface, "start", "end", bytes_read, bytes_written,
        lead("start") OVER (PARTITION BY interface, rank ORDER BY "start") AS next
    FROM metric.heat WHERE log = {log} AND source = 'heatmap' ORDER BY rank, interface, "start"
"""

_RANKS = """
    SELECT rank, any_value(host) AS host, any_value(exe) AS exe FROM (
        SELECT rank, host, exe FROM process WHERE log = {log} AND rank >= 0
        UNION ALL SELECT rank, host, NULL FROM dxt_posix WHERE log = {log}
        UNION ALL SELECT rank, host, NULL FROM dxt_mpiio WHERE log = {log}
        UNION ALL SELECT rank, NULL, NULL FROM metric.heat WHERE log = {log}
    ) GROUP BY rank ORDER BY rank
"""


def _rows(data: Dataset, query: str, log: int) -> Iterator[tuple[Any, ...]]:
    result = data.query(query.format(log=log))
    while rows := result.fetchmany(_ROWS):
        yield from rows


def _micros(seconds: float) -> float:
    return round(seconds * 1e6, 3)


def _slices(rows: Iterable[tuple[Any, ...]], numbers: dict[tuple[int, int], int]) -> Iterator[Event]:
    """A slice per row, the rows of a thread in order of their starts; each takes the first lane that is free.

    numbers: of ranks' threads that have handles instead, in the order in which they were met.
    """
    for (rank, given), mine in groupby(rows, key=lambda row: row[:2]):
        thread = given if given is None or given < _HANDLES else _number_of(rank, given, numbers)
        lanes: list[float] = []  # when each is free again
        for _, _, layer, operation, *what, start, end in mine:
            lane = next((n for n, free in enumerate(lanes) if free <= start), len(lanes))
            track = (thread or 0) * _THREAD + _LAYERS[layer][0] * _LANES + lane
            if lane == len(lanes):
                lanes.append(end)
                yield _named("thread_name", rank, track, _track_name(thread, layer, lane))
            lanes[lane] = max(end, start)
            yield {
                "name": operation,
                "cat": layer,
                "ph": "X",
                "pid": rank,
                "tid": track,
                "ts": _micros(start),
                "dur": max(round(_micros(end) - _micros(start), 3), 0),
                "args": dict(zip(_ARGUMENTS[layer == "timeline"], what)),
            }


def _number_of(rank: int, handle: int, numbers: dict[tuple[int, int], int]) -> int:
    return numbers.setdefault((rank, handle), 1 + sum(one == rank for one, _ in numbers))


def _track_name(thread: int | None, layer: str, lane: int) -> str:
    title = _LAYERS[layer][1]
    return (f"thread {thread}: {title}" if thread else title) + (f" {lane + 1}" if lane else "")


def _named(kind: str, rank: int, thread: int, name: str) -> Event:
    return {"name": kind, "ph": "M", "pid": rank, "tid": thread, "args": {"name": name}}


def _counters(rows: Iterable[tuple[Any, ...]]) -> Iterator[Event]:
    for rank, interface, start, end, read, written, following in rows:
        width = end - start
        rates = {"read": read / width, "written": written / width}
        counter = {"name": f"{interface} bytes/s", "cat": "heat", "ph": "C", "pid": rank, "tid": 0}
        yield {**counter, "ts": _micros(start), "args": rates}
        if following is None or following > end + width / 2:
            yield {**counter, "ts": _micros(end), "args": dict.fromkeys(rates, 0)}


def events(data: Dataset, log: int) -> Iterator[Event]:
    """The events of a log: names of ranks, accesses (or what the timeline knows of them), heat maps as counters."""
    for rank, host, exe in _rows(data, _RANKS, log):
        program = Path(exe).name if exe else None
        yield _named(
            "process_name", rank, 0, " ".join(filter(None, (f"rank {rank}", program, host and f"on {host}")))
        )
        yield {"name": "process_sort_index", "ph": "M", "pid": rank, "tid": 0, "args": {"sort_index": rank}}
    traced = False
    numbers: dict[tuple[int, int], int] = {}
    for interface in _TRACED:
        for event in _slices(_rows(data, _ACCESSES.replace("{interface}", interface), log), numbers):
            traced = True
            yield event
    if not traced:
        yield from _slices(_rows(data, _TIMELINE, log), numbers)
    yield from _counters(_rows(data, _HEAT, log))


def write_perfetto(data: Dataset, folder: Path) -> Iterator[Path]:
    """``trace.json``, or ``trace-0.json``, ``trace-1.json``, ... of several logs; a log without any gets none."""
    for log in range(len(data.paths)):
        found = events(data, log)
        first = next(found, None)
        if first is None:
            continue
        path = folder / ("trace.json" if len(data.paths) == 1 else f"trace-{log}.json")
        with whole(path) as part, part.open("w", encoding="utf-8") as out:
            out.write('{"displayTimeUnit": "ms", "traceEvents": [\n')
            out.write(json.dumps(first))
            for event in found:
                out.write(",\n" + json.dumps(event))
            out.write("\n]}\n")
        yield path
