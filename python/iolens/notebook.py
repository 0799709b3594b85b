"""%load_ext iolens: the cell magic %%iolens shows what a cell reads and writes, and what the rules find in it."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

from iolens.error import USAGE, IolensError
from iolens.live import store_path
from iolens.log import Log
from iolens.log import open as open_log
from iolens.metrics import SECTIONS, Dataset
from iolens.metrics.engine import register
from iolens.metrics.views import INTERFACES
from iolens.rules import Findings, find, overlap
from iolens.rules.html import findings_html, table_html
from iolens.rules.text import write

__all__ = ["Cell", "load_ipython_extension"]

_FILES = 10

_UNOBSERVED = (
    'this kernel is not observed: choose the kernel "Python (iolens)" for the notebook; '
    "where it is not offered: iolens kernel install"
)


def _copy(store: str, target: Path) -> Path:
    """The store of this moment: few of its pages exist."""
    source, copy = os.open(store, os.O_RDONLY), os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        size, at = os.fstat(source).st_size, 0
        os.ftruncate(copy, size)
        while at < size:
            try:
                start = os.lseek(source, at, os.SEEK_DATA)
            except OSError:  # a hole until the end
                break
            at = os.lseek(source, start, os.SEEK_HOLE)
            os.pwrite(copy, os.pread(source, at - start, start), start)
    finally:
        os.close(source)
        os.close(copy)
    return target


class _Since(Dataset):
    """A process's records between two moments, as a log: sums are differences, the rest is of the second moment."""

    def __init__(self, before: Log, after: Path, seconds: float, without: str) -> None:
        """without: a folder whose files are not told."""
        self._before = before
        self._without = without
        self._seconds = seconds
        super().__init__([after], every_column=True)

    def _make_now(self, name: str) -> None:
        if (
            name in SECTIONS
        ):  # a store's trailer has the state of the process under these names, and no tables
            columns = ", ".join(f'"{name}" {kind}' for name, kind in SECTIONS[name].items())
            self._connection.execute(f"CREATE TABLE {name} (log BIGINT, {columns})")
            return
        super()._make_now(name)
        if name in INTERFACES:
            self._subtract(name)
            self._make("name_of")
            own = "SELECT id FROM name_of WHERE starts_with(name || '/', ?)"
            self._connection.execute(f"DELETE FROM {name} WHERE id IN ({own})", [f"{self._without}/"])
        elif name == "job_of":
            self._connection.execute(f"UPDATE job_of SET run_time = {self._seconds!r}")

    def _subtract(self, name: str) -> None:
        table = self._before.table(name)
        changed, differences = [], []
        for field in table.schema:
            if field.reduce not in ("sum", "sum_or_missing"):
                continue
            column = f'"{field.name}"'
            changed.append(f"a.{column} IS DISTINCT FROM b.{column}")
            if field.count == 1:
                differences.append(f"a.{column} - coalesce(b.{column}, 0) AS {column}")
            else:
                pairs = f"list_zip(a.{column}::BIGINT[], coalesce(b.{column}::BIGINT[], []))"
                differences.append(f"list_transform({pairs}, lambda p: p[1] - coalesce(p[2], 0)) AS {column}")
        register(self._connection, "earlier", table.__arrow_c_stream__())
        try:
            self._connection.execute(f"CREATE TEMP TABLE earlier_{name} AS SELECT * FROM earlier")
        finally:
            self._connection.unregister("earlier")
        self._connection.execute(f"""
            CREATE OR REPLACE TABLE {name} AS
            SELECT a.* REPLACE ({", ".join(differences)}) FROM {name} AS a
            LEFT JOIN earlier_{name} AS b USING (id, rank) WHERE {" OR ".join(changed)}
        """)


