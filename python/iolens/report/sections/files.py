"""Which files: every file, directories, kinds of files, file systems, shared files, what was read again, layers."""

from __future__ import annotations

from typing import Any

from iolens.metrics.views import LIBRARY_OF, TITLES
from iolens.report.document import Bars, Block, Column, Flame, Section, Series, Table, Tile, Treemap
from iolens.report.flame import read_stacks
from iolens.report.source import ALIKE, INTERFACE_SQL, PATTERN_SQL, Source
from iolens.report.units import counted, write

__all__ = ["files"]

FILES_CAP = 5000

_OPENED = Column("opened_by", "Opened by", "path", "function, source line and library of the call")
_READ, _WRITTEN = Column("bytes_read", "Read", "bytes"), Column("bytes_written", "Written", "bytes")


def _tells_sites(source: Source) -> bool:
    return bool(source.ask("SELECT 1 FROM sites WHERE log = {log} AND module <> '' LIMIT 1"))


def _all(source: Source) -> list[Table]:
    sites = _tells_sites(source)
    chosen = ", opened_by" if sites else ""
    opened = (
        "LEFT JOIN (SELECT log, interface AS of, id, string_agg(DISTINCT place, ', ' ORDER BY place) AS opened_by "
        "FROM call_site WHERE module <> '' GROUP BY ALL) AS s ON s.log = f.log AND s.of = f.interface AND s.id = f.id"
    )
    return source.table(
        "file-table",
        "Every file",
        (
            Column("name", "File", "path"),
            Column("interface", "Interface"),
            Column("ranks", "Processes", "count"),
            _READ,
            _WRITTEN,
            Column(
                "total_time",
                "Time, all processes",
                "seconds",
                "reading, writing and metadata, added over processes",
            ),
            Column("read_time", "Time reading", "seconds"),
            Column("write_time", "Time writing", "seconds"),
            Column("meta_time", "Time in metadata", "seconds"),
            Column("opens", "Opens", "count"),
            Column("reads", "Reads", "count"),
            Column("writes", "Writes", "count"),
            Column(
                "syncs", "Syncs", "count", "fsync, fdatasync and flushes: what a directory's time is, too"
            ),
            Column("size", "Size", "bytes", "up to the highest offset read or written"),
            Column("file_system", "File system"),
            *([_OPENED] if sites else []),
        ),
        f"""
        SELECT * REPLACE ({INTERFACE_SQL} AS interface),
            nullif(1 + greatest(max_offset_read, max_offset_written), 1) AS size
        FROM (
            SELECT f.*, coalesce(w.shown, n.name, '<unnamed ' || f.id || '>') AS name, n.file_system{chosen}
            FROM (SELECT * FROM file_of WHERE log = {{log}} ORDER BY total_time DESC, id, interface {{limit}}) AS f
            LEFT JOIN name AS n ON n.log = f.log AND n.id = f.id
            LEFT JOIN written_as AS w ON w.log = f.log AND w.id = f.id {opened if sites else ""}
        ) ORDER BY total_time DESC, name, id, interface
        """,
        cap=FILES_CAP,
    )


def _alike(source: Source) -> list[Table]:
    """Files of a directory whose names differ in digits alone."""
    return source.table(
        "alike-files",
        "Files alike",
        (
            Column("pattern", "Files", "path", "* stands for a number"),
            Column("files", "Number", "count"),
            Column("mean_size", "Average size", "bytes", "up to the highest offset read or written"),
            _READ,
            _WRITTEN,
            Column("time", "Time, all processes", "seconds"),
            Column("opens", "Opens", "count"),
            Column("interface", "Interface"),
        ),
        f"""
        SELECT pattern, {INTERFACE_SQL} AS interface, count(*) AS files, avg(size) AS mean_size,
            sum(bytes_read)::BIGINT AS bytes_read, sum(bytes_written)::BIGINT AS bytes_written,
            sum(total_time) AS time, sum(opens)::BIGINT AS opens
        FROM (
            SELECT *, {PATTERN_SQL} AS pattern FROM (
                SELECT f.*, coalesce(w.shown, n.name) AS name,
                    nullif(1 + greatest(max_offset_read, max_offset_written), 1) AS size
                FROM file_of AS f JOIN name AS n ON n.log = f.log AND n.id = f.id
                LEFT JOIN written_as AS w ON w.log = f.log AND w.id = f.id WHERE f.log = {{log}}
            )
        ) GROUP BY pattern, interface HAVING count(*) >= {ALIKE} ORDER BY time DESC, pattern, interface
        """,
        note="Files of a directory whose names differ in digits alone; each of them is in the next table.",
    )


