"""What the log does not know, and what knowing cost."""

from __future__ import annotations

from iolens.report.document import Block, Column, Note, Section, Table
from iolens.report.source import INTERFACE_TITLES, Source
from iolens.report.units import counted, write
from iolens.rules.text import agree

__all__ = ["limits", "moved", "observation"]


def _folded(source: Source) -> list[str]:
    opens, surplus = source.ask("SELECT sum(opens), max(sufficient_budget) FROM folded WHERE log = {log}")[0]
    if not opens:
        return []
    text = (
        f"Folded: {counted(opens, 'use')} (open, stat) of files that found no room for a record of their own are "
        "counted together; totals are exact."
    )
    return [text + (f" MODMEM={surplus} would hold all." if surplus else "")]


UNEXPLAINED = 1 << 16
"""Bytes: less is what starting a program takes."""


def _unexplained(source: Source) -> list[str]:
    rows = [
        row
        for row in source.metric("moved")
        if row["way"] == "unexplained" and row["bytes_read"] + row["bytes_written"] >= UNEXPLAINED
    ]
    return [
        f"Unexplained: the kernel counted {write(row['bytes_read'], 'bytes')} read and "
        f"{write(row['bytes_written'], 'bytes')} written that iolens cannot account for."
        for row in rows
    ]


def _estimated(source: Source) -> list[str]:
    return [
        f"Estimated: {write(row['bytes'], 'bytes')} went by rings of io_uring that the program drives itself. "
        "They tell the number of requests; the last ones stand for all. Calls, bytes, sizes and patterns in "
        "POSIX records of their files are estimated, too."
        for row in source.metric("estimated")
    ]


def _sampled(source: Source) -> list[str]:
    calls, timed, doubtful, seconds = source.ask(
        "SELECT coalesce(sum(calls), 0), sum(timed), sum(doubtful), sum(doubtful_time) FROM sampled_times "
        "WHERE log = {log}"
    )[0]
    if not calls:
        return []
    waited = f" {write(doubtful, 'count')} of them, in pauses, may have waited: {write(seconds, 'seconds')} at most."
    return [
        f"Times of {counted(calls, 'fast call')} are estimated from {counted(timed, 'timed one')}."
        + (waited if doubtful else "")
    ]


def _shape(source: Source) -> list[str]:
    texts = []
    if "mpiio" not in source.interfaces and source.parallel:
        texts.append("No MPI-IO records: the job used none, or it was not observed.")
    only = source.ask(
        "SELECT count(*) FILTER (module NOT LIKE 'dxt%'), count(*) FROM module WHERE log = {log}"
    )[0]
    if only[1] and not only[0]:
        texts.append("The log holds traces only, no counters: what is counted from records is missing.")
    if str(source.job["exe"] or "").split(" ")[0].isdigit():
        texts.append("File names are hidden in this log, so directories and types cannot be used.")
    ends = source.ask(
        "SELECT count(*) FROM process WHERE log = {log} AND (signal > 0 OR ended IN ('running', 'unknown', 'torn'))"
    )[0][0]
    if ends:
        texts.append(f"{counted(ends, 'process')} {agree(ends, 'was', 'were')} killed or still running.")
    return texts


def _missing(source: Source) -> list[Note]:
    """What the metric of that name says, all incomplete modules in one note."""
    rows = source.metric("missing")
    notes = []
    incomplete = [row for row in rows if row["kind"] == "incomplete"]
    if incomplete:
        names = ", ".join(INTERFACE_TITLES.get(row["what"], row["what"]) for row in incomplete)
        lost = max((row["lost_bytes"] or 0 for row in incomplete), default=0)
        more = f" MPI-IO moved {write(lost, 'bytes')} that POSIX does not show." if lost else ""
        partly = f"The log is incomplete ({names}): all totals are at least the values shown."
        notes.append(Note("warning", f"{partly} {incomplete[0]['meaning']}{more}"))
    unobserved = [row["meaning"] for row in rows if row["kind"] == "not observed"]
    if unobserved:
        rest = f" and {len(unobserved) - 3} more" if len(unobserved) > 3 else ""
        notes.append(
            Note("missing", f"Programs that could not be followed: {'; '.join(unobserved[:3])}{rest}.")
        )
    others = [row for row in rows if row["kind"] not in ("incomplete", "not observed", "none")]
    return notes + [Note("missing", row["meaning"]) for row in others]


def limits(source: Source, problems: list[str]) -> list[Note]:
    """What must be known before anything else is believed."""
    known = [Note("warning", f"Damaged: {text}") for text in problems] + _missing(source)
    return known + [
        Note("missing", text)
        for text in (
            *_folded(source),
            *_unexplained(source),
            *_estimated(source),
            *_sampled(source),
            *_shape(source),
        )
    ]


def moved(source: Source) -> list[Table]:
    """Bytes by way; none of logs that tell no more than records do."""
    return source.table(
        "moved",
        "Data moved, by kind of access",
        (
            Column("title", "Kind of access"),
            Column("bytes_read", "Read", "bytes"),
            Column("bytes_written", "Written", "bytes"),
        ),
        "SELECT title, bytes_read, bytes_written FROM metric.moved WHERE log = {log}",
        metric="moved",
    )


