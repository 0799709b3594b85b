"""Running jobs: what `iolens top --openmetrics` of the nodes says now, through their node exporters."""

from __future__ import annotations

import pwd
import re
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.responses import Response

from iolens.fleet.saved_queries import ResultColumn
from iolens.portal.data.scope import Scope
from iolens.portal.web.page_request import PageRequest
from iolens.portal.web.pages.lists import csv_response
from iolens.portal.web.widgets import Grid, to_csv

__all__ = ["as_csv", "page", "running"]

SECONDS = 3.0
"""In which an exporter must have said all."""

LONGEST = 4_000_000
KEPT = 5.0
"""Seconds that an answer of the exporters is kept for all users."""

_SAMPLE = re.compile(r"iolens_live_(\w+)\{(.*)\} ([-+0-9.eE]+)(?: \S+)?")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_SUMMED = {
    "read_bytes_total": ("bytes_read", "bytes"),
    "written_bytes_total": ("bytes_written", "bytes"),
    "reads_total": ("reads", "count"),
    "writes_total": ("writes", "count"),
    "opens_total": ("opens", "count"),
    "io_time_seconds_total": ("io_time", "seconds"),
    "processes": ("processes", "count"),
    "uninterruptible_processes": ("waiting", "count"),
}
_COLUMNS = (
    ResultColumn("job", "", "as iolens top names it"),
    ResultColumn("job_id", "", "the scheduler's number"),
    ResultColumn("user", "", "the user that runs it"),
    ResultColumn("nodes", "count", "exporters that report it"),
    *(ResultColumn(name, unit, "so far, all nodes") for name, unit in _SUMMED.values()),
    ResultColumn("run_time", "seconds", "since it began"),
)
_kept: dict[tuple[str, ...], tuple[float, list[tuple[str, str, str]]]] = {}
_asking = threading.Lock()


def _samples(text: str) -> Iterator[tuple[str, dict[str, str], float]]:
    for line in text.splitlines():
        found = _SAMPLE.fullmatch(line)
        if found:
            labels = {name: re.sub(r"\\(.)", r"\1", value) for name, value in _LABEL.findall(found[2])}
            yield found[1], labels, float(found[3])


def _fetch(url: str) -> tuple[str, str, str]:
    """Where, what was told, and why nothing was."""
    told, end = b"", time.monotonic() + SECONDS
    try:
        with urllib.request.urlopen(url, timeout=SECONDS) as answer:
            while len(told) < LONGEST and (part := answer.read1(64 * 1024)):
                told += part
                if time.monotonic() > end:  # the timeout is that of one read: drops could come for ever
                    return url, "", f"the answer was not complete after {SECONDS:g} s"
            return url, told.decode("utf-8", "replace"), ""
    except (OSError, ValueError) as error:
        return url, "", str(getattr(error, "reason", error))


def _all(urls: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """What every exporter says, asked at once."""
    with _asking:
        at, told = _kept.get(urls, (0.0, []))
        if time.monotonic() - at > KEPT or not told:
            with ThreadPoolExecutor(max_workers=16) as pool:
                told = list(pool.map(_fetch, urls))
            _kept[urls] = time.monotonic(), told
        return told


def _user(uid: str) -> str:
    try:
        return pwd.getpwuid(int(uid)).pw_name
    except (KeyError, ValueError, OverflowError):
        return uid


def _jobs(told: list[tuple[str, str, str]], scope: Scope) -> list[dict[str, Any]]:
    """Sums of each job over its nodes; jobs of users in the scope only."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    nodes: dict[tuple[str, str], set[str]] = {}
    for url, text, _ in told:
        for name, labels, value in _samples(text):
            user = _user(labels.get("uid", ""))
            if not (scope.everything or user in scope.users):
                continue
            key = labels.get("job", ""), labels.get("uid", "")
            row = found.setdefault(key, {"job": key[0], "job_id": labels.get("job_id"), "user": user})
            nodes.setdefault(key, set()).add(url)
            row["nodes"] = len(nodes[key])
            if name in _SUMMED:
                column = _SUMMED[name][0]
                row[column] = row.get(column, 0.0) + value
            elif name == "run_time_seconds":
                row["run_time"] = max(row.get("run_time", 0.0), value)
    return sorted(found.values(), key=lambda row: -(row.get("io_time") or 0))


def _told(request: PageRequest) -> list[tuple[str, str, str]]:
    exporters = request.portal.site.exporters
    return _all(exporters) if exporters else []


def running(request: PageRequest) -> tuple[list[str], list[list[Any]]]:
    """Names and rows of the table, all of them."""
    names = [column.name for column in _COLUMNS]
    rows = _jobs(_told(request), request.viewer.scope)
    return names, [[row.get(name) for name in names] for row in rows]


def as_csv(request: PageRequest) -> Response:
    """/running.csv"""
    return csv_response(to_csv(*running(request)), "running")


def page(request: PageRequest) -> Response:
    """/running"""
    told = _told(request)
    rows = _jobs(told, request.viewer.scope)
    note = "What nodes say now is not in the lake: as CSV, or as JSON by the API (/api/v1/running), but not by SQL."
    grid = Grid("running", "Running jobs", _COLUMNS, rows[:500], note, csv="/running.csv", total=len(rows))
    return request.page(
        "running.html",
        parts=[grid] if told else [],
        unreachable=[(url, why) for url, _, why in told if why],
        configured=bool(request.portal.site.exporters),
    )