def _lines(source: Source) -> list[Table]:
    return source.table(
        "lines",
        "Which lines do the I/O",
        (
            Column("place", "Line", "path", "of Python code; of other code the line that opened the file"),
            Column("files", "Files", "count"),
            Column("calls", "Calls", "count", "reads, writes, opens, seeks, stats and renames"),
            _READ,
            _WRITTEN,
            Column("time", "Time", "seconds", "of all processes"),
        ),
        """
        SELECT place, count(DISTINCT id) AS files, sum(calls)::BIGINT AS calls,
            coalesce(sum(bytes) FILTER (kind = 'read'), 0)::BIGINT AS bytes_read,
            coalesce(sum(bytes) FILTER (kind = 'write'), 0)::BIGINT AS bytes_written, sum(time) AS time
        FROM line WHERE log = {log} GROUP BY place, source ORDER BY time DESC, place, source
        """,
        note="Calls that took no clock have the lines of those that did; all lines together have every call.",
    )


def _tells_lines(source: Source) -> bool:
    return bool(source.ask("SELECT 1 FROM lines WHERE log = {log} LIMIT 1"))


def _flame(source: Source) -> list[Block]:
    """None where it would be one bar: nothing is known, or one place opened all files."""
    stacks = read_stacks(source.data, "seconds", source.log)
    lines = _tells_lines(source)
    if len({frames[0] for frames, _ in stacks}) < (1 if lines else 2):
        return []
    below = (
        "lines of Python code, each on the line that called it" if lines else "the place that opened the file"
    )
    note = f"As wide as the seconds of all processes: {below}; on top what was called."
    return [Flame(f"{source.prefix}flame", "Flame graph of the I/O", stacks, note, folded=not lines)]


def _sites(source: Source) -> list[Table]:
    if _tells_lines(source):
        return _lines(source)
    if not _tells_sites(source):
        return []
    return source.table(
        "call-sites",
        "Where files are opened",
        (
            _OPENED,
            Column("files", "Files", "count"),
            _READ,
            _WRITTEN,
            Column("time", "Time", "seconds", "of all processes in these files"),
            Column("example", "File with most time", "path"),
        ),
        "SELECT *, place AS opened_by FROM metric.call_sites WHERE log = {log} ORDER BY time DESC, place, "
        "module, source, line, function, note",
        note="The function that opened a file first, not what called that. Functions and lines where the program's "
        "files are on the machine that made this page.",
        metric="call_sites",
    )


def _grouped(source: Source) -> list[Block]:
    measures = (
        Column("files", "Files", "count"),
        _READ,
        _WRITTEN,
        Column("read_time", "Time reading", "seconds"),
        Column("write_time", "Time writing", "seconds"),
        Column("meta_time", "Time in metadata", "seconds"),
    )
    blocks: list[Block] = []
    for name, title, key, heading, unit in (
        ("directories", "Directories", "directory", "Directory", "path"),
        ("extensions", "Kinds of files, by extension", "extension", "Extension", "text"),
    ):
        blocks += source.table(
            name,
            title,
            (Column(key, heading, unit), *measures),
            f"SELECT * FROM metric.{name} WHERE log = {{log}} "
            f"ORDER BY read_time + write_time + meta_time DESC, bytes_read + bytes_written DESC, {key}",
            metric=name,
        )
    return blocks


TILES = 30
ONE = 0.99
"""A directory with more of the time than this leaves nothing to draw."""


