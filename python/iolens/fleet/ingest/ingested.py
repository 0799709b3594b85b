"""What a lake has already: the logs it was made of, as they were, and those that it could not read."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence

from iolens.fleet.ingest.identity import hashed_path
from iolens.fleet.ingest.log_directories import Found
from iolens.fleet.tables.delta import Table
from iolens.fleet.tables.schema import Column
from iolens.fleet.tables.write import arrow, connect, listed, plain, quoted
from iolens.metrics.engine import register

__all__ = ["Known"]

_FOUND = (Column("number", "long"), Column("path", "text"), Column("size", "long"), Column("mtime", "long"))

# Reasons for logs that the file system did not let them be read, which say nothing of their content: each scan tries.
_UNREAD = ", ".join(quoted(text) for text in sorted({os.strerror(code) for code in errno.errorcode}))


class Known:
    """Path, size and time of every log in some tables, as hashes in memory: 40 bytes each."""

    def __init__(
        self, tables: Sequence[Table], named: Callable[[str], str] = plain, *, retried: str = "FALSE"
    ) -> None:
        """tables: job and others with path, size and mtime. named: what a lake calls a path.

        retried: SQL over rows of ``quarantine``, true for logs that are not known.
        """
        self._tables = tuple(tables)
        self._named = named
        self._retried = retried
        self._read: dict[str, set[str]] = {}
        self._duck = connect()
        self._clear()
        self.refresh()

    def _clear(self) -> None:
        self._hashed = False
        self._relative = False
        self._read = {table.name: set() for table in self._tables}
        self._duck.execute(
            "CREATE OR REPLACE TABLE known "
            "(path UBIGINT, size BIGINT, mtime BIGINT, log BIGINT, replaces BIGINT, digest UBIGINT)"
        )
        self._duck.execute("CREATE OR REPLACE TABLE packed (log BIGINT)")
        self._duck.execute("CREATE OR REPLACE TABLE unread (path UBIGINT, size BIGINT, mtime BIGINT)")

    def close(self) -> None:
        """Nothing is asked any more."""
        self._duck.close()

    def refresh(self) -> None:
        """To the newest version of the tables."""
        for table in self._tables:
            table.refresh()
        current = {table.name: {f.path for f in table.files()} for table in self._tables}
        if any(self._read[name] - paths for name, paths in current.items()):  # compaction has made others
            self._clear()
        for table in self._tables:
            new = sorted(current[table.name] - self._read[table.name])
            if new:
                self._take(table, new)
                self._read[table.name].update(new)

    def _take(self, table: Table, new: list[str]) -> None:
        source = f"read_parquet({listed([f'{table.folder}/{path}' for path in new])}, "
        source += "hive_partitioning = false, union_by_name = true)"
        # Earlier versions kept paths as they were given.
        found = self._duck.execute(
            f"SELECT 1 FROM {source} WHERE path[1] NOT IN ('/', '#') LIMIT 1"
        ).fetchall()
        self._relative = self._relative or bool(found)
        names = {row[0] for row in self._duck.execute(f"DESCRIBE FROM {source}").fetchall()}
        log, where = "NULL, NULL", ""
        digest = "CASE WHEN digest IS NOT NULL THEN hash(digest) END" if "digest" in names else "NULL"
        if table.name == "job":
            log = "log, replaces"
        elif table.name == "expired":
            log = "was, NULL" if "was" in names else log
            found = self._duck.execute(f"SELECT 1 FROM {source} WHERE path LIKE '#%' LIMIT 1").fetchall()
            self._hashed = self._hashed or bool(found)
        elif table.name == "quarantine":
            where = f" WHERE reason NOT IN ({_UNREAD}) AND NOT ({self._retried})"
            self._duck.execute(
                f"INSERT INTO unread SELECT hash(path), log_size, log_mtime FROM {source} WHERE reason IN ({_UNREAD})"
            )
        elif table.name == "archived":
            where, digest = " WHERE form <> 'as is'", "NULL"  # what it has as it was ingested is in job
            self._duck.execute(f"INSERT INTO packed SELECT log FROM {source}")
        self._duck.execute(
            f"INSERT INTO known SELECT hash(path), log_size, log_mtime, {log}, {digest} FROM {source}{where}"
        )

    def unknown(self, listed: Sequence[Found]) -> list[tuple[Found, int | None]]:
        """Those that the lake has not, or not as they are now; and the log that is an older state of each, if any.

        A log in an archive is none: the name is used again, and both are there.
        """
        if not listed:
            return []
        names = [self._named(f.path) for f in listed]
        rows = [(n, name, f.size, f.mtime) for n, (f, name) in enumerate(zip(listed, names))]
        if self._hashed:
            rows += [
                (n, hashed_path(name), f.size, f.mtime) for n, (f, name) in enumerate(zip(listed, names))
            ]
        if self._relative:
            rows += [(n, self._named(os.path.relpath(f.path)), f.size, f.mtime) for n, f in enumerate(listed)]
        register(self._duck, "found", arrow(rows, _FOUND))
        new = self._duck.execute("""
            WITH here AS (SELECT number, hash(path) AS path, size, mtime FROM found),
            there AS (SELECT DISTINCT number FROM here SEMI JOIN known USING (path, size, mtime)),
            new AS (FROM here ANTI JOIN there USING (number))
            SELECT number, max(k.log) FROM new LEFT JOIN (
                SELECT path, log FROM known
                WHERE log IS NOT NULL AND log NOT IN (SELECT replaces FROM known WHERE replaces IS NOT NULL)
                AND log NOT IN (FROM packed)
            ) AS k USING (path)
            GROUP BY number ORDER BY number
        """).fetchall()
        self._duck.unregister("found")
        return [(listed[number], log) for number, log in new]

    def unread(self, listed: Sequence[Found]) -> set[str]:
        """Paths of those that are in quarantine, as they are, since an earlier scan was not allowed to read them."""
        if not listed:
            return set()
        rows = [(n, self._named(f.path), f.size, f.mtime) for n, f in enumerate(listed)]
        register(self._duck, "found", arrow(rows, _FOUND))
        here = "SELECT number, hash(path) AS path, size, mtime FROM found"
        query = f"SELECT number FROM ({here}) SEMI JOIN unread USING (path, size, mtime)"
        before = {listed[number].path for (number,) in self._duck.execute(query).fetchall()}
        self._duck.unregister("found")
        return before

    def same(self, digests: Sequence[str]) -> dict[str, int | None]:
        """Those that logs of the lake have, with the log; None for one whose job retention has removed."""
        if not digests:
            return {}
        register(self._duck, "asked", arrow([(digest,) for digest in digests], (Column("digest", "text"),)))
        found = self._duck.execute("""
            SELECT asked.digest, max(k.log) FROM asked JOIN known AS k ON k.digest = hash(asked.digest)
            WHERE k.log IS NULL OR k.log NOT IN (SELECT replaces FROM known WHERE replaces IS NOT NULL)
            GROUP BY asked.digest
        """).fetchall()
        self._duck.unregister("asked")
        return dict(found)

    def place_of(self, log: int) -> str | None:
        """The path of a log of the lake; None if an archive has it."""
        if self._duck.execute("SELECT 1 FROM packed WHERE log = ?", [log]).fetchone():
            return None
        job = next(table for table in self._tables if table.name == "job")
        paths = [job.path(file) for file in job.files() if file.first <= log <= file.last]
        query = f"SELECT path FROM read_parquet({listed(paths)}) WHERE log = ?"
        found = self._duck.execute(query, [log]).fetchone() if paths else None
        return str(found[0]) if found else None
