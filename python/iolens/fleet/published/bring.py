"""A data set into a lake: in batches, as logs are, ``job`` last; rows that the lake has are left out."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from iolens import __version__
from iolens.error import USAGE, IolensError
from iolens.fleet.ingest.batch import rule_version
from iolens.fleet.ingest.identity import application_of
from iolens.fleet.published.tables import PublishedTables
from iolens.fleet.tables.delta import DAY
from iolens.fleet.tables.lake import Lake
from iolens.fleet.tables.schema import BATCH_BITS, Column
from iolens.fleet.tables.write import arrow, write_files
from iolens.metrics import Dataset, metrics
from iolens.metrics.engine import register
from iolens.rules import Catalog, find, load

__all__ = ["Imported", "bring"]

OF_FILES = ("redundant_reads", "small_shared_writes", "used_files")
"""Metrics that totals of a job tell nothing of."""

_KNOWN = (Column("path", "text"),)


@dataclass
class Imported:
    """What came of a file."""

    jobs: int = 0
    known: int = 0
    """Jobs that the lake had from this file."""
    findings: int = 0
    ignored: list[str] = field(default_factory=list)
    """Columns that iolens has no place for."""


def bring(lake: Lake, path: str, *, cluster: str = "", catalog: Catalog | None = None) -> Imported:
    """Brings a file's jobs into the lake. Raises IolensError for what is no data set.

    Metrics are computed as of logs; rules (``catalog``) run over records, not over totals, which tell no file from
    another.
    """
    if lake.settings.get("pseudonyms"):
        raise IolensError(
            "holds pseudonyms: a data set goes into a lake of its own", str(lake.path), exit_code=USAGE
        )
    base = PublishedTables(os.path.abspath(path))  # noqa: PTH100
    with Dataset(base, memory="2GB", every_column=True) as data:
        done = Imported(ignored=base.published.columns.ignored)
        totals = base.published.columns.totals
        data.query("SELECT 1 FROM job LIMIT 0")
        done.jobs = _number(lake, data)
        done.known = base.published.jobs - done.jobs
        if not done.jobs:
            return done
        _complete(data, path, cluster)
        for module in (*base.published.columns.modules, "name_of", "mount", "module", "file_sum"):
            data.query(f"SELECT 1 FROM {module} LIMIT 0")
        rows = {
            "metric": _metrics(data, totals),
            "finding": [] if totals else _findings(data, catalog or load()),
        }
        new = {log for (log,) in data.connection.execute("SELECT log FROM numbered").fetchall()}
        done.findings = sum(row[0] in new for row in rows["finding"])
        for name, listed in rows.items():
            _own(lake, data, name, listed)
        batches = data.connection.execute("SELECT DISTINCT batch FROM numbered ORDER BY 1").fetchall()
        names = (*base.published.columns.modules, "name_of", "mount", "module", "file_sum", *rows, "job")
        for (batch,) in batches:
            for name in names:
                _write(lake, data, name, batch)
    return done


def _number(lake: Lake, data: Dataset) -> int:
    """``numbered``: the jobs that the lake has not, with their numbers in it; how many."""
    connection = data.connection
    with lake.open() as there:
        here = connection.execute("SELECT any_value(regexp_extract(path, '^(.*)#', 1)) FROM job").fetchone()
        known = there.query(
            "SELECT path FROM job WHERE starts_with(path, ?)", [f"{here[0] if here else ''}#"]
        ).fetchall()
    register(connection, "known", arrow(known, _KNOWN))
    connection.execute("CREATE TEMP TABLE fresh AS SELECT log FROM job ANTI JOIN known USING (path)")
    connection.unregister("known")
    row = connection.execute("SELECT count(*) FROM fresh").fetchone()
    count = int(row[0]) if row else 0
    batches = [(secrets.randbits(53 - BATCH_BITS),) for _ in range(1 + (count >> BATCH_BITS))]
    listed = ", ".join(f"({place}, {batch})" for place, (batch,) in enumerate(batches))
    connection.execute(f"""
        CREATE TEMP TABLE numbered AS
        SELECT log, batch, (batch::BIGINT << {BATCH_BITS}) + (place & {(1 << BATCH_BITS) - 1}) AS number,
            coalesce("start"::DATE, DATE '1970-01-01') AS {DAY}
        FROM (SELECT log, row_number() OVER (ORDER BY log) - 1 AS place FROM fresh) JOIN job USING (log)
        JOIN (VALUES {listed}) AS b(number, batch) ON b.number = place >> {BATCH_BITS}
    """)
    return count


def _complete(data: Dataset, path: str, cluster: str) -> None:
    """What the table ``job`` of a lake has besides."""
    status = Path(path).stat()
    programs = data.connection.execute("SELECT DISTINCT exe FROM job").fetchall()
    told = [(exe, application_of(exe)) for (exe,) in programs]
    register(data.connection, "programs", arrow(told, [Column("exe", "text"), Column("application", "text")]))
    data.connection.execute("CREATE TEMP TABLE program AS SELECT * FROM programs")
    data.connection.unregister("programs")
    data.connection.execute(
        'UPDATE job SET application = program.application, "user" = coalesce("user", uid::VARCHAR, \'\'), partial = 0,'
        " log_size = ?, log_mtime = ?, cluster = ?, ingested = ? FROM program WHERE program.exe = job.exe",
        [
            *(status.st_size, status.st_mtime_ns, cluster or None),
            datetime.now(timezone.utc).replace(tzinfo=None),
        ],
    )


def _metrics(data: Dataset, totals: bool) -> list[tuple[Any, ...]]:
    """Of those that are one number per log, and of totals those that need no file."""
    return [
        (row["log"], name, None if row["value"] is None else float(row["value"]), __version__)
        for name, metric in metrics().items()
        if metric.layout == "value" and not (totals and name in OF_FILES)
        for row in data.metric(name)
    ]


def _findings(data: Dataset, catalog: Catalog) -> list[tuple[Any, ...]]:
    versions = {id: rule_version(rule) for id, rule in catalog.rules.items()}
    return [
        (
            *(f.log, f.rule, versions[f.rule], f.title, f.topic, f.severity, f.time_lost, f.share),
            *(f.gain or (None, None)),
            *(f.confidence, f.message),
        )
        for f in find(data, catalog=catalog, evidence=False)
    ]


def _own(lake: Lake, data: Dataset, name: str, rows: list[tuple[Any, ...]]) -> None:
    """A table of these rows, which have the columns of the lake's."""
    register(data.connection, "given", arrow(rows, lake.table(name).columns))
    data.connection.execute(f"CREATE TEMP TABLE own_{name} AS SELECT * FROM given")
    data.connection.unregister("given")


def _write(lake: Lake, data: Dataset, name: str, batch: int) -> None:
    """The rows of a batch, committed."""
    table = lake.table(name)
    own = name in ("metric", "finding")
    chosen = ", ".join(
        f'number AS "{c.name}"'
        if c.name == "log"
        else f'"{c.name}"'
        if own
        else f'{c.to_stored} AS "{c.name}"'
        for c in table.columns
    )
    source = f"own_{name}" if own else name
    query = (
        f"SELECT {chosen}, n.{DAY} FROM {source} AS s JOIN numbered AS n USING (log) WHERE n.batch = {batch}"
    )
    files = write_files(data.connection, query, table, f"{batch:x}")
    if files:
        table.commit(add=files)
