"""Numbers of a fleet in OpenMetrics' text form, for Prometheus' textfile collector."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from iolens.export.openmetrics import escaped
from iolens.fleet.saved_queries import ask, statement
from iolens.metrics import Dataset

__all__ = ["lines"]


class _Family(NamedTuple):
    name: str
    unit: str
    help: str
    column: str


_MACHINE = (
    _Family("iolens_fleet_jobs", "", "Jobs with a log.", "jobs"),
    _Family("iolens_fleet_users", "", "Users who have jobs with a log.", "users"),
    _Family("iolens_fleet_read_bytes", "bytes", "Bytes that programs read.", "bytes_read"),
    _Family("iolens_fleet_written_bytes", "bytes", "Bytes that programs wrote.", "bytes_written"),
    _Family("iolens_fleet_run_time_seconds", "seconds", "Run time of jobs.", "run_time"),
    _Family("iolens_fleet_io_time_seconds", "seconds", "Wall-clock of jobs in I/O.", "io_time"),
    _Family("iolens_fleet_lost_seconds", "seconds", "Wall-clock that findings account for.", "time_lost"),
)
_OF_MACHINE = """
    SELECT coalesce(cluster, '') AS cluster, count(*) AS jobs, count(DISTINCT "user") AS users,
        sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written, sum(run_time) AS run_time,
        sum(io_time) AS io_time, sum(time_lost) AS time_lost
    FROM ({jobs}) GROUP BY coalesce(cluster, '') ORDER BY 1
"""
_FINDINGS = (
    "SELECT rule, severity, count(*) AS jobs FROM finding GROUP BY rule, severity ORDER BY rule, severity"
)
_TOP = 20


def _labels(pairs: dict[str, Any]) -> str:
    told = ",".join(f'{name}="{escaped(value)}"' for name, value in pairs.items() if value not in (None, ""))
    return f"{{{told}}}" if told else ""


def _sample(name: str, labels: dict[str, Any], value: Any) -> Iterator[str]:
    if value is not None and math.isfinite(value):
        yield f"{name}{_labels(labels)} {float(value):.17g}"


def _head(name: str, unit: str, help: str) -> Iterator[str]:
    yield f"# TYPE {name} gauge"
    if unit:
        yield f"# UNIT {name} {unit}"
    yield f"# HELP {name} {help}"


def lines(data: Dataset) -> Iterator[str]:
    """The text line by line: the machine by cluster, findings by rule, screens, the applications that lose most."""
    sql, values = statement("jobs")
    machine = data.rows(_OF_MACHINE.replace("{jobs}", sql), values)
    for family in _MACHINE:
        yield from _head(family.name, family.unit, family.help)
        for row in machine:
            yield from _sample(family.name, {"cluster": row["cluster"]}, row[family.column])
    yield from _head("iolens_fleet_findings", "", "Jobs in which a rule found something.")
    for row in data.rows(_FINDINGS):
        yield from _sample(
            "iolens_fleet_findings", {"rule": row["rule"], "severity": row["severity"]}, row["jobs"]
        )
    yield from _head("iolens_fleet_screened_jobs", "", "Jobs that a screen picks out.")
    for row in ask(data, "screen").dicts():
        yield from _sample("iolens_fleet_screened_jobs", {"screen": row["screen"]}, row["matching"])
    top = ask(data, "top_applications", rows=_TOP).dicts()
    for family in (_MACHINE[0], *_MACHINE[2:4], *_MACHINE[5:]):
        name = family.name.replace("_fleet_", "_application_")
        yield from _head(name, family.unit, f"{family.help[:-1]}, of the {_TOP} applications that lose most.")
        for row in top:
            yield from _sample(name, {"application": row["application"]}, row[family.column])
    yield "# EOF"
