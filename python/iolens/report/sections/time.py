"""When: heat maps, timelines, first and last accesses, phases."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby

from iolens.log.modules import TRACES
from iolens.metrics.views import LISTS, OVER
from iolens.report.document import Block, Column, Heat, Note, Section, Span, Spans, Timeline
from iolens.report.pyramid import EXACT, ROWS, Trace, levels, per_row
from iolens.report.sections.traced import offsets
from iolens.report.source import INTERFACE_TITLES, Source
from iolens.report.units import counted, number_of, write

__all__ = ["time"]

HEAT_ROWS = 256
# An interface and what is below it, then those that stand alone.
_HEATS = dict.fromkeys([*(i for pair in OVER.items() for i in pair), *LISTS["data_interfaces"]])


def _row_names(source: Source, group: int) -> list[str]:
    """A row per rank, or per group of ranks; processes by their program where the log knows it."""
    if group == 1:
        programs = dict(
            source.ask(
                "SELECT rank, any_value(exe ORDER BY start, exe) FROM process "
                "WHERE log = {log} AND rank >= 0 GROUP BY rank"
            )
        )
        different = len({p for p in programs.values() if p}) > 1
        names = []
        for rank in range(source.ranks):
            program = str(programs.get(rank) or "").rsplit("/", 1)[-1] if different else ""
            names.append(f"{rank} {program}".strip())
        return names
    return [f"{first}–{min(first + group, source.ranks) - 1}" for first in range(0, source.ranks, group)]


def _row_titles(source: Source, group: int) -> list[str]:
    """As tooltips name the rows: "process 2 (python3 loader.py, pid 20306)"."""
    word = "rank" if source.parallel else "process"
    if group > 1:
        return [f"{number_of(group, word)} {name}" for name in _row_names(source, group)]
    known = {
        rank: f" ({command[:60]}, pid {pid})"
        for rank, command, pid in source.ask(
            "SELECT rank, any_value(coalesce(nullif(command, ''), exe) ORDER BY start, exe), min(pid) FROM process "
            "WHERE log = {log} AND rank >= 0 GROUP BY rank"
        )
        if command
    }
    return [f"{word} {rank}{known.get(rank, '')}" for rank in range(source.ranks)]


def _heats(source: Source) -> Iterator[Block]:
    rows = source.ask(
        'SELECT interface, any_value(source), max("end" - start), max(bin) FROM metric.heat '
        "WHERE log = {log} GROUP BY interface"
    )
    known = {interface: (origin, width, last) for interface, origin, width, last in rows}
    for interface in (i for i in _HEATS if i in known):
        yield _heat(source, interface, *known[interface])


def _heat(source: Source, interface: str, origin: str, width: float, last: int) -> Heat:
    # Bins without bytes have no row: the map goes on to the end of the job all the same.
    bins = max(last + 1, min(200, math.ceil(source.span / width - 1e-6)))
    end = bins * width
    group = per_row(source.ranks, HEAT_ROWS)
    cells = source.ask(f"""
        SELECT rank // {group} AS row, bin, sum(bytes_read)::BIGINT, sum(bytes_written)::BIGINT
        FROM metric.heat WHERE log = {{log}} AND interface = '{interface}' GROUP BY ALL ORDER BY ALL
    """)
    busiest = source.ask(f"""
        SELECT rank, sum(bytes_read + bytes_written) AS bytes FROM metric.heat
        WHERE log = {{log}} AND interface = '{interface}' GROUP BY rank ORDER BY bytes DESC, rank LIMIT 1
    """)
    note = f"{counted(bins, 'interval')} of {write(width, 'seconds')}"
    note += ", from the trace." if origin == "dxt" else "."
    if group > 1:
        note += f" {counted(group, 'rank')} in a row."
    if busiest and busiest[0][1] and source.ranks > 1:
        note += f" Most bytes: rank {busiest[0][0]}, {write(busiest[0][1], 'bytes')}."
    per = "per rank and time" if source.ranks > 1 else "over time"
    return Heat(
        id=f"{source.prefix}heat-{interface}",
        title=f"{INTERFACE_TITLES.get(interface, interface)}: bytes {per}",
        rows=-(-source.ranks // group),
        bins=bins,
        end=end,
        per_row=group,
        ranks=source.ranks,
        cells=cells,
        note=note,
        drawn=float(bins) if source.span < last * width else min(float(bins), source.span / width),
    )


def _threads(source: Source, table: str) -> list[tuple[int, int | None]]:
    """The rank and thread of each row, where the trace knows threads and a page has room for them; else none."""
    pairs = source.ask(
        f"SELECT DISTINCT rank, thread FROM {table} WHERE log = {{log}} AND rank >= 0 "
        f"ORDER BY rank, thread LIMIT {ROWS + 1}"
    )
    if len(pairs) > ROWS:
        return []
    of_rank = {
        rank: [thread for _, thread in mine] for rank, mine in groupby(pairs, key=lambda pair: pair[0])
    }
    rows = [(rank, thread) for rank in range(source.ranks) for thread in of_rank.get(rank, [None])]
    return rows if source.ranks < len(rows) <= ROWS else []


def _thread_names(source: Source, threads: list[tuple[int, int | None]]) -> list[str]:
    """Rank and, where it has several, number of the thread; the program behind them as for rows of ranks."""
    names, made = _row_names(source, 1), []
    for rank, mine in groupby(threads, key=lambda pair: pair[0]):
        number, _, program = names[rank].partition(" ")
        several = len(list(mine))
        made += (
            [f"{number}.{n} {program}".strip() for n in range(1, several + 1)]
            if several > 1
            else [names[rank]]
        )
    return made


def _rows_of(table: str, threads: list[tuple[int, int | None]]) -> tuple[str, str]:
    """In SQL: the row of an access, and the table that it is an access of."""
    if not threads:
        return "rank", table
    listed = ", ".join(
        f"({rank}, {'NULL' if thread is None else thread}, {row})"
        for row, (rank, thread) in enumerate(threads)
    )
    return "own.row", (
        f"{table} JOIN (VALUES {listed}) AS own(rank, thread, row) "
        f"ON {table}.rank = own.rank AND {table}.thread IS NOT DISTINCT FROM own.thread"
    )


def _traces(source: Source) -> Iterator[tuple[str, str, Trace, list[tuple[int, int | None]]]]:
    """What there is to draw over time: id, title, accesses, and the threads that have rows of their own."""
    lost = source.ask('SELECT count(*), max("end") FROM timeline WHERE log = {log}')[0]
    if lost[0]:
        threads = _threads(source, "timeline")
        row, rows = _rows_of("timeline", threads)
        kinds = " UNION ALL ".join(
            f'SELECT {row} AS rank, start, "end", {kind} AS kind, {name} / greatest("end" - start, 1e-12) AS weight, '
            f"NULL::BIGINT AS bytes, NULL::BIGINT AS place, NULL::UBIGINT AS id FROM {rows} "
            f"WHERE log = {source.log} AND {name} > 0"
            for kind, name in enumerate(("read", "write", "meta"))
        )
        count = source.ask(f"SELECT count(*) FROM ({kinds})")[0][0]
        whole = Trace(kinds, count, max(source.span, lost[1]), shared=True)
        yield "processes", "What each process did when", whole, threads
    for table in reversed([m.key for m in TRACES if m.key]):
        count, end = source.ask(f'SELECT count(*), max("end") FROM {table} WHERE log = {{log}}')[0]
        if count:
            threads = _threads(source, table)
            row, rows = _rows_of(table, threads)
            sql = (
                f"SELECT {row} AS rank, start, \"end\", CASE operation WHEN 'write' THEN 1 ELSE 0 END AS kind, "
                f'1.0 AS weight, length AS bytes, "offset" AS place, id FROM {rows} WHERE log = {source.log}'
            )
            whole = Trace(sql, count, max(source.span, end))
            yield table, f"{INTERFACE_TITLES[table]}: every access", whole, threads


def _names(source: Source, ids: list[int]) -> dict[int, str]:
    if not ids:
        return {}
    listed = ", ".join(str(number) for number in ids)
    return dict(source.ask(f"SELECT id, name FROM name_of WHERE log = {{log}} AND id IN ({listed})"))


def _timelines(source: Source) -> Iterator[Block]:
    for name, title, trace, threads in _traces(source):
        group = per_row(source.ranks)
        made = levels(source.data, trace, len(threads) or source.ranks, lambda ids: _names(source, ids))
        note = (
            f"{counted(trace.accesses, 'interval')} of I/O."
            if name == "processes"
            else f"{counted(trace.accesses, 'access')}."
        )
        if group > 1:
            note += f" {counted(group, 'rank')} in a row."
        if threads:
            note += " Rows are threads: 3.2 is the second one of rank 3."
        if trace.shared:
            finest = trace.end / made.levels[-1][0]
            note += f" Areas are parts of the time, in intervals of {write(finest, 'seconds')} or more."
        elif not made.complete:
            finest = trace.end / made.levels[-1][0]
            note += (
                f" More than {EXACT:,}: drawn as parts of the time, in intervals of {write(finest, 'seconds')} or "
                f"more; the {len(made.accesses):,} longest are drawn one by one. iolens trace lists all."
            )
        yield Timeline(
            id=f"{source.prefix}timeline-{name}",
            title=title,
            rows=_thread_names(source, threads) if threads else _row_names(source, group),
            end=trace.end,
            levels=made.levels,
            accesses=made.accesses,
            files=made.files,
            complete=made.complete,
            note=note,
            titles=_row_titles(source, group),
        )


def _spans(source: Source) -> Iterator[Block]:
    rows = source.metric("spans")
    for access in ("independent", "shared"):
        chosen = [row for row in rows if row["access"] == access and row["first"] is not None]
        if not chosen:
            continue
        ranks = sorted({row["rank"] for row in chosen})
        group = per_row(len(ranks), 64)
        place = {rank: n // group for n, rank in enumerate(ranks)}
        names = ["all ranks" if ranks[n] < 0 else f"rank {ranks[n]}" for n in range(0, len(ranks), group)]
        yield Spans(
            f"{source.prefix}spans-{access}",
            f"First to last access, {access} files",
            names,
            [
                Span(
                    place[row["rank"]],
                    row["first"],
                    row["last"],
                    row["direction"],
                    f"{names[place[row['rank']]]}, {row['direction']}: {write(row['first'], 'seconds')} to "
                    f"{write(row['last'], 'seconds')}",
                )
                for row in chosen
            ],
            0.0,
            max(source.span, *(row["last"] for row in chosen)),
            [("read", "Reading"), ("write", "Writing")],
            note="From the start of the first to the end of the last access; what lies between need not be I/O.",
            metric="spans",
        )


def _named(source: Source) -> Iterator[Block]:
    """Phases that the program has named, and what comes again and again."""
    yield from source.table(
        "named-phases",
        "Phases that the program has named",
        (
            Column("path", "Phase", "path"),
            Column("processes", "Processes", "count"),
            Column("count", "Times", "count"),
            Column("time", "Time, longest process", "seconds"),
            Column("io_time", "Time in I/O, all processes", "seconds"),
            Column("share", "Part of time in I/O", "percent"),
            Column("reads", "Reads", "count"),
            Column("writes", "Writes", "count"),
            Column("bytes_read", "Read", "bytes"),
            Column("bytes_written", "Written", "bytes"),
        ),
        "SELECT * REPLACE (CASE WHEN path = '' THEN 'outside of all phases' ELSE path END AS path) "
        "FROM metric.named_phases WHERE log = {log} ORDER BY share DESC NULLS LAST, path",
        note="Each without the phases within it, but for the time.",
        metric="named_phases",
    )
    for row in source.metric("period"):
        moved = write(row["bytes_read"] + row["bytes_written"], "bytes")
        what = f"The phase {row['source']}" if row["kind"] == "phase" else f"A burst of {row['source']}"
        yield Note(
            "info",
            f"{what} comes every {write(row['period'], 'seconds')}, ±{100 * row['spread']:.0f} % "
            f"({counted(row['times'], 'time')}, {moved} each).",
        )


def time(source: Source) -> Section:
    blocks: list[Block] = [
        *_heats(source),
        *_timelines(source),
        *offsets(source),
        *_spans(source),
        *_named(source),
    ]
    if source.interfaces and not any(isinstance(b, (Heat, Timeline)) for b in blocks):
        blocks.append(
            Note(
                "missing",
                "The log has neither heat maps nor a trace: when ranks did I/O is known by first and last access only.",
            )
        )
    blocks += source.table(
        "phases",
        "Phases of I/O",
        (
            Column("phase", "Phase", "number"),
            Column("kind", "Kind"),
            Column("start", "From", "seconds"),
            Column("end", "To", "seconds"),
            Column("bytes_read", "Read", "bytes"),
            Column("bytes_written", "Written", "bytes"),
            Column("busy_ranks", "Busy ranks", "count"),
        ),
        "SELECT * FROM metric.phases WHERE log = {log} ORDER BY start",
        metric="phases",
    )
    return Section(f"{source.prefix}time", "Over time", blocks)
