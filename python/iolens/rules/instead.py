"""What a job's time goes into besides I/O, in words: those of the verdict of `iolens run` (cli/summary/instead.c)."""

from __future__ import annotations

from typing import Any

from iolens.metrics.metric import thresholds
from iolens.rules.text import counted, write
from iolens.shown import clean

__all__ = ["instead", "is_more", "is_most"]


def _threshold(name: str) -> float:
    return thresholds("instead")[name]


def _taken(row: dict[str, Any], run_time: float) -> float:
    """Seconds of what takes most."""
    if row["kind"] == "page faults":
        return float(row["fault_time"])
    if row["kind"] == "waiting":
        return float(row["waited"])
    return float(row["processor"] + row["delay"]) if row["kind"] == "processor" else run_time


def is_most(row: dict[str, Any], run_time: float | None) -> bool:
    """Half of the run or more; page faults and starts are named only where they are much."""
    if not row["kind"] or not run_time:
        return False
    return row["kind"] == "page faults" or _taken(row, run_time) >= _threshold("most") * run_time


def is_more(row: dict[str, Any], run_time: float | None, io_time: float | None) -> bool:
    """Does it take more than I/O? A processor may be busy in calls, which then count as I/O."""
    if not row["kind"] or not run_time:
        return False
    spent = io_time or 0.0
    if row["kind"] in ("page faults", "waiting"):
        return _taken(row, run_time) > spent
    return 2 * spent < run_time and _taken(row, run_time) > 2 * spent


def instead(row: dict[str, Any], run_time: float | None) -> str:
    """A row of metric.instead: "" where it says nothing."""
    kind = row["kind"]
    if not kind or not run_time:
        return ""
    if kind == "page faults":
        part, size = (
            write(min(1.0, row["fault_time"] / run_time), "percent"),
            write(row["fault_bytes"], "bytes"),
        )
        return f"page faults, about {part} of the run: {size} of programs, libraries and mapped files from storage"
    if kind == "start of processes":
        each = write(run_time / row["processes"], "seconds")
        return f"the start of {counted(row['processes'], 'process')}, {each} each"
    if kind == "waiting":
        return f"waiting, {write(row['waited'] / run_time, 'percent')} of the run"
    busy = row["processor"] / run_time
    delayed = min(row["delay"] / run_time, max(0.0, 1 - busy))
    if delayed >= _threshold("delayed"):
        text = (
            f"the processor, busy for {write(busy, 'percent')} of the run and waited for during "
            f"{write(delayed, 'percent')}, while other programs used it"
        )
    elif busy <= _threshold("one_processor"):
        text = f"the processor, busy for {write(min(1.0, busy), 'percent')} of the run"
    else:
        text = f"the processors, {busy:.1f} busy on average"
    most = row["programs"] > 1 and (row["program_part"] or 0) >= _threshold("most")
    return text + (f", most of it in {clean(row['program'])}" if most else "")
