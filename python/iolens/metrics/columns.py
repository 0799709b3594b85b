"""The columns of the tables that queries ask: units and meanings, for `iolens sql --describe` and the reference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from iolens.log import scan
from iolens.metrics.sections import SECTIONS
from iolens.metrics.views import MODULES

__all__ = ["DESCRIBED", "ColumnText", "columns_of", "described_tables"]


class ColumnText(NamedTuple):
    """A column; no unit for names, numbers of things and counts."""

    name: str
    unit: str
    doc: str


_LOG = "log: number of the log, from 0 in the order given"
_OBJECT = f"""
    {_LOG}
    interface: posix, stdio, mpiio, ...: which interface's calls these are
    id: the record's id, a hash of the name"""
_SUMS = """
    opens: calls that opened it; copies of descriptors do not count
    reads: calls
    writes: calls
    syncs: fsync, fdatasync, flushes
    meta_ops: seeks, stats of open files, renames"""
_BYTES = """
    bytes_read (bytes): by these calls
    bytes_written (bytes): by these calls"""
_TIMES = """
    read_time (seconds): in reads, of all ranks together
    write_time (seconds): in writes, of all ranks together
    meta_time (seconds): in opens, closes, seeks, stats, of all ranks together; syncs are in write_time, HDF5's here"""
_STAMPS = """
    max_offset_read (offset): highest byte that was read
    max_offset_written (offset): highest byte that was written
    open_start (seconds): since the job's start: first open began
    read_start (seconds): first read began
    write_start (seconds): first write began
    read_end (seconds): last read ended
    write_end (seconds): last write ended
    close_end (seconds): last close ended"""
_PLACE = """
    mount: mount point that it lies below
    file_system: type of its file system: lustre, nfs, ext4, ...
    class: kind of file system: lustre, nfs, fuse, local, ...; null = unknown
    directory: the name up to its last slash"""
_VERSIONS = """
    versions: files that had the name: one more than it was renamed or written anew as a whole"""

_RECORD = f"""{_OBJECT}
    rank: whose record it is; -1 = of all ranks together{_SUMS}{_BYTES}{_TIMES}{_STAMPS}
    fastest_rank: of a shared record, the rank that took least time
    fastest_bytes (bytes): that it moved
    fastest_time (seconds): that it took
    slowest_rank: of a shared record, the rank that took most time
    slowest_bytes (bytes): that it moved
    slowest_time (seconds): that it took
    variance_time: of a shared record, variance of the ranks' times
    variance_bytes: of a shared record, variance of the ranks' bytes
    size_read: reads by size: to 100 B, 1 KiB, 10 KiB, 100 KiB, 1 MiB, 4 MiB, 10 MiB, 100 MiB, 1 GiB, above
    size_write: writes by the same sizes
    access (bytes): the four most frequent sizes of accesses
    access_count: how often each
    total_time (seconds): read_time + write_time + meta_time
    io_time (seconds): the slowest rank's time of a shared record, else total_time: as Darshan's tools take it"""

_FILE_OF = f"""{_OBJECT}
    ranks: that used it
    all_ranks: did all ranks use it, so that they have one record
    shared: did more than one rank use it{_SUMS}
    small_writes: writes of less than 1 MiB{_BYTES}{_TIMES}
    total_time (seconds): read_time + write_time + meta_time
    slowest_time (seconds): of the rank that took most{_STAMPS}"""

_SITE = f"""{_OBJECT}
    place: in one text: function (file:line) in module; of Python function (file:line), or file:line
    function: that made the call; null = unknown
    source: its source file
    line: in it
    module: program or library that it is in
    build_id: of that
    offset (offset): of the call in that
    stack: up to eight lines of Python code, innermost first: function (path:line), a newline between two
    note: why source or line are unknown
    ranks: that opened it there; null = all"""