def _tile(row: tuple[Any, ...]) -> Tile:
    name, files, read, write_time, meta, total = row
    kinds = {"read": read or 0, "write": write_time or 0, "meta": meta or 0}
    words = ", ".join(
        f"{word} {write(kinds[kind], 'seconds')}"
        for kind, word in (("read", "reading"), ("write", "writing"), ("meta", "metadata"))
        if kinds[kind]
    )
    return Tile(
        str(name), total, max(kinds, key=lambda kind: kinds[kind]), f"{counted(files, 'file')}, {words}"
    )


def _treemap(source: Source) -> list[Block]:
    """Time by directory; the directories beyond the first as one."""
    rows = source.ask(f"""
        WITH listed AS (
            SELECT *, row_number() OVER (ORDER BY time DESC, directory) AS place FROM metric.directories
            WHERE log = {{log}} AND time > 0
        )
        SELECT CASE WHEN place <= {TILES} THEN coalesce(any_value(directory), 'in no directory')
            ELSE count(*) || ' other directories' END,
            sum(files)::BIGINT, sum(read_time), sum(write_time), sum(meta_time), sum(time)
        FROM listed GROUP BY least(place, {TILES + 1}), place <= {TILES} ORDER BY 6 DESC, 1
    """)
    if len(rows) < 2 or rows[0][5] > ONE * sum(row[5] for row in rows):
        return []
    return [
        Treemap(
            f"{source.prefix}treemap",
            "Time by directory",
            [_tile(row) for row in rows],
            "seconds",
            [("read", "mostly reading"), ("write", "mostly writing"), ("meta", "mostly metadata")],
            note="Areas are seconds of all processes in files directly in the directory.",
            metric="directories",
        )
    ]


def _file_systems(source: Source) -> list[Block]:
    return [
        *source.table(
            "file-systems",
            "File systems",
            (
                Column("mount", "Mount point", "path"),
                Column("file_system", "Type"),
                Column("files", "Files", "count"),
                _READ,
                Column("read_ratio", "of all read", "percent"),
                _WRITTEN,
                Column("write_ratio", "of all written", "percent"),
                Column("time", "Time", "seconds"),
            ),
            "SELECT *, bytes_read / nullif(sum(bytes_read) OVER (), 0) AS read_ratio, "
            "bytes_written / nullif(sum(bytes_written) OVER (), 0) AS write_ratio "
            "FROM metric.file_systems WHERE log = {log} "
            "ORDER BY bytes_read + bytes_written DESC, mount, file_system, class",
            note="POSIX and STDIO.",
            metric="file_systems",
        )
    ]


def _categories(source: Source) -> list[Block]:
    rows = sorted(
        source.metric("path_categories"), key=lambda row: -(row["bytes_read"] + row["bytes_written"])
    )[:8]
    if not rows:
        return []
    names = [str(row["category"]) for row in rows]
    blocks: list[Block] = []
    for name, title, unit, keys in (
        ("category-bytes", "Data by first part of the path", "bytes", ("bytes_read", "bytes_written")),
        ("category-files", "Files by first part of the path", "count", ("files_read", "files_written")),
    ):
        series = [
            Series(kind, heading, [row[key] for row in rows])
            for kind, heading, key in zip(("read", "write"), ("Read", "Written"), keys)
        ]
        blocks.append(
            Bars(
                f"{source.prefix}{name}",
                title,
                names,
                series,
                unit,
                note="POSIX and STDIO; the eight with most bytes.",
                metric="path_categories",
                axis="files" if unit == "count" else "",
            )
        )
    return blocks


