"""A lake: a folder of Delta tables that grows by whole batches of logs, whatever ends the process that writes."""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from iolens.error import USAGE, IolensError
from iolens.fleet.tables.access import PRIVATE, adopt_umask, open_to_group
from iolens.fleet.tables.delta import DAY, File, Table
from iolens.fleet.tables.durable import make_folder, publish
from iolens.fleet.tables.schema import BATCH_BITS, Column, tables
from iolens.fleet.tables.snapshot import Snapshot
from iolens.fleet.tables.write import arrow, connection, listed, write_files
from iolens.metrics.engine import register

if TYPE_CHECKING:
    from iolens.fleet.tables.data import LakeData

__all__ = ["Lake", "dropped"]

AnyPath = Union[str, "os.PathLike[str]"]

_MARK = "lake.json"
_FORMAT = 1
_TRIES = 8


class Lake:
    """An existing lake. Raises IolensError if there is none at this path.

    A row of any table counts if its log is in the table ``job``, whose commit ends a batch, and no later row of
    ``job`` replaces that log.
    """

    def __init__(self, path: AnyPath) -> None:
        self.path = Path(path)
        try:
            self.settings: dict[str, Any] = json.loads((self.path / _MARK).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise IolensError(
                "no lake here: `iolens fleet ingest LOGS --lake DIR` makes one",
                os.fspath(path),
                exit_code=USAGE,
            ) from None
        except (OSError, ValueError) as error:
            raise IolensError(f"cannot read {_MARK}: {error}", os.fspath(path)) from error
        if self.settings.get("format") != _FORMAT:
            raise IolensError("the lake is of another version of iolens", os.fspath(path), exit_code=USAGE)

    @property
    def archives(self) -> Path:
        """Where archives of logs are unless the site says otherwise: next to the lake, so that none goes with it."""
        folder = self.path.resolve()
        return folder.with_name(f"{folder.name}-logs")

    def expect(self, pseudonyms: str) -> None:
        """Raises IolensError if names in the lake have another form than this key gives, "" for none."""
        has = self.settings.get("pseudonyms", "")
        if has != pseudonyms:
            text = (
                "the lake has real names: leave out the key"
                if not has
                else "the lake has pseudonyms of another key"
            )
            if has and not pseudonyms:
                text = "the lake has pseudonyms: --pseudonymize KEYFILE is needed"
            raise IolensError(text, os.fspath(self.path), exit_code=USAGE)

    def use_later_pseudonyms(self, mark: str) -> None:
        """Names of old days become pseudonyms of this key from now on.

        Raises IolensError for another key, and for a lake with what a newer version has added.
        """
        if newer := self.newer():
            raise IolensError(
                f"a newer version of iolens has written {', '.join(newer)}, which may hold names: use that version",
                os.fspath(self.path),
                exit_code=USAGE,
            )
        if self.settings.get("pseudonyms"):
            raise IolensError(
                "the lake has had pseudonyms from the start: leave out --pseudonyms",
                os.fspath(self.path),
                exit_code=USAGE,
            )
        if self.settings.setdefault("later_pseudonyms", mark) != mark:
            raise IolensError("the lake has pseudonyms of another key", os.fspath(self.path), exit_code=USAGE)
        publish(_written(self.settings), self.path / _MARK, replace=True)

    def for_writing(self) -> Lake:
        """The same lake; files that this process makes from now on have the readers that the lake has."""
        adopt_umask(self.path)
        return self

    @classmethod
    def create(cls, path: AnyPath, *, pseudonyms: str = "", group: int | None = None) -> Lake:
        """A new, empty lake that only its owner can read, or the one that is there.

        pseudonyms: what tells the key of names apart from others. group: can read the lake, too.
        """
        folder = Path(path)
        make_folder(folder)
        mark = folder / _MARK
        if not mark.exists():
            # Another process may be making the lake, or have been killed while it did.
            if any(_MARK not in entry.name for entry in folder.iterdir()):
                raise IolensError(
                    "no lake, and not empty: name a new folder", os.fspath(path), exit_code=USAGE
                )
            with contextlib.suppress(PermissionError):  # another user has made the empty folder, and its mode
                folder.chmod(PRIVATE)
            with contextlib.suppress(FileExistsError):  # another process was first
                publish(_written({"format": _FORMAT, "pseudonyms": pseudonyms}), mark)
                mark.chmod(0o600)
        lake = cls(path)
        if group is not None:
            if lake.archives.is_dir():
                open_to_group(lake.archives, group)
            open_to_group(folder, group)
        return lake

    @property
    def id(self) -> str:
        """That of its table of jobs, which copies of the lake have, too; empty before the first job."""
        delta = self.table("job").delta
        return "" if delta is None else str(delta.metadata().id)

    def table(self, name: str) -> Table:
        """A table at its newest version; it need not exist yet. Raises IolensError for an unknown name."""
        if name not in tables():
            raise IolensError(f'a lake has no table "{name}"', os.fspath(self.path), exit_code=USAGE)
        table = Table(self.path, name, tables()[name])
        table.refresh()
        return table

    def batches(self) -> set[int]:
        """Those that are finished."""
        job = self.table("job")
        return _committed([job.path(f) for f in job.files()])[0]

    def folders(self) -> list[str]:
        """Tables that have files, or had, of whatever version."""
        return [name for name in tables() if (self.path / name).is_dir()]

    def names(self) -> list[str]:
        """Tables that have been written to."""
        return [name for name in tables() if (self.path / name / "_delta_log").is_dir()]

    def newer(self) -> list[str]:
        """Tables, and columns as TABLE.COLUMN, that a newer version of iolens has written."""
        folders = (path.parent.name for path in self.path.glob("*/_delta_log"))
        columns = [f"{name}.{column}" for name in self.names() for column in self.table(name).unknown]
        return sorted({*folders} - {*tables()}) + columns

    def snapshot(self, *, since: date | None = None, until: date | None = None) -> Snapshot:
        """since, until: of tables with days only these, until included."""
        for _ in range(_TRIES):
            # What is committed to the others later belongs to batches that are not in this version of job.
            job = self.table("job")
            opened = {name: self.table(name) for name in self.names() if name != "job"}
            found = self._of(job, opened)
            # Unless compaction has merged them in between.
            before = job.version
            job.refresh()
            if job.version == before:
                break
        if since or until:
            low, high = str(since or date.min), str(until or date.max)
            for name, files in found.files.items():
                found.files[name] = [f for f in files if f.day is None or low <= f.day <= high]
        return found

    def _of(self, job: Table, others: dict[str, Table]) -> Snapshot:
        found = Snapshot({"job": job.files()}, {"job": job.version})
        batches, found.dead = _committed([job.path(f) for f in found.files["job"]])
        for name, table in others.items():
            files = table.files()
            if any(c.name == "log" for c in table.columns):
                files = [f for f in files if _counts(f, batches)]
            found.files[name] = files
            found.versions[name] = table.version
        return found

    def open(self, *, since: date | None = None, until: date | None = None, memory: str = "") -> LakeData:
        """Everything in the lake at this moment as a dataset. What is written later is not seen."""
        from iolens.fleet.tables.data import LakeData

        return LakeData(self, self.snapshot(since=since, until=until), memory=memory)

    def append(self, name: str, rows: Any) -> int:
        """Adds rows to a table, all or none; how many there were.

        rows: what DuckDB reads (an Arrow table, ...), with the table's columns; or a list of tuples of their values.
        """
        table = self.table(name)
        partition = [Column(DAY, "date")] if table.partitioned else []
        with connection() as duck:
            if isinstance(rows, list):
                given, chosen = arrow(rows, [*table.columns, *partition]), "*"
            else:
                day = [DAY] if table.partitioned else []
                given, chosen = (
                    rows,
                    ", ".join([*(f'{c.to_stored} AS "{c.name}"' for c in table.columns), *day]),
                )
            register(duck, "given", given)
            files = write_files(duck, f"SELECT {chosen} FROM given", table, uuid.uuid4().hex)
        if files:
            table.commit(add=files)
        return sum(f.rows for f in files)

    def __repr__(self) -> str:
        return f"<Lake {self.path}>"


def _written(settings: dict[str, Any]) -> bytes:
    return f"{json.dumps(settings)}\n".encode()


def dropped(batch: int) -> str:
    """The mark that the table ``job`` has once compaction has taken a batch for one of an ingest that had ended."""
    return f"dropped-{batch:x}"


def _counts(file: File, batches: set[int]) -> bool:
    """Is the file of a batch that was finished? Compaction merges files of finished batches only."""
    first, last = file.first >> BATCH_BITS, file.last >> BATCH_BITS
    return first != last or first in batches


def _committed(files: Sequence[str]) -> tuple[set[int], list[int]]:
    """The batches in these files of ``job``, and the logs that others of them replace."""
    if not files:
        return set(), []
    with connection() as duck:
        source = f"read_parquet({listed(files)})"
        batches = duck.execute(f"SELECT DISTINCT log >> {BATCH_BITS} FROM {source}").fetchall()
        dead = duck.execute(f"SELECT DISTINCT replaces FROM {source} WHERE replaces IS NOT NULL ORDER BY 1")
        return {batch for (batch,) in batches}, [log for (log,) in dead.fetchall()]
