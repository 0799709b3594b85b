"""What I/O costs: time per interface, bandwidth, per process."""

from __future__ import annotations

from iolens.report.document import Bars, Block, Column, Facts, Section, Series, Table
from iolens.report.sections.peaks import beside_peaks
from iolens.report.source import INTERFACE_SQL, INTERFACE_TITLES, Source

__all__ = ["cost"]

_KINDS = (("read", "Reading"), ("write", "Writing"), ("meta", "Metadata"), ("wait", "Waiting"))


def _bars(source: Source) -> list[Block]:
    rows = source.metric("io_cost")
    if not rows:
        return []
    series = [Series(kind, title, [row.get(kind) for row in rows]) for kind, title in _KINDS]
    return [
        Bars(
            f"{source.prefix}io-cost",
            "Seconds in I/O calls" if source.ranks == 1 else "Seconds in I/O calls, average process",
            [INTERFACE_TITLES.get(row["interface"], row["interface"]) for row in rows],
            [s for s in series if s.name in ("read", "write", "meta") or any(s.values)],
            "seconds",
            stacked=True,
            whole=source.job["run_time"],
            note="Per cent: of the run time. Overlapping calls count twice. Interfaces overlap: POSIX does what MPI-IO "
            "asks for, which does what HDF5 asks for. Calls on no open file (unlink, rename, stat) are part of the "
            "verdict's time and not of these sums.",
            metric="io_cost",
        )
    ]


def _screening(source: Source) -> list[Block]:
    """The three numbers by which sites find the jobs worth a look."""
    again, ratio, small = (
        next(iter(source.metric(name)), {})
        for name in ("redundant_reads", "metadata_ratio", "small_shared_writes")
    )
    return [
        Facts(
            f"{source.prefix}screening",
            "Screening",
            [
                ("Bytes read more than once", again.get("value"), "bytes"),
                ("Part of I/O time that is metadata", ratio.get("value"), "percent"),
                (
                    "Time in metadata" if source.ranks == 1 else "Time in metadata per process",
                    ratio.get("per_rank"),
                    "seconds",
                ),
                ("Small writes to shared files, not collective", small.get("value"), "count"),
            ],
        )
    ]


_RATES = (
    Column("name", "Interface"),
    Column("bytes", "Bytes", "bytes"),
    Column("time_by_slowest", "Time by slowest rank", "seconds"),
    Column("by_slowest", "Rate by slowest rank", "rate"),
    Column("by_cumul", "Rate by cumulative time", "rate"),
    Column("by_open", "Rate from first open to last close", "rate"),
    Column("by_open_lastio", "Rate from first open to last access", "rate"),
    Column("slowest_rank", "Slowest rank in own files", "number"),
    Column("slowest_rank_io_time", "Slowest rank's time", "seconds"),
    Column("slowest_rank_meta_time", "of which metadata", "seconds"),
    Column("shared_by_slowest", "Time in shared files", "seconds"),
)

_RATES_OF_ONE = (
    *_RATES[:2],
    Column("time_by_slowest", "Time", "seconds"),
    Column("by_slowest", "Rate", "rate"),
    *_RATES[5:7],
)
"""A job of one process has no slowest one."""


def cost(source: Source) -> Section:
    one = source.ranks == 1
    blocks = _bars(source) + _screening(source)
    blocks += source.table(
        "perf",
        "Bytes, time and bandwidth of each interface",
        _RATES_OF_ONE if one else _RATES,
        f"""SELECT *, {INTERFACE_SQL} AS name,
        1048576 * mib_per_s_by_slowest AS by_slowest, 1048576 * mib_per_s_by_cumul AS by_cumul,
        1048576 * mib_per_s_by_open AS by_open, 1048576 * mib_per_s_by_open_lastio AS by_open_lastio
        FROM metric.perf WHERE log = {{log}}""",
        note="Interfaces must not be added."
        if one
        else "The time by slowest rank is an upper bound, its rate a lower one: shared files are added up though they "
        "may have been used at the same time. Interfaces must not be added.",
        metric="perf",
    )
    blocks += [] if one else _per_process(source)
    blocks += beside_peaks(source)
    return Section(f"{source.prefix}cost", "Cost of I/O", blocks)


def _per_process(source: Source) -> list[Table]:
    return source.table(
        "per-process",
        "Average I/O per process",
        (
            Column("access", "Files"),
            Column("read_time", "Time reading", "seconds"),
            Column("write_time", "Time writing", "seconds"),
            Column("meta_time", "Time in metadata", "seconds"),
            Column("bytes_read", "Read", "bytes"),
            Column("bytes_written", "Written", "bytes"),
        ),
        "SELECT * FROM metric.per_process WHERE log = {log}",
        metric="per_process",
    )