class Cell:
    """What one cell did: ``summary`` (a row of numbers), ``files`` (a row each), ``findings``."""

    def __init__(self, data: Dataset, seconds: float) -> None:
        self.seconds = seconds
        (self.summary,) = data.rows("""
            SELECT coalesce(sum(bytes_read), 0)::BIGINT AS bytes_read, coalesce(sum(reads), 0)::BIGINT AS reads,
                coalesce(sum(bytes_written), 0)::BIGINT AS bytes_written, coalesce(sum(writes), 0)::BIGINT AS writes,
                coalesce(sum(opens), 0)::BIGINT AS opens, coalesce(sum(total_time), 0) AS io_time,
                count(DISTINCT id) AS files
            FROM lowest_file
        """)
        self.files = data.rows("""
            SELECT name.name, sum(bytes_read)::BIGINT AS bytes_read, sum(reads)::BIGINT AS reads,
                sum(bytes_written)::BIGINT AS bytes_written, sum(writes)::BIGINT AS writes,
                sum(opens)::BIGINT AS opens, sum(total_time) AS io_time
            FROM lowest_file LEFT JOIN name USING (log, id) GROUP BY ALL ORDER BY io_time DESC, name
        """)
        self.findings: Findings = find(data)

    def __repr__(self) -> str:
        one = self.summary
        return (
            f"{write(self.seconds, 'seconds')}, of it {write(one['io_time'], 'seconds')} in I/O: "
            f"read {write(one['bytes_read'], 'bytes')} in {write(one['reads'], '# call')}, "
            f"wrote {write(one['bytes_written'], 'bytes')} in {write(one['writes'], '# call')}, "
            f"{write(one['opens'], '# open')}, {write(one['files'], '# file')}"
        )

    def _repr_html_(self) -> str:
        rows = [
            [
                str(file["name"]),
                write(file["io_time"], "seconds"),
                *(f"{write(file[f'bytes_{way}'], 'bytes')} in {file[calls]:,}" for way, calls in _WAYS),
                f"{file['opens']:,}",
            ]
            for file in self.files[:_FILES]
        ]
        more = len(self.files) - _FILES
        table = table_html(("file", "time", "read, calls", "written, calls", "opens"), rows) if rows else ""
        return (
            f"<p><b>iolens</b>: {escape(repr(self))}</p>{table}"
            + (f"<p>... {more:,} more</p>" if more > 0 else "")
            + findings_html(self.findings, overlap(self.findings))
        )


_WAYS = (("read", "reads"), ("written", "writes"))


@contextmanager
def _folder(store: str) -> Iterator[Path]:
    """Where the stores are: nothing of what is done there is recorded."""
    folder = tempfile.mkdtemp(prefix="iolens-cell-", dir=Path(store).parent.parent)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _quiet(shell: Any) -> Iterator[None]:
    """Errors are raised later, once: to show one reads the sources of half a Python."""
    names = ("showtraceback", "showsyntaxerror")
    for name in names:
        setattr(shell, name, lambda *args, **options: None)
    try:
        yield
    finally:
        for name in names:
            delattr(shell, name)


def _magic(shell: Any, cell: str) -> None:
    store = store_path()
    if store is None:
        raise IolensError(_UNOBSERVED, exit_code=USAGE)
    profile = str(shell.profile_dir.location)  # a thread writes the history of cells there
    with _folder(store) as folder:
        before = _copy(store, folder / "before.store")
        start = time.perf_counter()
        with _quiet(shell):
            result = shell.run_cell(cell)
        seconds = time.perf_counter() - start
        after = _copy(store, folder / "after.store")
        with open_log(before) as log, _Since(log, after, seconds, profile) as data:
            told = Cell(data, seconds)
    from IPython.display import display

    display(told)  # type: ignore[no-untyped-call, unused-ignore]
    result.raise_error()


def load_ipython_extension(shell: Any) -> None:
    """Called by %load_ext iolens."""

    def iolens(line: str, cell: str) -> None:
        """%%iolens: runs the cell, and shows what it read and wrote, and what the rules find in that."""
        from IPython.core.error import UsageError

        if line.strip():
            raise UsageError("%%iolens takes no arguments")
        try:
            _magic(shell, cell)
        except IolensError as error:
            raise UsageError(f"iolens: {error}") from None

    shell.register_magic_function(iolens, "cell", "iolens")
