"""Numbers of jobs in OpenMetrics' text form, as Prometheus and its relatives take them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iolens.metrics import Dataset, metrics
from iolens.shown import clean
from iolens.whole import whole

__all__ = ["escaped", "lines", "write_openmetrics"]


@dataclass(frozen=True)
class _Family:
    """A gauge: a column of a metric, its other columns as labels."""

    name: str
    """Ends with the unit, if there is one, as OpenMetrics wants it."""
    unit: str
    metric: str
    column: str
    labels: tuple[str, ...] = ()


_FAMILIES = (
    _Family("iolens_job_run_time_seconds", "seconds", "headline", "run_time"),
    _Family("iolens_job_processes", "", "headline", "nprocs"),
    _Family("iolens_job_read_bytes", "bytes", "headline", "bytes_read"),
    _Family("iolens_job_written_bytes", "bytes", "headline", "bytes_written"),
    _Family("iolens_job_io_time_seconds", "seconds", "headline", "io_time", ("basis",)),
    _Family("iolens_job_io_ratio", "ratio", "headline", "io_share"),
    _Family("iolens_job_metadata_ratio", "ratio", "headline", "meta_share"),
    _Family("iolens_job_unseen_read_bytes", "bytes", "headline", "unseen_read"),
    _Family("iolens_job_unseen_written_bytes", "bytes", "headline", "unseen_written"),
    _Family("iolens_interface_moved_bytes", "bytes", "perf", "bytes", ("interface",)),
    _Family("iolens_interface_time_seconds", "seconds", "perf", "time_by_slowest", ("interface",)),
    _Family("iolens_files", "", "file_categories", "files", ("interface", "category")),
    _Family("iolens_files_bytes", "bytes", "file_categories", "bytes", ("interface", "category")),
    _Family("iolens_operations", "", "operation_counts", "count", ("interface", "operation")),
    _Family("iolens_accesses", "", "access_sizes", "count", ("interface", "kind", "direction", "label")),
    _Family("iolens_file_system_read_bytes", "bytes", "file_systems", "bytes_read", ("mount", "file_system")),
    _Family(
        "iolens_file_system_written_bytes", "bytes", "file_systems", "bytes_written", ("mount", "file_system")
    ),
    _Family("iolens_redundant_reads_bytes", "bytes", "redundant_reads", "value"),
    _Family("iolens_screened_metadata_ratio", "ratio", "metadata_ratio", "value"),
    _Family("iolens_small_shared_writes", "", "small_shared_writes", "value"),
)


def escaped(value: Any) -> str:
    """A label's value, or a help text."""
    lines = str(value).encode("utf-8", "replace").decode("utf-8").split("\n")
    return "\\n".join(clean(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines)


def _labels(pairs: dict[str, Any]) -> str:
    told = (f'{name}="{escaped(value)}"' for name, value in pairs.items() if value is not None)
    return "{" + ",".join(told) + "}"


def lines(data: Dataset) -> Iterator[str]:
    """The text line by line. Labels tell jobs apart: ``log`` (file name), ``job_id``, ``uid``."""
    jobs = {row["log"]: row for row in data.rows("SELECT log, path, job_id, uid FROM job")}
    common = {
        log: {"log": Path(row["path"]).name, "number": log, "job_id": row["job_id"], "uid": row["uid"]}
        for log, row in jobs.items()
    }
    for family in _FAMILIES:
        yield f"# TYPE {family.name} gauge"
        if family.unit:
            yield f"# UNIT {family.name} {family.unit}"
        yield f"# HELP {family.name} {escaped(metrics()[family.metric].title)} ({family.metric}, {family.column})."
        for row in data.metric(family.metric):
            value = row[family.column]
            if value is not None and math.isfinite(value):
                labels = {**common[row["log"]], **{name: row[name] for name in family.labels}}
                yield f"{family.name}{_labels(labels)} {value}"
    yield "# EOF"


def write_openmetrics(data: Dataset, folder: Path) -> Iterator[Path]:
    """``metrics.txt``, all logs in it."""
    path = folder / "metrics.txt"
    with whole(path) as part, part.open("w", encoding="utf-8") as out:
        out.writelines(f"{line}\n" for line in lines(data))
    yield path