_TABLES = {
    "job": (
        "One row per log.",
        f"""
    {_LOG}
    path: of the log
    uid: user id of the job
    job_id: the scheduler's number, else a process id
    nprocs: processes (ranks)
    start (UTC): when it began
    end (UTC): when it ended; null = unknown
    run_time (seconds): from start to end; null = unknown
    exe: its command line
    format: version of the log's format
    partial: bits of the modules that lost records""",
    ),
    "module": (
        "One row per log and module that it has.",
        """
    id: the module's number in the log
    module: key of its table; null = this version only knows its name
    darshan: Darshan's name of it
    version: of its records
    stored (bytes): in the log
    partial: 1 = some of its records are missing
    log: number of the log""",
    ),
    "mount": (
        "File systems, one row per log and mount point.",
        """
    mount: mount point
    file_system: its type
    class: kind of file system: lustre, nfs, fuse, local, ...; null = unknown
    log: number of the log""",
    ),
    "metadata": (
        "What else the log says of its job.",
        """
    key: name
    value: text
    log: number of the log""",
    ),
    "name": (
        "Names of files and objects.",
        f"""
    {_LOG}
    id: of their records
    name: the path, or what stands for it{_PLACE}
    extension: end of the name, with its dot""",
    ),
    "record": ("Records of all interfaces, with the same columns for each.", _RECORD),
    "file": (
        "`record` merged per log, interface and object, with its name.",
        f"""{_FILE_OF}
    name: the path, or what stands for it{_PLACE}
    extension: end of the name, with its dot""",
    ),
    "file_of": ("`file` without the name: faster.", _FILE_OF),
    "own_record": ("Of `record`, what the program called itself: sums count nothing twice.", _RECORD),
    "own_file": ("Of `file_of`, the same.", _FILE_OF),
    "lowest_record": ("Of `record`, what reached the system.", _RECORD),
    "lowest_file": ("Of `file_of`, the same.", _FILE_OF),
    "single_record": ("Of `record`, what stands for one file.", _RECORD + _VERSIONS),
    "single_file": ("Of `file_of`, the same.", _FILE_OF + _VERSIONS),
    "dxt_access": (
        "Single accesses of all traces.",
        f"""{_OBJECT}
    rank: that made it
    operation: read or write
    offset (offset): in the file
    length (bytes): of the access
    start (seconds): since the job's start
    end (seconds): since the job's start""",
    ),
    "call_site": ("Where objects were opened.", _SITE),
    "file_site": ("Of `call_site`, that of the highest interface: the program's own.", _SITE),
    "line": (
        "What reached the system, by file, kind of call and line of code.",
        f"""{_OBJECT}
    kind: read, write, or meta: opens, closes, seeks, stats, renames
    place: in one text: function (file:line) of Python; else the place that opened the file, as in call_site
    function: that the line is in
    source: its source file
    line: in it
    module: program or library, where the line is that of an open
    stack: up to eight lines of Python code, innermost first: function (path:line), a newline between two
    calls: of the file, made there; meta: opens, seeks, stats and renames
    bytes (bytes): that they moved
    time (seconds): of all ranks together
    ranks: that were there; null = unknown
    basis: counted; estimated (scaled to the file's counters); opened (the line that opened the file); unknown""",
    ),
    "stripe": (
        "Where files lie on Lustre: one row per file and target.",
        f"""
    {_LOG}
    id: of the file's record
    volume: name of the file system, else its mount point
    ost: number of the storage target
    stripes: over how many targets the file is spread""",
    ),
}

DESCRIBED = {table: title for table, (title, _) in _TABLES.items()}
"""Tables that queries make of a log's, and what their rows are."""


def described_tables() -> list[str]:
    """Tables that ``columns_of`` knows."""
    return [*DESCRIBED, *MODULES, *SECTIONS]


def _parsed(text: str) -> Iterator[ColumnText]:
    for line in filter(str.strip, text.splitlines()):
        head, _, doc = line.strip().partition(": ")
        name, _, unit = head.partition(" (")
        yield ColumnText(name, unit.rstrip(")"), doc)


def columns_of(table: str) -> list[ColumnText]:
    """The columns of one of ``described_tables``; the page on the extension trailer has those of sections."""
    if table in _TABLES:
        return list(_parsed(_TABLES[table][1]))
    if table in SECTIONS:
        return [
            ColumnText("log", "", _LOG.partition(": ")[2]),
            *(ColumnText(c, "", "") for c in SECTIONS[table]),
        ]
    return [ColumnText(field.name, field.unit, field.doc) for field in scan([]).table(table).schema]
