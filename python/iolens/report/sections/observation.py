"""What the log does not know, and what knowing cost."""

from __future__ import annotations

from typing import Any

from iolens.report.document import Block, Column, Note, Section
from iolens.report.source import Source
from iolens.report.units import write

__all__ = ["limits", "observation"]


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _partial(source: Source) -> list[str]:
    rows = source.ask("SELECT darshan FROM module WHERE log = {log} AND partial <> 0 ORDER BY id")
    names = ", ".join(str(row[0]) for row in rows)
    if not names:
        return []
    return [
        f"Partial: {names}. The memory for records was full; files first used after that are not in the log, "
        "so totals are lower bounds and interfaces may disagree."
    ]


def _folded(source: Source) -> list[str]:
    opens, surplus = source.ask("SELECT sum(opens), max(sufficient_budget) FROM folded WHERE log = {log}")[0]
    if not opens:
        return []
    text = (
        f"Folded: {_counted(opens, 'open')} of files that found no room for a record of their own are "
        "counted together; totals are exact."
    )
    return [text + (f" MODMEM={surplus} would hold all." if surplus else "")]


def _unseen(source: Source) -> list[str]:
    read, written = source.ask("SELECT sum(unseen_read), sum(unseen_written) FROM process WHERE log = {log}")[
        0
    ]
    if not read and not written:
        return []
    return [
        f"Unseen: the kernel counted {write(read or 0, 'bytes')} read and {write(written or 0, 'bytes')} "
        "written beyond "
        "what was observed (loader, read-ahead, raw system calls, static programs)."
    ]


def _shape(source: Source) -> list[str]:
    texts = []
    if source.job["run_time"] is None:
        texts.append(
            "The run time is not known (start and end are the same second, or the end is missing): shares of "
            "it cannot be given."
        )
    own = source.ask("SELECT count(*), count(*) FILTER (mpi <> '') FROM process WHERE log = {log}")[0]
    parallel = own[1] > 0 if own[0] else (source.job["nprocs"] or 1) > 1
    if "mpiio" not in source.interfaces and parallel:
        texts.append("No MPI-IO records: the job used none, or it was not observed.")
    only = source.ask(
        "SELECT count(*) FILTER (module NOT LIKE 'dxt%'), count(*) FROM module WHERE log = {log}"
    )[0]
    if only[1] and not only[0]:
        texts.append("The log holds traces only, no counters: what is counted from records is missing.")
    if str(source.job["exe"] or "").split(" ")[0].isdigit():
        texts.append("The log is anonymized: names are numbers, directories and kinds of files say nothing.")
    ends = source.ask("SELECT count(*) FROM process WHERE log = {log} AND ended NOT IN ('exit', 'exec', '')")[
        0
    ][0]
    if ends:
        texts.append(
            f"{_counted(ends, 'process')[:-1] + 'es' if ends > 1 else '1 process'} did not end by exit; see "
            "the process tree."
        )
    return texts


def limits(source: Source, problems: list[str]) -> list[Note]:
    """What must be known before anything else is believed."""
    known = [Note("warning", text) for text in _partial(source)]
    known += [Note("warning", f"Damaged: {text}") for text in problems]
    known += [Note("missing", text) for text in (*_folded(source), *_unseen(source), *_shape(source))]
    seen = {note.text for note in known}
    for row in source.metric("missing"):
        text = _sentence(row)
        if text and text not in seen:
            known.append(Note("missing", text))
    return known


def _sentence(row: dict[str, Any]) -> str:
    parts = [str(row[key]) for key in ("what", "meaning") if row.get(key)]
    return ": ".join(parts)


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
        "ORDER BY 3 DESC",
    )
    blocks += source.table(
        "folded",
        "Files counted together, by directory",
        (
            Column("directory", "Directory", "path"),
            Column("opens", "Opens", "count"),
            Column("surplus", "Files without a record", "count"),
        ),
        "SELECT directory, sum(opens)::BIGINT AS opens, sum(surplus)::BIGINT AS surplus FROM folded_directory "
        "WHERE log = {log} GROUP BY directory ORDER BY opens DESC",
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
        "FROM excluded WHERE log = {log} GROUP BY description ORDER BY 5 + 6 DESC",
        note="Pipes, sockets, devices and files that were told to be left out have no records, but are counted.",
    )
    blocks += source.table(
        "operation-times",
        "Time by operation",
        (
            Column("interface", "Interface"),
            Column("name", "Operation"),
            Column("count", "Calls", "count"),
            Column("errors", "of these failed", "count"),
            Column("bytes", "Bytes", "bytes"),
            Column("time", "Time, all processes", "seconds"),
            Column("mean", "per call", "seconds"),
        ),
        "SELECT interface, name, sum(count)::BIGINT AS count, sum(errors)::BIGINT AS errors, "
        "sum(bytes)::BIGINT AS bytes, "
        "sum(time) AS time, sum(time) / nullif(sum(count), 0) AS mean FROM operation WHERE log = {log} "
        "GROUP BY interface, name ORDER BY time DESC",
    )
    blocks += _not_followed(source)
    blocks += _own_cost(source)
    blocks += source.table(
        "environment",
        "Environment",
        (Column("name", "Name"), Column("value", "Value")),
        "SELECT name, value FROM environment WHERE log = {log}",
    )
    return Section(f"{source.prefix}observation", "What was observed, and what it cost", blocks)


def _own_cost(source: Source) -> list[Block]:
    return [
        *source.table(
            "own-cost",
            "Own cost",
            (Column("name", "Step"), Column("time", "Time", "seconds")),
            "SELECT name, time FROM (SELECT 0 AS place, 'start in each process, on average' AS name, "
            "avg(start_cost) AS time "
            "FROM process WHERE log = {log} HAVING avg(start_cost) IS NOT NULL UNION ALL "
            "SELECT 1, 'writing the log: ' || name, time FROM phase WHERE log = {log}) ORDER BY place",
            note="What observing took. Of logs of Darshan it is not known.",
        )
    ]
