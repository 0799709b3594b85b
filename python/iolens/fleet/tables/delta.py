"""One Delta table: its files at a version, and commits that succeed at exactly the version they were made for."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable, NamedTuple

from deltalake import DeltaTable, Schema
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.schema import ArrayType, PrimitiveType
from deltalake.schema import Field as DeltaField

from iolens import __version__
from iolens.fleet.tables.access import keep_owner
from iolens.fleet.tables.durable import make_folder, publish, sync
from iolens.fleet.tables.schema import Column, fingerprint, of_stored

__all__ = ["DAY", "Conflict", "File", "Table"]

DAY = "day"
_TRIES = 100
_CHECKPOINT = 100
"""Versions from one checkpoint to the next."""
_COURTESY = 3600
"""Seconds that a temporary file is left alone."""
_LAST = "_last_checkpoint"
_PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}
_ENGINE = f"iolens {__version__}"

Action = dict[str, Any]
"""As Delta's protocol has it."""


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


def _now() -> int:
    return int(time.time() * 1000)


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

    def take_along(self, found: Mapping[str, str]) -> None:
        """What is written from now on has these columns of files, too. found: each with DuckDB's type."""
        known = {c.name for c in self.columns} | {DAY}
        more = [of_stored(name, type) for name, type in sorted(found.items()) if name not in known]
        if more:
            self.columns += tuple(more)
            self.fingerprint = fingerprint(self.columns)

    @property
    def unknown(self) -> list[str]:
        """Columns that a newer version of iolens has added."""
        if self._table is None:
            return []
        known = {c.name for c in self.columns} | {DAY}
        return [field.name for field in self._table.schema().fields if field.name not in known]

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
        described = {
            "id": str(uuid.uuid4()),
            "name": self.name,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": _schema(self.columns, self.partitioned).to_json(),
            "partitionColumns": [DAY] if self.partitioned else [],
            "createdTime": _now(),
            "configuration": {},
        }
        make_folder(self._log)
        keep_owner(self.folder, self._log)
        with contextlib.suppress(FileExistsError):  # another process made it at this moment
            self._publish(0, [{"protocol": _PROTOCOL}, {"metaData": described}])
        sync(self.folder, self.folder.parent)  # which another process may be about to do
        return DeltaTable(self.folder)

    def _evolved(self, table: DeltaTable) -> list[Action]:
        """Adds the columns that an older version of iolens did not know."""
        fields = table.schema().fields
        there = {f.name for f in fields}
        new = [DeltaField(c.name, _type(c)) for c in self.columns if c.name not in there]
        if not new:
            return []
        has = table.metadata()
        described = {
            "id": str(has.id),
            "name": has.name,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": Schema([*fields, *new]).to_json(),
            "partitionColumns": has.partition_columns,
            "createdTime": has.created_time,
            "configuration": has.configuration,
        }
        return [{"metaData": described}]

    def _actions(self, add: Iterable[File], remove: Iterable[File], change: bool) -> list[Action]:
        now = _now()
        of_logs = any(c.name == "log" for c in self.columns)

        def file(f: File) -> Action:
            values = {DAY: f.day} if self.partitioned else {}
            return {"path": f.path, "dataChange": change, "partitionValues": values, "size": f.size}

        def stats(f: File) -> Action:
            ranges = {"minValues": {"log": f.first}, "maxValues": {"log": f.last}} if of_logs else {}
            return {"numRecords": f.rows, **ranges}

        added = [{**file(f), "modificationTime": now, "stats": json.dumps(stats(f))} for f in add]
        removed = [{**file(f), "deletionTimestamp": now, "extendedFileMetadata": True} for f in remove]
        return [*({"add": one} for one in added), *({"remove": one} for one in removed)]

    def replace(self, old: Iterable[File], new: Sequence[File]) -> bool:
        """New files in place of old ones. False: another process has committed since ``version``.

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
        """One version more, with these files and without those. Raises Conflict, or OSError, which leaves no file.

        exact: only if no other process has committed since ``version``. change: False if the rows stay the same. mark:
        names that the table has from then on, see ``marked``.
        """
        added = list(add)
        try:
            self._commit(added, list(remove), exact, change, mark)
        except OSError:
            self.discard(added)
            raise

    def _commit(
        self, add: Sequence[File], taken: Sequence[File], exact: bool, change: bool, mark: Iterable[str]
    ) -> None:
        if self._table is None:
            self._table = self._create()
            if exact:  # another process may have made it, and committed since
                raise Conflict(f"{self.name} is new")
        actions = [{"txn": {"appId": name, "version": 1, "lastUpdated": _now()}} for name in mark]
        actions += self._actions(add, taken, change)
        # Files that are only added are right whatever others have removed meanwhile.
        for left in reversed(range(1 if exact or taken else _TRIES)):
            try:
                self._publish(self.version + 1, [*self._evolved(self._table), *actions])
                break
            except FileExistsError:
                if not left:
                    raise Conflict(f"{self.name} has a newer version than {self.version}") from None
                self._table.update_incremental()
        self._table.update_incremental()
        if self.version % _CHECKPOINT == 0:
            with contextlib.suppress(OSError, DeltaError):  # without it opening takes longer
                self.checkpoint()

    @property
    def _log(self) -> Path:
        return self.folder / "_delta_log"

    def _publish(self, version: int, actions: Sequence[Action]) -> None:
        """Writes a version, on disk before it has its name. Raises FileExistsError."""
        told = {"timestamp": _now(), "operation": "WRITE", "operationParameters": {}, "engineInfo": _ENGINE}
        lines = [json.dumps(action) + "\n" for action in ({"commitInfo": told}, *actions)]
        publish("".join(lines).encode(), self._log / f"{version:020}.json")

    def checkpoint(self) -> None:
        """All versions up to this one in a file, unless there is one: what makes opening fast.

        Delta writes it under its last name at once, so it is made elsewhere.
        """
        if self._table is None or (self._log / f"{self.version:020}.checkpoint.parquet").exists():
            return
        with tempfile.TemporaryDirectory(prefix="iolens-") as folder:
            copy = Path(folder, "_delta_log")
            copy.mkdir()
            try:
                for path in self._needed():
                    shutil.copy(path, copy)
                made = DeltaTable(folder)
            except (FileNotFoundError, DeltaError):
                return  # another process removes what is old, or has made a checkpoint of several files
            made.create_checkpoint()
            name = f"{made.version():020}.checkpoint.parquet"
            publish((copy / name).read_bytes(), self._log / name, replace=True)
            publish((copy / _LAST).read_bytes(), self._log / _LAST, replace=True)

    def _needed(self) -> list[Path]:
        """The newest checkpoint and the versions after it."""
        paths = sorted(self._log.glob("[0-9]*.checkpoint.parquet"))[-1:]
        first = paths[0].name[:20] if paths else ""
        return [*paths, *(p for p in sorted(self._log.glob("[0-9]*.json")) if p.name >= first)]

    def known(self) -> set[str]:
        """Files of this version, and of those before that it removed."""
        if self._table is None:
            return set()
        gone = self._table.vacuum(0, dry_run=True, enforce_retention_duration=False, full=False)
        return {file.path for file in self.files()} | set(gone)

    def remove_old(self, keep_hours: int) -> int:
        """Removes files that no version needs any more, nor any that is younger than this; how many there were.

        What stands for them is to be on disk: see ``settle``.
        """
        if self._table is None:
            return 0
        old = self._table.vacuum(keep_hours, dry_run=True, enforce_retention_duration=False, full=False)
        removed = 0
        for path in old:
            with contextlib.suppress(FileNotFoundError):
                (self.folder / path).unlink()
                removed += 1
        return removed

    def forget_versions(self) -> None:
        """Removes versions before a checkpoint that are older than Delta keeps them, and what was never one."""
        if self._table is None:
            return
        self._table.cleanup_metadata()
        for path in self._log.glob("*.tmp"):  # of a process that was ended
            with contextlib.suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime >= _COURTESY:
                    path.unlink()

    def drop(self, unwanted: Callable[[File], bool]) -> int:
        """Takes these files out of the table, whatever others commit meanwhile; how many rows they have."""
        rows = 0
        while gone := [file for file in self.files() if unwanted(file)]:
            try:
                self.commit(remove=gone, exact=True)
                rows += sum(file.rows for file in gone)
            except Conflict:
                self.refresh()
        return rows

    def discard(self, files: Iterable[File]) -> None:
        """Removes files of a commit that has failed, unless they are in the table all the same."""
        self.refresh()
        there = {file.path for file in self.files()}
        for file in files:
            if file.path not in there:
                Path(self.path(file)).unlink(missing_ok=True)

    def marked(self, name: str) -> bool:
        """Was this name given with a commit?"""
        return self._table is not None and self._table.transaction_version(name) is not None

    def path(self, file: File) -> str:
        return os.fspath(self.folder / file.path)