def _metadata(source: Source) -> list[Table]:
    """Of logs that time no operation: how often metadata was asked for."""
    return source.table(
        "metadata-operations",
        "Metadata operations",
        (
            Column("interface", "Interface"),
            Column("operation", "Operation"),
            Column("count", "Calls", "count"),
        ),
        "SELECT * FROM metric.metadata_operations WHERE log = {log} ORDER BY count DESC, interface, operation",
        note="Their times are not in the log one by one.",
        metric="metadata_operations",
    )


def _not_followed(source: Source) -> list[Block]:
    blocks: list[Block] = []
    blocks += source.table(
        "unobserved",
        "Programs that could not be followed",
        (
            Column("program", "Program", "path"),
            Column("reason", "Reason"),
            Column("count", "Times", "count"),
        ),
        "SELECT program, reason, sum(count)::BIGINT AS count FROM unobserved WHERE log = {log} GROUP BY ALL "
        "ORDER BY 3 DESC, program, reason",
    )
    blocks += source.table(
        "folded",
        "Files counted together, by directory",
        (
            Column("directory", "Directory", "path"),
            Column("opens", "Opens", "count"),
            Column("surplus", "Of these at most another's", "count"),
        ),
        "SELECT directory, sum(opens)::BIGINT AS opens, sum(surplus)::BIGINT AS surplus FROM folded_directory "
        "WHERE log = {log} GROUP BY directory ORDER BY opens DESC, directory",
    )
    return blocks


def observation(source: Source) -> Section:
    blocks: list[Block] = []
    blocks += source.table(
        "excluded",
        "Counted by kind only",
        (
            Column("description", "What"),
            Column("opens", "Opens", "count"),
            Column("reads", "Reads", "count"),
            Column("writes", "Writes", "count"),
            Column("bytes_read", "Read", "bytes"),
            Column("bytes_written", "Written", "bytes"),
        ),
        "SELECT description, sum(opens)::BIGINT AS opens, sum(reads)::BIGINT AS reads, sum(writes)::BIGINT AS writes, "
        "sum(bytes_read)::BIGINT AS bytes_read, sum(bytes_written)::BIGINT AS bytes_written "
        "FROM excluded WHERE log = {log} GROUP BY description "
        "ORDER BY sum(bytes_read) + sum(bytes_written) DESC, description",
        note="Pipes, sockets, devices and files that the settings leave out have no records, but are counted.",
    )
    blocks += source.table(
        "operation-times",
        "Time by operation",
        (
            Column("interface", "Interface"),
            Column("name", "Operation"),
            Column("count", "Calls", "count"),
            Column("errors", "Failed calls", "count"),
            Column("bytes", "Bytes", "bytes"),
            Column("time", "Time, all processes", "seconds"),
            Column("mean", "Time per call", "seconds"),
        ),
        "SELECT interface, name, sum(count)::BIGINT AS count, sum(errors)::BIGINT AS errors, "
        "sum(bytes)::BIGINT AS bytes, "
        "sum(time) AS time, sum(time) / nullif(sum(count), 0) AS mean FROM operation WHERE log = {log} "
        "GROUP BY interface, name ORDER BY time DESC, interface, name",
    )
    if not any(isinstance(block, Table) and block.id.endswith("operation-times") for block in blocks):
        blocks += _metadata(source)
    blocks += _not_followed(source)
    blocks += _own_cost(source)
    blocks += _platform(source)
    blocks += source.table(
        "environment",
        "Environment",
        (Column("name", "Name"), Column("value", "Value")),
        "SELECT name, value FROM environment WHERE log = {log}",
    )
    return Section(f"{source.prefix}observation", "Coverage and overhead of iolens", blocks)


def _platform(source: Source) -> list[Table]:
    blocks = source.table(
        "platform",
        "What the job ran on",
        (Column("name", "Fact"), Column("value", "Value"), Column("nodes", "Nodes")),
        "SELECT name, CASE WHEN unit = 'byte' THEN format_bytes(number::BIGINT) "
        "WHEN unit = '%' THEN printf('%.6g %%', number) WHEN unit <> '' THEN printf('%.6g', number) "
        "ELSE value END AS value, "
        "CASE WHEN host = '' THEN 'all' ELSE host END AS nodes "
        "FROM platform WHERE log = {log} ORDER BY host, name LIMIT 200",
        note="Reported by one process of each node, from /proc, /sys and the scheduler's variables.",
    )
    return blocks + source.table(
        "mounted",
        "Mounted file systems",
        (
            Column("point", "Mounted at", "path"),
            Column("type", "Type"),
            Column("source", "From"),
            Column("options", "Options"),
            Column("nodes", "Nodes"),
        ),
        "SELECT point, type, source, options, CASE WHEN host = '' THEN 'all' ELSE host END AS nodes "
        "FROM mounted WHERE log = {log} ORDER BY host, point, source, type LIMIT 200",
    )


def _own_cost(source: Source) -> list[Block]:
    return [
        *source.table(
            "own-cost",
            "Overhead of iolens",
            (Column("name", "Step"), Column("time", "Time", "seconds")),
            "SELECT name, time FROM (SELECT 0 AS place, 'start in each process, on average' AS name, "
            "avg(start_cost) AS time "
            "FROM process WHERE log = {log} HAVING avg(start_cost) IS NOT NULL UNION ALL "
            "SELECT row_number() OVER (), 'writing the log: ' || name, time FROM phase WHERE log = {log}) "
            "ORDER BY place",
            note="What observing took. Darshan's logs do not have it.",
        )
    ]
