"""Compaction: fewer and larger files, without what no longer counts. Queries and ingests go on meanwhile."""

from __future__ import annotations

import re
import time
import uuid
from copy import copy
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from iolens.fleet.tables.delta import DAY, Conflict, File, Table
from iolens.fleet.tables.durable import settle
from iolens.fleet.tables.lake import Lake, dropped
from iolens.fleet.tables.snapshot import Snapshot
from iolens.fleet.tables.write import connection, quoted, read_files, write_files

__all__ = ["Compacted", "compact"]

LARGEST = 256 << 20
"""Files that are this large are not merged any more, in bytes."""

_COURTESY = 3600
"""Seconds that an unfinished batch is left alone: dropped while it is under way, it would be read again."""


_LONG = 86400
"""Seconds after which a file that no table has is no one's that is about to be committed."""


@dataclass
class Compacted:
    """What a compaction did."""

    merged: int = 0
    """Files that are part of larger ones now."""
    made: int = 0
    dropped: int = 0
    """Files of batches that were not finished."""
    removed: int = 0
    """Files that no version of a table needs any more."""


def compact(lake: Lake, *, keep_hours: int = 24, courtesy: float = _COURTESY) -> Compacted:
    """Merges the files of each day, drops what ingests left behind when they ended, and what was replaced.

    keep_hours: how long files that are not needed any more stay for queries that have begun, and for time travel.
    """
    done = Compacted()
    _remove_old(lake, keep_hours, done)  # the disk may be full
    _drop(lake, courtesy, done)
    _remove_strays(lake, done)
    _release(lake)
    snapshot = lake.snapshot()
    # The rows that replaced others say so until the others are gone everywhere.
    for name in [*(n for n in lake.names() if n != "job"), "job"]:
        _merge(lake.table(name), snapshot, done)
    _remove_old(lake, keep_hours, done)
    for name in lake.names():
        table = lake.table(name)
        table.checkpoint()
        table.forget_versions()
    return done


def _remove_strays(lake: Lake, done: Compacted) -> None:
    """Files that compactions and others had written when they ended, and no version of a table has."""
    for name in lake.names():
        folder = lake.path / name
        found = [
            p
            for p in [*folder.glob("*.parquet"), *folder.glob("*/*.parquet")]
            if p.parent.name != "_delta_log"
        ]
        old = [p for p in found if _batch(p.name) is None and time.time() - p.stat().st_mtime >= _LONG]
        known = lake.table(name).known() if old else set()
        for path in old:
            if str(path.relative_to(folder)) not in known:
                path.unlink(missing_ok=True)
                done.dropped += 1


def _remove_old(lake: Lake, keep_hours: int, done: Compacted) -> None:
    settle(lake.path)
    for name in lake.names():
        done.removed += lake.table(name).remove_old(keep_hours)


# ---- unfinished batches ----


def _drop(lake: Lake, courtesy: float, done: Compacted) -> None:
    """Declares unfinished batches dead in the table ``job``, and only then takes their files away.

    Of a batch that is under way either its own commit of ``job`` is first, or this one: it then begins anew.
    """
    while True:
        job = lake.table("job")
        left = _left_behind(lake, courtesy)
        if not left:
            return
        try:
            job.commit(exact=True, mark=map(dropped, left))
            break
        except Conflict:
            continue
    for name in lake.folders():
        table = lake.table(name)
        if name != "job" and any(c.name == "log" for c in table.columns):
            table.drop(lambda file: _batch(file.path) in left)
        for path in table.folder.rglob("*.parquet"):
            if _batch(path.name) in left:
                path.unlink(missing_ok=True)
                done.dropped += 1


def _batch(path: str) -> int | None:
    """The batch that a file's name tells; none of what compaction and others have written."""
    found = re.match(r"([0-9a-f]{1,10})\.[0-9a-f]{8}-", path.rpartition("/")[2])
    return int(found[1], 16) if found else None


def _left_behind(lake: Lake, courtesy: float) -> set[int]:
    found: set[int] = set()
    for name in lake.folders():
        for path in (lake.path / name).rglob("*.parquet"):
            batch = _batch(path.name)
            if batch is not None and time.time() - path.stat().st_mtime >= courtesy:
                found.add(batch)
    return found - lake.batches()


# ---- quarantine ----


def _release(lake: Lake) -> None:
    """Takes those out of quarantine that the lake has read since, as they were or as they became."""
    table, job = lake.table("quarantine"), lake.table("job")
    while (old := table.files()) and job.files():
        with connection() as duck:
            rows = read_files(duck, table, old)
            read = f"""
                SELECT 1 FROM {read_files(duck, job, job.files())} AS j
                WHERE j.path = q.path AND j.log_mtime >= q.log_mtime
            """
            if not duck.execute(f"SELECT 1 FROM {rows} AS q WHERE EXISTS ({read}) LIMIT 1").fetchall():
                return
            kept = f"SELECT * FROM {rows} AS q WHERE NOT EXISTS ({read})"
            new = write_files(duck, kept, table, f"q{uuid.uuid4().hex}")
        if table.replace(old, new):
            return


# ---- merging ----


def _merge(table: Table, snapshot: Snapshot, done: Compacted) -> None:
    of_logs = any(c.name == "log" for c in table.columns)
    files = sorted(snapshot.files.get(table.name, []), key=lambda f: f.day or "")
    for _, listed in groupby(files, key=lambda f: f.day):
        group = list(listed)
        touched = of_logs and any(f.first <= log <= f.last for f in group for log in snapshot.dead)
        small = [f for f in group if f.size < LARGEST]
        stale = [f for f in group if f".{table.fingerprint}" not in f.path]
        if touched or _lacks_a_column(table, stale):
            _replace(copy(table), group, snapshot.dead, done)
        elif len(small) > 1:
            _replace(copy(table), small, snapshot.dead, done)


def _lacks_a_column(table: Table, files: list[File]) -> bool:
    """Those of a newer version have them all, and stay."""
    with connection() as duck:
        for file in files:
            asked = f"DESCRIBE FROM read_parquet({quoted(table.path(file))}, hive_partitioning = false)"
            if not {c.name for c in table.columns} <= {row[0] for row in duck.execute(asked).fetchall()}:
                return True
    return False


def _replace(table: Table, old: list[File], dead: list[int], done: Compacted) -> None:
    listed = ", ".join(map(str, dead)) or "NULL"
    of_logs = any(c.name == "log" for c in table.columns)
    where = f" WHERE log NOT IN ({listed})" if of_logs and dead else ""
    day = f", {DAY}" if table.partitioned else ""
    with connection() as duck:
        source = read_files(duck, table, old)
        chosen = ", ".join(
            f"CASE WHEN replaces IN ({listed}) THEN NULL ELSE replaces END AS replaces"
            if c.name == "replaces"
            else f'"{c.name}"'
            for c in table.columns
        )
        query = f"SELECT {chosen}{day} FROM {source}{where}{' ORDER BY log' if of_logs else ''}"
        new = write_files(duck, query, table, f"c{uuid.uuid4().hex}")
    while True:
        table.refresh()
        live = {f.path for f in table.files()}
        if not live.issuperset(f.path for f in old):  # another compaction was first
            for file in new:
                Path(table.path(file)).unlink(missing_ok=True)
            return
        try:
            table.commit(add=new, remove=old, exact=True, change=bool(dead))
            break
        except Conflict:
            continue
    done.merged += len(old)
    done.made += len(new)