def _shared(source: Source) -> list[Block]:
    return [
        *source.table(
            "shared-files",
            "Shared files, slowest first",
            (
                Column("name", "File", "path"),
                Column("interface", "Interface"),
                Column("ranks", "Processes", "count"),
                Column("fastest_rank", "Fastest: rank", "number"),
                Column("fastest_time", "Fastest: time", "seconds"),
                Column("fastest_bytes", "Fastest: bytes", "bytes"),
                Column("slowest_rank", "Slowest: rank", "number"),
                Column("slowest_time", "Slowest: time", "seconds"),
                Column("slowest_bytes", "Slowest: bytes", "bytes"),
                Column("sd_time", "σ of time", "seconds"),
                Column("sd_bytes", "σ of bytes", "bytes"),
            ),
            f"SELECT * REPLACE ({INTERFACE_SQL} AS interface) FROM metric.shared_files WHERE log = {{log}} "
            "ORDER BY slowest_time DESC, name, interface",
            note="σ: standard deviation over the file's processes.",
            metric="shared_files",
        ),
        *source.table(
            "imbalance",
            "How unevenly ranks share files",
            (
                Column("name", "File", "path"),
                Column("interface", "Interface"),
                Column("ranks", "Processes", "count"),
                Column("mean_time", "Average time", "seconds"),
                Column("slowest_rank", "Slowest rank", "number"),
                Column("slowest_time", "Slowest rank's time", "seconds"),
                Column(
                    "time_imbalance",
                    "Slowest to fastest (time)",
                    "percent",
                    "(slowest - fastest) / slowest, of time",
                ),
                Column("bytes_imbalance", "Slowest to fastest (bytes)", "percent"),
                Column("time_lost", "Lost if all wait", "seconds"),
            ),
            f"SELECT * REPLACE ({INTERFACE_SQL} AS interface) FROM metric.imbalance WHERE log = {{log}} "
            "ORDER BY time_lost DESC NULLS LAST, name, interface",
            metric="imbalance",
        ),
    ]


def _again(source: Source) -> list[Block]:
    return [
        *source.table(
            "read-again",
            "Files read more than once over",
            (
                Column("name", "File", "path"),
                Column("size", "Size", "bytes"),
                Column("bytes_read", "Read", "bytes"),
                Column("factor", "Times over", "factor"),
                Column("excess", "Read again", "bytes"),
                Column("ranks", "Processes", "count"),
                Column("time", "Time reading", "seconds"),
            ),
            "SELECT * FROM metric.redundant_files WHERE log = {log} ORDER BY excess DESC, name",
            metric="redundant_files",
        ),
    ]


def _datasets(source: Source) -> list[Block]:
    return [
        *source.table(
            "datasets",
            "Datasets and variables",
            (
                Column("name", "Dataset", "path"),
                Column("file", "File", "path"),
                Column("interface", "Interface"),
                _READ,
                _WRITTEN,
                Column("reads", "Reads", "count"),
                Column("writes", "Writes", "count"),
                Column("read_time", "Time reading", "seconds"),
                Column("write_time", "Time writing", "seconds"),
                Column("meta_time", "Time in metadata", "seconds"),
                Column("collective", "Collective", "percent"),
            ),
            f"SELECT * REPLACE ({INTERFACE_SQL} AS interface) FROM metric.datasets WHERE log = {{log}} "
            "ORDER BY read_time + write_time + meta_time DESC, file, interface, name",
            metric="datasets",
        )
    ]


# From the libraries of data formats down to the operating system.
_STACK = {name: TITLES[name] for name in (*dict.fromkeys(LIBRARY_OF.values()), "mpiio", "posix")}


def _layers(source: Source) -> list[Block]:
    return [
        *source.table(
            "layers",
            "From layer to layer",
            (
                Column("name", "File", "path"),
                *(
                    Column(f"{layer}_{what}", f"{title}: {what}", unit)
                    for layer, title in _STACK.items()
                    for what, unit in (("bytes", "bytes"), ("ops", "count"), ("time", "seconds"))
                ),
                Column("amplification", "Bytes, POSIX / top", "factor"),
                Column("operations_ratio", "Operations, POSIX / top", "factor"),
                Column("posix_ranks", "Ranks doing POSIX", "count"),
                Column("outside_posix", "MPI-IO time not in POSIX", "percent"),
            ),
            "SELECT * FROM metric.layers WHERE log = {log} ORDER BY mpiio_time DESC NULLS LAST, name",
            note="If a lower layer moves more bytes, the extra is wasted.",
            metric="layers",
            without_empty=True,
        )
    ]


def files(source: Source) -> Section:
    blocks: list[Block] = [
        *_treemap(source),
        *_flame(source),
        *_alike(source),
        *_all(source),
        *_sites(source),
        *_shared(source),
        *_again(source),
        *_grouped(source),
        *_file_systems(source),
    ]
    blocks += _categories(source) + _datasets(source) + _layers(source)
    return Section(f"{source.prefix}files", "Files", blocks)
