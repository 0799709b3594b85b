"""What the columns of a data set are: facts of the job, of the record, or counters by Darshan's names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from iolens.log import scan
from iolens.log.table import Field
from iolens.metrics.views import MODULES

__all__ = ["JOB", "RECORD", "TOTAL", "Column", "Columns", "columns_of", "counters", "fields_of"]

TOTAL = "total_"
"""What stands before a counter that is of the whole job, as darshan-parser --total prints it."""

JOB = {
    "uid": ("uid", "user", "user_id", "userid", "username"),
    "job_id": ("jobid", "job_id", "slurm_job_id", "jobid_hash"),
    "start": ("start_time", "start", "start_timestamp", "starttime", "start_time_sec"),
    "end": ("end_time", "end", "end_timestamp", "endtime", "end_time_sec"),
    "exe": ("exe", "executable", "exe_name", "exename", "application", "app", "exe_hash"),
    "nprocs": ("nprocs", "n_procs", "num_procs", "np", "ranks"),
    "run_time": ("runtime", "run_time", "run time", "walltime"),
    "log_file": ("log_file", "logfile", "log", "darshan_log", "file_path_of_log"),
}
"""Fact of a job -> names of columns that have it, the first that is there counts. Case does not matter."""

RECORD = {
    "rank": ("rank",),
    "id": ("id", "record_id", "rec_id", "file_id", "file_hash", "record id"),
    "name": ("file_name", "filename", "file", "name", "path", "file path"),
    "mount": ("mount_pt", "mount_point", "mount", "mnt_pt"),
    "file_system": ("fs_type", "file_system", "fs"),
}
"""Fact of a record -> names of columns."""


@dataclass(frozen=True)
class Column:
    """A counter in the file: module and field of iolens' table, the element of a list (from 1 on), and its column."""

    module: str
    field: str
    element: int
    name: str


@dataclass
class Columns:
    """All of a file's columns."""

    job: dict[str, str] = field(default_factory=dict)
    record: dict[str, str] = field(default_factory=dict)
    counters: list[Column] = field(default_factory=list)
    totals: bool = False
    ignored: list[str] = field(default_factory=list)
    """What iolens has no place for."""

    @property
    def modules(self) -> list[str]:
        return list(dict.fromkeys(one.module for one in self.counters))


@cache
def fields_of(module: str) -> tuple[Field, ...]:
    """The columns of a module's table, but for the number of the log."""
    return tuple(one for one in scan([]).table(module).schema if one.name != "log")


@cache
def counters() -> dict[str, tuple[str, str, int]]:
    """Darshan's name in capitals -> module, field, element (0 if the field is no list)."""
    found: dict[str, tuple[str, str, int]] = {}
    for module in MODULES:
        for one in fields_of(module):
            for element, name in enumerate(one.darshan, 1):
                found.setdefault(name.upper(), (module, one.name, element if one.count != 1 else 0))
    return found


def _plain(name: str) -> str:
    return re.sub(r"\s+", " ", name.strip().lower())


def _facts(known: dict[str, tuple[str, ...]], names: dict[str, str]) -> dict[str, str]:
    found = {}
    for fact, spellings in known.items():
        name = next((names[spelling] for spelling in spellings if spelling in names), None)
        if name is not None:
            found[fact] = name
    return found


def columns_of(names: Iterable[str]) -> Columns:
    """What each of the columns is; ``total_`` counters make it a data set of jobs, others one of records."""
    listed = list(names)
    by_name = {_plain(name): name for name in reversed(listed)}
    made = Columns(totals=any(_plain(name).startswith(TOTAL) for name in listed))
    made.job = _facts(JOB, by_name)
    made.record = {} if made.totals else _facts(RECORD, by_name)
    taken = {*made.job.values(), *made.record.values()}
    for name in listed:
        upper = _plain(name).removeprefix(TOTAL).upper()
        is_total = _plain(name).startswith(TOTAL)
        if upper in counters() and is_total == made.totals:
            made.counters.append(Column(*counters()[upper], name))
        elif name not in taken:
            made.ignored.append(name)
    return made
