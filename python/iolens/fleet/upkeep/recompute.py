"""Findings and metrics of what is in a lake, computed again: for a new version of a rule, or logs without."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from typing import Any

from iolens.fleet.ingest.batch import findings_of, metrics_of
from iolens.fleet.tables.data import LakeData
from iolens.fleet.tables.delta import DAY, Conflict, File, Table
from iolens.fleet.tables.lake import Lake
from iolens.fleet.tables.schema import Column
from iolens.fleet.tables.write import arrow, connection, read_files, write_files
from iolens.metrics.engine import register
from iolens.metrics.tables import DERIVED
from iolens.rules import load

__all__ = ["recompute"]


def recompute(  # noqa: PLR0913
    lake: Lake,
    *,
    rules: Collection[str] = (),
    directories: Sequence[str] = (),
    thresholds: Mapping[str, float] | None = None,
    since: date | None = None,
    until: date | None = None,
    progress: Callable[[str], Any] = lambda day: None,
) -> int:
    """Computes the findings of some rules anew, of all of them and the metrics without names; how many rows there are.

    Day by day; each is replaced as a whole, unless retention has removed its detail. directories: rules of the site.
    thresholds: RULE.NAME -> value, instead of the rules' own.
    """
    files = lake.snapshot(since=since, until=until).files
    # Without the records of a day, nothing would be found.
    days = sorted({f.day for f in files["job"] if f.day} & {f.day for f in files.get("module", [])})
    catalog = load(directories).with_thresholds(dict(thresholds or {}))
    wanted = {catalog.find(rule).id for rule in rules}

    def findings(data: LakeData) -> list[tuple[Any, ...]]:
        """By all rules, for one may cover what another says."""
        return [row for row in findings_of(data, catalog) if not wanted or row[1] in wanted]

    total = 0
    for day in days:
        progress(day)
        one = date.fromisoformat(day)
        while True:
            try:
                total += _day(lake, one, findings, "finding", wanted)
                if not rules:
                    total += _sums(lake, one)
                    total += _day(lake, one, metrics_of, "metric", ())
                break
            except Conflict:  # an ingest has brought more of this day
                continue
    return total


def _sums(lake: Lake, day: date) -> int:
    """The rows of ``file_sum``, from the records; the metric that says that they are there comes after them."""
    table = lake.table("file_sum")
    chosen = ", ".join(f'{c.to_stored} AS "{c.name}"' for c in table.columns)
    query = f"SELECT {chosen} FROM ({DERIVED['file_sum'][1]}) ORDER BY log"
    with lake.open(since=day, until=day) as data:
        old = data.snapshot.files.get(table.name, [])
        data.prepare(query)
        new = write_files(data.connection, query, table, f"r{uuid.uuid4().hex}", day)
    _put(table, old, new)
    return sum(file.rows for file in new)


def _day(
    lake: Lake,
    day: date,
    compute: Callable[[LakeData], list[tuple[Any, ...]]],
    name: str,
    rules: Collection[str],
) -> int:
    table = lake.table(name)
    with lake.open(since=day, until=day) as data:
        old = data.snapshot.files.get(name, [])
        rows = [(*row, day) for row in compute(data)]
    with connection() as duck:
        register(duck, "given", arrow(rows, [*table.columns, Column(DAY, "date")]).__arrow_c_stream__())
        query = "SELECT * FROM given"
        if rules and old:
            kept = ", ".join(f"'{rule}'" for rule in rules)
            query += (
                f" UNION ALL BY NAME SELECT * FROM {read_files(duck, table, old)} WHERE rule NOT IN ({kept})"
            )
        new = write_files(duck, f"SELECT * FROM ({query}) ORDER BY log", table, f"r{uuid.uuid4().hex}")
    _put(table, old, new)  # what came since is of other files, and stays
    return len(rows)


def _put(table: Table, old: Sequence[File], new: Sequence[File]) -> None:
    if not table.replace(old, new):
        raise Conflict(table.name)
