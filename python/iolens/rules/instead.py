"""What a job's time goes into besides I/O, in words: those of the verdict of `iolens run` (cli/summary/instead.c)."""

from __future__ import annotations

from typing import Any

from iolens.metrics import Dataset
from iolens.metrics.metric import thresholds
from iolens.rules.text import counted, write
from iolens.shown import clean

__all__ = ["computes_io", "hdf5_times", "instead", "is_more", "is_most", "names_hdf5", "takes"]

_HDF5 = "HDF5 itself (filters, type conversion, chunks)"
_NONE = {"time": 0.0, "as_io": 0.0, "all_processes": 0.0}


def _threshold(name: str, metric: str = "instead") -> float:
    return thresholds(metric)[name]


def hdf5_times(data: Dataset) -> dict[int, dict[str, Any]]:
    """Rows of metric.hdf5_time by log, of those with datasets."""
    return {} if data.lacks("h5d") else {row["log"]: row for row in data.metric("hdf5_time")}


def names_hdf5(hdf5: dict[str, Any], run_time: float) -> bool:
    """Does HDF5 itself take, or waste, enough to be named?"""
    much = _threshold("much", "hdf5_time") * run_time
    return bool(hdf5["time"] > 0 and (hdf5["time"] >= much or hdf5["as_io"] > 0))


def takes(hdf5: dict[str, Any], run_time: float) -> str:
    """What HDF5 itself takes, as a sentence without its end."""
    return f"{_HDF5} takes {write(hdf5['time'] / run_time, 'percent')} of the run"


def _computes_hdf5(row: dict[str, Any], hdf5: dict[str, Any], run_time: float) -> bool:
    """Is it most of what the processor does?"""
    busy = row["processor"] + row["delay"]
    return (
        row["kind"] == "processor"
        and names_hdf5(hdf5, run_time)
        and hdf5["all_processes"] >= _threshold("most") * busy
    )


def _taken(row: dict[str, Any], run_time: float) -> float:
    """Seconds of what takes most."""
    if row["kind"] == "page faults":
        return float(row["fault_time"])
    if row["kind"] == "waiting":
        return float(row["waited"])
    if row["kind"] in ("late rank", "locks"):
        return float(row["late_wait" if row["kind"] == "late rank" else "lock_wait"])
    return float(row["processor"] + row["delay"]) if row["kind"] == "processor" else run_time


def is_most(row: dict[str, Any], run_time: float | None) -> bool:
    """Half of the run or more; page faults and starts are named only where they are much."""
    if not row["kind"] or not run_time:
        return False
    return row["kind"] == "page faults" or _taken(row, run_time) >= _threshold("most") * run_time


def is_more(
    row: dict[str, Any], run_time: float | None, io_time: float | None, hdf5: dict[str, Any] | None = None
) -> bool:
    """Does it take more than I/O? A processor may be busy in calls, which then count as I/O."""
    if not row["kind"] or not run_time:
        return False
    spent = io_time or 0.0
    if row["faulting"] and row["fault_time"] > spent:
        return True
    if _computes_hdf5(row, hdf5 or _NONE, run_time) and (hdf5 or _NONE)["time"] > spent:
        return True
    if row["kind"] in ("page faults", "waiting", "late rank", "locks"):
        return _taken(row, run_time) > spent
    return 2 * spent < run_time and _taken(row, run_time) > 2 * spent


def computes_io(row: dict[str, Any]) -> bool:
    """Does the process that is longest in I/O compute all the while? Of threads it is not known: one may wait."""
    return _threshold("always") <= (row["computing"] or 0) <= _threshold("one_processor")


def instead(row: dict[str, Any], run_time: float | None, hdf5: dict[str, Any] | None = None) -> str:
    """A row of metric.instead, and that of metric.hdf5_time: "" where it says nothing."""
    if not row["kind"] or not run_time:
        return ""
    known = hdf5 or _NONE
    computes = _computes_hdf5(row, known, run_time)
    text = _in_hdf5(known, run_time) if computes else _largest(row, run_time)
    if row["kind"] == "page faults":
        return text
    both = f", and {_faults(row, run_time)}" if row["faulting"] else ""
    if row["brought"]:
        size = write(row["fault_bytes"], "bytes")
        both = f"; meanwhile {size} of programs, libraries and mapped files came from storage"
    if row["lock_wait"] and row["kind"] != "locks":
        part = write(row["lock_wait"] / run_time, "percent")
        both += f"; processes wait for locks on files for {part} of the run"
    more = f"; {takes(known, run_time)}" if names_hdf5(known, run_time) and not computes else ""
    return f"{text}{both}{more}"


def _in_hdf5(hdf5: dict[str, Any], run_time: float) -> str:
    part = write(hdf5["time"] / run_time, "percent")
    return f"{_HDF5}, {part} of the run: {hdf5['time']:.1f} of {run_time:.1f} s, on the processor"


def _faults(row: dict[str, Any], run_time: float) -> str:
    part = write(min(1.0, row["fault_time"] / run_time), "percent")
    what = "programs, libraries and mapped files"
    if not row["fault_bytes"]:
        # Other processes brought them, or a file system that the kernel does not count as storage.
        return f"page faults, about {part} of the run on {what}"
    return (
        f"page faults, about {part} of the run: {write(row['fault_bytes'], 'bytes')} of {what} from storage"
    )


def _locks(row: dict[str, Any], run_time: float) -> str:
    part = write(row["lock_wait"] / run_time, "percent")
    if not row["locked"]:
        return f"waiting, {part} of the run, for locks on files"
    name = clean(row["locked"].rpartition("/")[2])
    who = (
        "other processes of the job lock, too" if row["lockers"] > 1 else "no other process of the job locks"
    )
    return f"waiting, {part} of the run, for a lock on {name}, which {who}"


def _in_calls(row: dict[str, Any], run_time: float) -> str:
    """Of this, what the records have as time in I/O."""
    return f" ({write(row['queued'] / run_time, 'percent')} in I/O calls)" if row["queued"] else ""


def _largest(row: dict[str, Any], run_time: float) -> str:
    kind = row["kind"]
    if kind == "page faults":
        return _faults(row, run_time)
    if kind == "start of processes":
        each = write(run_time / row["processes"], "seconds")
        return f"the start of {counted(row['processes'], 'process')}, {each} each"
    if kind == "late rank":
        part = write(row["late_wait"] / run_time, "percent")
        ranks = counted(row["others"], "rank")
        return f"waiting, {part} of the run: {ranks} in MPI-IO for rank {row['late']}, which comes late"
    if kind == "locks":
        return _locks(row, run_time)
    if kind == "waiting":
        return f"waiting, {write(row['waited'] / run_time, 'percent')} of the run"
    busy = row["processor"] / run_time
    delayed = min(row["delay"] / run_time, max(0.0, 1 - busy))
    if delayed >= _threshold("delayed"):
        text = (
            f"the processor, busy for {write(busy, 'percent')} of the run; for "
            f"{write(delayed, 'percent')}, the program waited while others used it{_in_calls(row, run_time)}"
        )
    elif busy <= _threshold("one_processor"):
        text = f"the processor, busy for {write(min(1.0, busy), 'percent')} of the run"
    else:
        text = f"the processors, {busy:.1f} busy on average"
    if row["programs"] > 1 and (row["program_part"] or 0) >= _threshold("most"):
        text += f", most of it in {clean(row['program'])}"
    if row["passed"]:
        part, size = write(row["system_part"], "percent"), write(row["passed"], "bytes")
        text += f", {part} of that in the kernel: {size} go through {row['through']}"
    return text
