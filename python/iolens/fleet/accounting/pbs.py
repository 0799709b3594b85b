"""Accounting logs of PBS: OpenPBS, PBS Professional, Torque. A job is in the record of its end (E)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from iolens.fleet.accounting.job import AccountedJob, Reading, duration, whole

__all__ = ["jobs", "recognizes"]

_RECORD = re.compile(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;([A-Za-z]+);([^;]*);(.*)")
_ID = re.compile(r"(\d+)(?:\[(\d+)\])?(?:\.(.*))?")
# A value may hold blanks, but no word with "=" behind one.
_PAIR = re.compile(r"([A-Za-z_][\w.]*)=(.*?)(?= [A-Za-z_][\w.]*=|$)")

# What PBS itself ends a job for; a signal is 256 (Torque and PBS) or 128 more than its number.
_ENDS = {-29: "TIMEOUT", -28: "TIMEOUT", -27: "OUT_OF_MEMORY", -26: "OUT_OF_MEMORY"}
_SIGTERM = {128 + 15, 256 + 15, 128 + 9, 256 + 9}


def recognizes(head: str) -> bool:
    """Is this the first line of such a file?"""
    return _RECORD.match(head) is not None


def _state(pairs: dict[str, str], run: float) -> str:
    told = pairs.get("Exit_status", "")
    if not re.fullmatch(r"-?\d+", told):
        return "UNKNOWN"
    status = int(told)
    if status in _ENDS:
        return _ENDS[status]
    if status in _SIGTERM:
        wanted = duration(pairs.get("Resource_List.walltime", ""))
        return "TIMEOUT" if wanted is not None and run >= wanted else "CANCELLED"
    return "COMPLETED" if status == 0 else "FAILED"


def _cores(pairs: dict[str, str]) -> int | None:
    given = pairs.get("resources_used.ncpus") or pairs.get("Resource_List.ncpus")
    if given:
        return whole(given)
    if pairs.get("total_execution_slots"):
        return whole(pairs["total_execution_slots"])
    hosts = pairs.get("exec_host", "")
    return len(hosts.split("+")) if hosts else None  # Torque: one name per core


def _job(given: str, pairs: dict[str, str], reading: Reading) -> AccountedJob | str:
    found = _ID.fullmatch(given)
    if not found:
        raise ValueError(f'"{given}" is no number of a job')
    start, end = reading.time(pairs.get("start", "")), reading.time(pairs.get("end", ""))
    if start is None:
        return "never started"
    if end is None or end < start:
        raise ValueError("its end is missing" if end is None else "it ends before it starts")
    cores = _cores(pairs)
    told = " ".join(pairs.get(name, "") for name in ("comment", "Variable_List", "project"))
    return AccountedJob(
        cluster=reading.cluster or (found[3] or "").split(".")[0] or None,
        job_id=int(found[1]),
        array_job=int(found[1]) if found[2] else None,
        array_task=int(found[2]) if found[2] else None,
        user=pairs.get("user"),
        account=(pairs.get("account") or pairs.get("project") or pairs.get("group") or "").strip('"') or None,
        partition=pairs.get("queue"),
        name=pairs.get("jobname"),
        state=_state(pairs, end - start),
        submit=reading.time(pairs.get("ctime", "")),
        start=start,
        end=end,
        cores=cores,
        nodes=whole(pairs.get("Resource_List.nodect", "")),
        core_seconds=None if cores is None else round(cores * (end - start)),
        observed="iolens" in told.lower() or None,
    )


def jobs(lines: Iterable[str], reading: Reading) -> Iterator[AccountedJob]:
    """The jobs of a file; what cannot be read, and what is left out, is noted in `reading`."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        record = _RECORD.match(line.rstrip("\r\n"))
        if not record:
            reading.problem(
                number, 'no record as "01/31/2013 12:00:00;E;123.server;user=... start=... end=..."'
            )
            continue
        if record[1] != "E":
            reading.left_out["records of other events"] += 1
            continue
        try:
            job = _job(record[2], dict(_PAIR.findall(record[3])), reading)
        except ValueError as error:
            reading.problem(number, str(error))
            continue
        if isinstance(job, str):
            reading.left_out[job] += 1
        else:
            yield job
