"""Logs as a small database: every table and view that metrics, rules and reports ask."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, Union

import duckdb

from iolens.error import USAGE, IolensError
from iolens.log import open as open_log
from iolens.log.table import Table
from iolens.metrics.metric import Metric, find_metric
from iolens.metrics.sections import SECTIONS
from iolens.metrics.views import INTERFACES, record_select

__all__ = ["LARGE_BYTES", "MODULES", "Dataset"]

AnyPath = Union[str, "os.PathLike[str]"]

MODULES = (*INTERFACES, "lustre", "heatmap", "dxt_posix", "dxt_mpiio", "apmpi", "apxc", "bgq", "mdhim")
"""Modules that are a table each, empty if no log has data of them."""

LARGE_BYTES = 32 << 20
"""Logs with more than this many stored bytes of records are kept in a file, not in memory."""

# Rows in memory at a time while a large log is read.
_LARGE_BATCH = 32768

_VIEWS = (
    # A name's place in the tree, and the file system it lies on: the longest mount point that is a whole prefix.
    """
    CREATE TABLE directory AS
    SELECT log, directory,
        arg_max(mount.mount, length(mount.mount)) AS mount,
        arg_max(mount.file_system, length(mount.mount)) AS file_system
    FROM (
        SELECT DISTINCT log, regexp_extract(name, '^(.*/)[^/]*$', 1) AS directory
        FROM name_of WHERE name LIKE '/%'
    ) LEFT JOIN mount USING (log)
    WHERE mount.mount IS NULL OR starts_with(directory, rtrim(mount.mount, '/') || '/')
    GROUP BY ALL
    """,
    """
    CREATE VIEW name AS
    SELECT n.log, n.id, n.name, d.mount, d.file_system,
        CASE WHEN n.name LIKE '/%' THEN coalesce(nullif(rtrim(d.directory, '/'), ''), '/') END AS directory,
        lower(regexp_extract(n.name, '[^/.][^/]*\\.([A-Za-z][A-Za-z0-9]{0,7})$', 1)) AS extension
    FROM name_of AS n LEFT JOIN directory AS d
    ON d.log = n.log AND d.directory = regexp_extract(n.name, '^(.*/)[^/]*$', 1)
    """,
    # One row per log, interface and object: its records of all ranks together.
    """
    CREATE TABLE file_of AS
    SELECT log, interface, id,
        CASE WHEN bool_or(rank < 0) THEN any_value(job.nprocs) ELSE count(DISTINCT rank) END AS ranks,
        bool_or(rank < 0) AS all_ranks,
        bool_or(rank < 0) OR count(DISTINCT rank) > 1 AS shared,
        sum(opens)::BIGINT AS opens, sum(reads)::BIGINT AS reads, sum(writes)::BIGINT AS writes,
        sum(syncs)::BIGINT AS syncs, sum(meta_ops)::BIGINT AS meta_ops,
        coalesce(sum(bytes_read), 0)::BIGINT AS bytes_read, coalesce(sum(bytes_written), 0)::BIGINT AS bytes_written,
        coalesce(sum(read_time), 0) AS read_time, coalesce(sum(write_time), 0) AS write_time,
        coalesce(sum(meta_time), 0) AS meta_time,
        coalesce(sum(read_time), 0) + coalesce(sum(write_time), 0) + coalesce(sum(meta_time), 0) AS total_time,
        max(io_time) AS slowest_time,
        max(max_offset_read) AS max_offset_read, max(max_offset_written) AS max_offset_written,
        min(nullif(open_start, 0)) AS open_start,
        min(nullif(read_start, 0)) AS read_start, min(nullif(write_start, 0)) AS write_start,
        max(nullif(read_end, 0)) AS read_end, max(nullif(write_end, 0)) AS write_end,
        max(nullif(close_end, 0)) AS close_end
    FROM record JOIN job USING (log)
    GROUP BY log, interface, id
    """,
    """
    CREATE VIEW file AS
    SELECT f.*, coalesce(n.name, '<unnamed ' || f.id || '>') AS name, n.mount, n.file_system, n.directory, n.extension
    FROM file_of AS f LEFT JOIN name AS n USING (log, id)
    """,
)


class Dataset:
    """One or more logs, opened for questions in SQL (DuckDB's dialect).

    Tables, each with a column ``log`` (number of the log in ``paths``):

    * ``job``: path, uid, job_id, nprocs, start, end, run_time (seconds, null if unknown), exe, format, partial
    * ``module``, ``mount``, ``metadata``, ``name`` (id, name, mount, file_system, directory, extension)
    * one per module of ``MODULES``: ``posix``, ``mpiio``, ..., as ``log["posix"]``
    * one per section of the extension trailer: ``process``, ``total``, ``operation``, ...
    * ``record``: all interfaces' records with columns named by role; ``io_time`` is what Darshan's tools take as a
      record's time: the slowest rank's for a shared record, else read + write + metadata time
    * ``file``: ``record`` merged per log, interface and object, with its name
    * ``metric.X``: the result of metric X (see ``metrics()``)

    Memory stays bounded: large logs are kept in a temporary file. Raises IolensError for a file that is no log.
    """

    def __init__(self, paths: AnyPath | Iterable[AnyPath], *, memory: str = "600MB") -> None:
        listed = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        if not listed:
            raise IolensError("no log given", exit_code=USAGE)
        self.paths = tuple(os.fspath(p) for p in listed)
        self.logs = tuple(open_log(p) for p in self.paths)
        """The open logs."""
        self.problems: list[IolensError] = []
        """Damage met while reading: what came before it is in the tables."""
        stored = sum(m.stored for log in self.logs for m in log.modules.values())
        self.large = stored > LARGE_BYTES
        self._folder = tempfile.mkdtemp(prefix="iolens-") if self.large else None
        config: dict[str, str | bool | int | float | list[str]] = {"memory_limit": memory}
        if self._folder:
            config["temp_directory"] = f"{self._folder}/spill"
        self._connection = duckdb.connect(
            f"{self._folder}/logs.duckdb" if self._folder else ":memory:", config=config
        )
        self._made: set[str] = set()
        self._lazy = {"lustre", "heatmap", "dxt_posix", "dxt_mpiio", "apmpi", "apxc", "bgq", "mdhim"}
        self._load()

    # ---- loading ----

    def _source(self, name: str, section: bool = False) -> list[tuple[int, Table]]:
        """The tables of the logs that have one, with the logs' numbers."""
        found = []
        for number, log in enumerate(self.logs):
            if section and name in log.trailer:
                found.append((number, log.trailer[name]))
            elif not section and (name in log or name in ("job", "mounts", "metadata", "modules", "names")):
                table = log.table(name, batch_rows=_LARGE_BATCH) if self.large else log.table(name)
                found.append((number, table))
        return found

    def _read(self, number: int, statement: str, source: Table) -> None:
        try:
            self._connection.register("source", source)
            self._connection.execute(statement)
        except duckdb.Error as error:
            self.problems.append(IolensError(str(error).splitlines()[0], self.paths[number]))
        finally:
            self._connection.unregister("source")

    def _create(self, name: str, sources: Sequence[tuple[int, Table]], select: str = "*") -> bool:
        """The table of these sources; False if there is none to learn the columns from."""
        for position, (number, source) in enumerate(sources):
            verb = f"INSERT INTO {name} BY NAME" if position else f"CREATE TABLE {name} AS"
            self._read(number, f"{verb} SELECT {number}::INTEGER AS log, {select} FROM source", source)
        return bool(sources)

    def _load(self) -> None:
        self._create("job_of", self._source("job"))
        self._connection.execute("CREATE TABLE path (log INTEGER, path VARCHAR)")
        self._connection.executemany("INSERT INTO path VALUES (?, ?)", list(enumerate(self.paths)))
        self._connection.execute(
            "CREATE VIEW job AS SELECT * REPLACE (nullif(run_time, 0) AS run_time) FROM job_of JOIN path USING (log)"
        )
        self._create("mount", self._source("mounts"))
        self._create("metadata", self._source("metadata"))
        self._create("module", self._source("modules"))
        self._create("name_of", self._source("names"))
        for interface in INTERFACES:
            self._module(interface)
        self._record()
        for statement in _VIEWS:
            self._connection.execute(statement)
        for section in SECTIONS:
            self._section(section)
        self._connection.execute("CREATE SCHEMA metric")

    def _module(self, module: str) -> None:
        if not self._create(module, self._source(module)):
            self._connection.register("source", self.logs[0][module])
            self._connection.execute(
                f"CREATE TABLE {module} AS SELECT 0::INTEGER AS log, * FROM source LIMIT 0"
            )
            self._connection.unregister("source")

    def _section(self, section: str) -> None:
        sources = self._source(section, section=True)
        columns = ", ".join(f'"{name}" {kind}' for name, kind in SECTIONS[section].items())
        self._connection.execute(f"CREATE TABLE {section} (log INTEGER, {columns})")
        known = SECTIONS[section]
        for number, source in sources:
            here = [name for name in source.schema.names if name in known]
            names = ", ".join(f'"{name}"' for name in here)
            self._read(
                number,
                f"INSERT INTO {section} BY NAME SELECT {number}::INTEGER AS log, {names} FROM source",
                source,
            )

    def _record(self) -> None:
        parts = " UNION ALL ".join(record_select(i, self.logs[0][i].schema) for i in INTERFACES)
        self._connection.execute(f"""
            CREATE VIEW record AS
            SELECT *, coalesce(read_time, 0) + coalesce(write_time, 0) + coalesce(meta_time, 0) AS total_time,
                CASE WHEN rank < 0 AND slowest_time IS NOT NULL THEN slowest_time
                ELSE coalesce(read_time, 0) + coalesce(write_time, 0) + coalesce(meta_time, 0) END AS io_time
            FROM ({parts})
        """)

    # ---- asking ----

    def prepare(self, statement: str) -> None:
        """Loads what the statement names and is not there yet: large modules, and metrics it builds on."""
        words = set(re.findall(r"\w+", statement))
        for module in sorted(self._lazy & words):
            self._lazy.discard(module)
            self._module(module)
        for name in re.findall(r"\bmetric\.(\w+)", statement):
            self._metric(find_metric(name))

    def query(self, statement: str, parameters: Any = None) -> duckdb.DuckDBPyConnection:
        """Runs a statement; the result has fetchall(), description and Arrow's forms. Raises duckdb.Error."""
        self.prepare(statement)
        return self._connection.execute(statement, parameters)

    def rows(self, statement: str, parameters: Any = None) -> list[dict[str, Any]]:
        """The result of a statement, a dict per row."""
        result = self.query(statement, parameters)
        names = [column[0] for column in result.description or ()]
        return [dict(zip(names, row)) for row in result.fetchall()]

    def _metric(self, metric: Metric) -> None:
        if metric.name in self._made:
            return
        self._made.add(metric.name)
        self.prepare(metric.sql)
        self._connection.execute(f"CREATE TABLE metric.{metric.name} AS {metric.sql}")

    def metric(self, name: str) -> list[dict[str, Any]]:
        """The rows of a metric; computed once. Raises IolensError if there is no such metric."""
        return self.rows(f"SELECT * FROM metric.{find_metric(name).name}")

    def value(self, name: str, log: int = 0) -> Any:
        """The ``value`` of a metric that has one per log; None where the log does not tell."""
        return next((row["value"] for row in self.metric(name) if row["log"] == log), None)

    # ---- end ----

    def close(self) -> None:
        self._connection.close()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Dataset:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Dataset of {len(self.paths)} logs>"
