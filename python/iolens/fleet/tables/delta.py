"""One Delta table: its files at a version, and commits that succeed at exactly the version they were made for."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Schema, Transaction
from deltalake.exceptions import CommitFailedError, TableNotFoundError
from deltalake.schema import ArrayType, PrimitiveType
from deltalake.schema import Field as DeltaField
from deltalake.transaction import AddAction, RemoveAction

from iolens.fleet.tables.schema import Column, fingerprint

__all__ = ["DAY", "Conflict", "File", "Table"]

DAY = "day"
_TRIES = 100
# Expired entries are removed by maintenance, not in the midst of a commit.
_HOOKS = PostCommitHookProperties(create_checkpoint=True, cleanup_expired_logs=False)


class Conflict(Exception):
    """Another writer was first: look at what it wrote, and decide again."""


class File(NamedTuple):
    """A Parquet file of a table."""

    path: str
    """Below the table's folder."""
    size: int
    rows: int
    first: int
    """Smallest and largest number of a log in it."""
    last: int
    day: str | None


def _type(column: Column) -> PrimitiveType | ArrayType:
    value = PrimitiveType(column.delta)
    return value if column.elements == 1 else ArrayType(value, contains_null=True)


def _schema(columns: Iterable[Column], partitioned: bool) -> Schema:
    # Delta keeps the range of the first 32 columns of a file: that of log tells what batch it is of.
    fields = [DeltaField(c.name, _type(c)) for c in sorted(columns, key=lambda c: c.name != "log")]
    return Schema([*fields, *([DeltaField(DAY, PrimitiveType("date"))] if partitioned else [])])


class Table:
    """A table of a lake, at the version that was the last when it was refreshed; not read before."""

    def __init__(self, folder: Path, name: str, columns: Sequence[Column]) -> None:
        self.name = name
        self.folder = folder / name
        self.columns = tuple(columns)
        self.partitioned = any(c.name == "log" for c in columns)
        self.fingerprint = fingerprint(self.columns)
        self._table: DeltaTable | None = None

    def refresh(self) -> None:
        """To the newest version."""
        if self._table is not None:
            self._table.update_incremental()
        elif (self.folder / "_delta_log").is_dir():
            try:
                self._table = DeltaTable(self.folder)
            except TableNotFoundError:  # another process is about to make it
                self._table = None

    @property
    def version(self) -> int:
        """-1 if there is no such table yet."""
        return -1 if self._table is None else self._table.version()

    @property
    def delta(self) -> DeltaTable | None:
        """Delta's own object, None if there is no such table yet."""
        return self._table

    def files(self) -> list[File]:
        """Those of this version, in order of their logs."""
        if self._table is None:
            return []
        actions = self._table.get_add_actions(flatten=True)
        names = actions.schema.names

        def values(column: str) -> list[object]:
            return list(actions.column(column).to_pylist()) if column in names else [None] * len(actions)

        wanted = ("path", "size_bytes", "num_records", "min.log", "max.log", f"partition.{DAY}")
        rows = zip(*map(values, wanted))
        found = [
            File(str(path), int(size), int(count), int(first or 0), int(last or 0), day and str(day))
            for path, size, count, first, last, day in rows
        ]
        return sorted(found, key=lambda f: (f.first, f.path))

    def _create(self) -> DeltaTable:
        try:
            return DeltaTable.create(
                self.folder,
                schema=_schema(self.columns, self.partitioned),
                partition_by=[DAY] if self.partitioned else None,
                name=self.name,
            )
        except Exception:  # another process made it at this moment
            return DeltaTable(self.folder)

    def _evolve(self, table: DeltaTable) -> None:
        """Adds the columns that an older version of iolens did not know."""
        there = {f.name for f in table.schema().fields}
        new = [DeltaField(c.name, _type(c)) for c in self.columns if c.name not in there]
        if new:
            try:
                table.alter.add_columns(new)
            except Exception:  # another process does it at this moment: the next commit looks again
                table.update_incremental()

    def _actions(
        self, add: Iterable[File], remove: Iterable[File], change: bool
    ) -> list[AddAction | RemoveAction]:
        now = int(time.time() * 1000)
        actions: list[AddAction | RemoveAction] = [
            AddAction(
                path=f.path,
                size=f.size,
                partition_values={DAY: f.day} if self.partitioned else {},
                modification_time=now,
                data_change=change,
                stats=json.dumps(
                    {"numRecords": f.rows, "minValues": {"log": f.first}, "maxValues": {"log": f.last}}
                    if any(c.name == "log" for c in self.columns)
                    else {"numRecords": f.rows}
                ),
            )
            for f in add
        ]
        actions += [
            RemoveAction(
                path=f.path,
                data_change=change,
                deletion_timestamp=now,
                size=f.size,
                partition_values={DAY: f.day} if self.partitioned else {},
            )
            for f in remove
        ]
        return actions

    def replace(self, old: Iterable[File], new: Sequence[File]) -> bool:
        """New files in place of old ones. False: somebody has committed since ``version``.

        Then the new files are removed, and the table is at its latest version.
        """
        try:
            self.commit(add=new, remove=old, exact=True)
        except Conflict:
            for file in new:
                Path(self.path(file)).unlink(missing_ok=True)
            self.refresh()
            return False
        return True

    def commit(
        self,
        add: Iterable[File] = (),
        remove: Iterable[File] = (),
        *,
        exact: bool = False,
        change: bool = True,
        mark: Iterable[str] = (),
    ) -> None:
        """One version more, with these files and without those. Raises Conflict.

        exact: only if nobody has committed since ``version``. change: False if the rows stay the same. mark: names that
        the table has from then on, see ``marked``.
        """
        if self._table is None:
            self._table = self._create()
            if exact:  # another process may have made it, and committed since
                raise Conflict(f"{self.name} is new")
        table = self._table
        self._evolve(table)
        taken = list(remove)
        actions = self._actions(add, taken, change)
        # Files that are only added are right whatever others have removed meanwhile, which Delta cannot know.
        for left in reversed(range(1 if exact or taken else _TRIES)):
            try:
                self._write(table, actions, exact, mark)
                break
            except Conflict:
                if not left:
                    raise
                table.update_incremental()
        table.update_incremental()

    def _write(
        self, table: DeltaTable, actions: list[AddAction | RemoveAction], exact: bool, mark: Iterable[str]
    ) -> None:
        properties = CommitProperties(
            max_commit_retries=0 if exact else 100,
            app_transactions=[Transaction(name, 1) for name in mark] or None,
        )
        try:
            table.create_write_transaction(
                actions,
                mode="append",
                schema=table.schema(),
                partition_by=[DAY] if self.partitioned else None,
                commit_properties=properties,
                post_commithook_properties=_HOOKS,
            )
        except CommitFailedError as error:
            raise Conflict(str(error)) from error

    def marked(self, name: str) -> bool:
        """Was this name given with a commit?"""
        return self._table is not None and self._table.transaction_version(name) is not None

    def path(self, file: File) -> str:
        return os.fspath(self.folder / file.path)
