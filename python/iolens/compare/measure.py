"""What is compared between runs: measures of the whole log, and the part that each role of files plays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from iolens.compare.roles import Substitution, role_sql
from iolens.metrics import Dataset

__all__ = ["MEASURES", "FileRole", "Measure", "measure_logs", "measure_roles"]


@dataclass(frozen=True)
class Measure:
    """A number per log. direction: "lower" or "higher" is better, empty if neither is."""

    name: str
    unit: str
    direction: str
    title: str
    per: str = ""
    """Of a rate: the measure whose seconds it is per."""


MEASURES = (
    Measure("run_time", "s", "lower", "run time"),
    Measure("io_time", "s", "lower", "time in I/O"),
    Measure("read_time", "s", "lower", "of it reading"),
    Measure("write_time", "s", "lower", "of it writing"),
    Measure("meta_time", "s", "lower", "of it metadata"),
    Measure("loader_wait", "s", "lower", "training loop waits for data"),
    Measure("checkpoint_time", "s", "lower", "training loop writes checkpoints"),
    Measure("bytes_read", "bytes", "", "bytes read"),
    Measure("bytes_written", "bytes", "", "bytes written"),
    Measure("moved", "bytes", "", "bytes moved, lowest layer"),
    Measure("bandwidth", "bytes/s", "higher", "bandwidth of I/O", per="io_time"),
    Measure("redundant", "bytes", "lower", "bytes read more than once"),
    Measure("reads", "calls", "lower", "read calls"),
    Measure("writes", "calls", "lower", "write calls"),
    Measure("opens", "calls", "lower", "opens"),
    Measure("syncs", "calls", "lower", "syncs and flushes"),
    Measure("meta_ops", "calls", "lower", "seeks, stats, renames"),
    Measure("files", "files", "", "files"),
    Measure("nprocs", "processes", "", "processes"),
)

# Times and bytes are the job's as everywhere (headline); calls and files are those of the lowest layers, which the
# system gets: collective buffering and data sieving show in them. Of several training loops, the longest counts.
_LOGS = """
    WITH sums AS (
        SELECT log, sum(bytes_read + bytes_written) AS moved,
            sum(reads) AS reads, sum(writes) AS writes, sum(opens) AS opens, sum(syncs) AS syncs,
            sum(meta_ops) AS meta_ops, count(DISTINCT id) AS files
        FROM lowest_file GROUP BY log
    ), wait AS (
        SELECT log, max(wait) AS loader_wait FROM metric.loader_waits GROUP BY log
    ), checkpoint AS (
        SELECT log, max(time) AS checkpoint_time FROM metric.checkpoints GROUP BY log
    )
    SELECT log, run_time, nprocs, coalesce(io_time, 0) AS io_time, coalesce(read_time, 0) AS read_time,
        coalesce(write_time, 0) AS write_time, coalesce(meta_time, 0) AS meta_time, loader_wait,
        CASE WHEN loader_wait IS NOT NULL THEN coalesce(checkpoint_time, 0) END AS checkpoint_time, bytes_read,
        bytes_written, coalesce(moved, 0) AS moved, (bytes_read + bytes_written) / nullif(io_time, 0) AS bandwidth,
        redundant.value AS redundant, coalesce(reads, 0) AS reads, coalesce(writes, 0) AS writes,
        coalesce(opens, 0) AS opens, coalesce(syncs, 0) AS syncs, coalesce(meta_ops, 0) AS meta_ops,
        coalesce(sums.files, 0) AS files
    FROM metric.headline LEFT JOIN sums USING (log) LEFT JOIN wait USING (log) LEFT JOIN checkpoint USING (log)
    LEFT JOIN metric.redundant_reads AS redundant USING (log)
    ORDER BY log
"""


def measure_logs(data: Dataset) -> list[dict[str, float | None]]:
    """The measures of each log, in order; None where a log does not tell."""
    return [{m.name: row[m.name] for m in MEASURES} for row in data.rows(_LOGS)]


@dataclass(frozen=True)
class FileRole:
    """What the files of one role did in one log, all processes together, at the lowest layer that was seen."""

    files: int
    size: int
    """Bytes of the largest extent that was touched, summed over the files."""
    bytes: int
    """Read and written."""
    time: float
    """Seconds in calls, summed over processes and their threads."""
    operations: int
    seeks: int

    def __add__(self, other: FileRole) -> FileRole:
        return FileRole(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


# What `iolens run --ranges` has every Python read: two files of one directory, and their byte code.
_OURS = "^(.*?/)(?:__pycache__/)?(?:sitecustomize|_iolens_torch)[.]"


def measure_roles(data: Dataset, substitutions: Sequence[Substitution] = ()) -> list[dict[str, FileRole]]:
    """For each log: role -> what its files did."""
    found: list[dict[str, FileRole]] = [{} for _ in data.logs]
    rows = data.rows(f"""
        WITH seek AS (
            SELECT log, id, 'posix' AS interface, sum(seeks) AS seeks FROM posix GROUP BY ALL
            UNION ALL SELECT log, id, 'stdio', sum(seeks) FROM stdio GROUP BY ALL
        ), part AS (
            SELECT log, id, bytes_read + bytes_written AS bytes, total_time AS time,
                coalesce(opens, 0) + coalesce(reads, 0) + coalesce(writes, 0) + coalesce(syncs, 0)
                    + coalesce(meta_ops, 0) AS operations,
                greatest(0, coalesce(max_offset_read + 1, 0) * (bytes_read > 0)::INT,
                    coalesce(max_offset_written + 1, 0) * (bytes_written > 0)::INT) AS size,
                coalesce(seeks, 0) AS seeks
            FROM lowest_file LEFT JOIN seek USING (log, id, interface)
        ), one AS (
            SELECT log, id, coalesce(any_value(name), '<unnamed ' || id || '>') AS name, max(size) AS size,
                sum(bytes) AS bytes, sum(time) AS time, sum(operations) AS operations, sum(seeks) AS seeks
            FROM part LEFT JOIN name_of USING (log, id) GROUP BY log, id
        ), placed AS (
            SELECT *, regexp_extract(name, '{_OURS}', 1) AS place, contains(name, '/_iolens_torch.') AS ours FROM one
        )
        SELECT log, {role_sql("name", substitutions)} AS role, count(*) AS files, sum(size)::BIGINT AS size,
            sum(bytes)::BIGINT AS bytes, sum(time) AS time, sum(operations)::BIGINT AS operations,
            sum(seeks)::BIGINT AS seeks
        FROM placed WHERE place = '' OR (log, place) NOT IN (SELECT (log, place) FROM placed WHERE ours)
        GROUP BY ALL ORDER BY log, time DESC, role
    """)
    for row in rows:
        found[row["log"]][row["role"]] = FileRole(**{f.name: row[f.name] for f in fields(FileRole)})
    return found
