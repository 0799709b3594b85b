"""Accounting with a line of column names: what sacct --parsable2 prints, and CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from iolens.error import IolensError
from iolens.fleet.accounting.job import AccountedJob, Reading, duration, state_of, whole
from iolens.rules.text import counted

__all__ = ["jobs", "recognizes"]

# A field, by the names that sacct, exports of other schedulers and people give it; the first that is there counts.
COLUMNS = {
    "raw_id": ("jobidraw",),
    "id": ("jobid", "job"),
    "cluster": ("cluster", "system"),
    "user": ("user", "username", "owner"),
    "account": ("account", "project", "group"),
    "partition": ("partition", "queue"),
    "name": ("jobname", "name"),
    "state": ("state", "status"),
    "submit": ("submit", "submittime", "submitted"),
    "start": ("start", "starttime", "started"),
    "end": ("end", "endtime", "ended", "finished"),
    "elapsed": ("elapsedraw", "elapsed", "runtime", "walltime"),
    "cores": ("alloccpus", "ncpus", "cores", "cpus", "nprocs"),
    "nodes": ("nnodes", "allocnodes", "nodes"),
    "core_seconds": ("cputimeraw", "coreseconds"),
    "core_hours": ("corehours",),
    "comment": ("admincomment", "comment", "extra"),
    "observed": ("observed", "iolens"),
}
NEEDED = (("raw_id", "id"), ("user",), ("start",), ("end", "elapsed"), ("state",))

_ID = re.compile(r"(\d+)(?:_(\d+)|\+\d+)?")
_TOLD = {"1": True, "yes": True, "true": True, "y": True, "0": False, "no": False, "false": False, "n": False}


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def _delimiter(head: str) -> str:
    return next((mark for mark in "|\t;," if mark in head), "")


def recognizes(head: str) -> bool:
    """Is this the first line of such a file?"""
    names = {_plain(name) for name in head.split(_delimiter(head) or None)}
    return bool(names & {"jobid", "jobidraw", "job"})


def _places(path: str, names: Sequence[str]) -> dict[str, int]:
    """Field -> number of its column."""
    plain = [_plain(name) for name in names]
    found = {
        field: next(plain.index(alias) for alias in aliases if alias in plain)
        for field, aliases in COLUMNS.items()
        if any(alias in plain for alias in aliases)
    }
    for fields in NEEDED:
        if not any(field in found for field in fields):
            told = " or ".join(alias for field in fields for alias in COLUMNS[field][:1])
            raise IolensError(
                f"accounting without a column {told}: print it by sacct --parsable2 --allusers --duplicates "
                "--format=JobID,JobIDRaw,Cluster,User,Account,Partition,JobName,State,Submit,Start,End,"
                "ElapsedRaw,AllocCPUS,NNodes,CPUTimeRAW,Comment",
                path,
            )
    return found


def _rows(lines: Iterable[str], delimiter: str) -> Iterator[Sequence[str]]:
    """sacct quotes nothing; CSV may."""
    if delimiter == "|":
        return (line.rstrip("\r\n").split("|") for line in lines)
    return csv.reader(lines, delimiter=delimiter)


def _observed(get: Callable[[str], str]) -> bool | None:
    told = _TOLD.get(get("observed").lower())
    return told if told is not None else "iolens" in get("comment").lower() or None


def _job(get: Callable[[str], str], reading: Reading) -> AccountedJob | str:
    """The job of a line, or why it is left out. Raises ValueError with what is wrong."""
    given, raw = get("id") or get("raw_id"), get("raw_id")
    if "." in given:
        return "steps"
    start = reading.time(get("start"))
    if start is None:
        return "never started"
    found = _ID.fullmatch(given)
    if not found or (raw and not raw.isdigit()):
        raise ValueError(f'"{given if not found else raw}" is no number of a job')
    task = found[2]
    if task and not raw:
        return "tasks of arrays without JobIDRaw"
    elapsed, end = duration(get("elapsed")), reading.time(get("end"))
    state = state_of(get("state"))
    if end is None and elapsed is not None and state != "RUNNING":
        end = start + elapsed
    if end is not None and end < start:
        raise ValueError(f"it ends ({get('end')}) before it starts ({get('start')})")
    cores, used = whole(get("cores")), whole(get("core_seconds"))
    if used is None and get("core_hours"):
        used = round(float(get("core_hours")) * 3600)
    if used is None and cores is not None and end is not None:
        used = round(cores * (end - start))
    return AccountedJob(
        cluster=get("cluster") or reading.cluster,
        job_id=int(raw or found[1]),
        array_job=int(found[1]) if task else None,
        array_task=int(task) if task else None,
        user=get("user") or None,
        account=get("account") or None,
        partition=get("partition") or None,
        name=get("name") or None,
        state=state,
        submit=reading.time(get("submit")),
        start=start,
        end=end,
        cores=cores,
        nodes=whole(get("nodes")),
        core_seconds=used,
        observed=_observed(get),
    )


def _getter(places: Mapping[str, int]) -> tuple[list[Sequence[str]], Callable[[str], str]]:
    """A list whose one item is the row at hand, and what gets a field of it."""
    at: list[Sequence[str]] = [()]

    def get(field: str) -> str:
        place = places.get(field)
        return "" if place is None else at[0][place].strip()

    return at, get


def jobs(lines: Iterable[str], reading: Reading) -> Iterator[AccountedJob]:
    """The jobs of a file; what cannot be read, and what is left out, is noted in `reading`."""
    lines = iter(lines)
    head = next(lines)
    delimiter = _delimiter(head)
    if not delimiter:
        raise IolensError(
            "only one column: print it by sacct --parsable2, or separate columns by commas", reading.path
        )
    rows = _rows(chain([head], lines), delimiter)
    names = [name.strip() for name in next(rows)]
    at, get = _getter(_places(reading.path, names))
    ended = 1 if names[-1] == "" else 0  # --parsable ends lines with a mark
    for number, row in enumerate(rows, 2):
        if not row or row == [""]:
            continue
        if len(row) < len(names) - ended or len(row) > len(names):
            mark = f' (is there a "{delimiter}" in a name?)' if len(row) > len(names) else ""
            reading.problem(number, f"{counted(len(row), 'column')} instead of {len(names)}{mark}")
            continue
        at[0] = row
        try:
            job = _job(get, reading)
        except ValueError as error:
            reading.problem(number, str(error))
            continue
        if isinstance(job, str):
            reading.left_out[job] += 1
        else:
            yield job
