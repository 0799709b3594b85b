"""Tables as files: one for each that has rows, written by DuckDB row group by row group."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb

from iolens.error import USAGE, IolensError
from iolens.log.modules import TRACES
from iolens.metrics import MODULES, SECTIONS, Dataset, metrics
from iolens.metrics.literal import quoted
from iolens.values import columns_as
from iolens.whole import whole

__all__ = ["FORMATS", "table_names", "write_tables"]

FORMATS = {
    "parquet": "FORMAT parquet, COMPRESSION zstd",
    "csv": "FORMAT csv, HEADER",
    "json": "FORMAT json, ARRAY",
}
"""Format and file extension -> DuckDB's options."""

_PASSING = [m.key for m in TRACES]
_TRACED = [("id", "UBIGINT")]


def table_names() -> list[str]:
    """Everything that can be written: tables of the logs, then metrics."""
    plain = ["job", "module", "mount", "metadata", "file", "record"]
    return [*plain, *MODULES, *SECTIONS, *(f"metric.{name}" for name in metrics())]


def write_tables(data: Dataset, folder: Path, form: str, names: Iterable[str] = ()) -> Iterator[Path]:
    """The named tables (all without names), those without rows left out; ``metric.x`` becomes ``metric_x``."""
    for name in names or table_names():
        path = folder / f"{name.replace('.', '_')}.{form}"
        with whole(path) as part:
            try:
                written = _write(data, name, form, f"TO {quoted(str(part))} ({FORMATS[form]})")
            except UnicodeEncodeError as error:
                raise IolensError("not UTF-8: choose another folder", str(path), exit_code=USAGE) from error
            except duckdb.IOException as error:
                raise _refused(error, path) from error
        if written:
            yield path


def _write(data: Dataset, name: str, form: str, to: str) -> bool:
    """False: it has no rows."""
    # Traces may have more rows than memory holds: they pass by.
    traced = f"COPY (SELECT {columns_as(form, _TRACED)} FROM source) {to}"
    if name in _PASSING and data.pass_module(name, traced):
        return True
    first = data.query(f"SELECT * FROM {name} LIMIT 1")
    chosen = columns_as(form, [column[:2] for column in first.description or ()])
    if not first.fetchone():
        return False
    data.query(f"COPY (SELECT {chosen} FROM {name}) {to}")
    return True


def _refused(error: duckdb.IOException, path: Path) -> Exception:
    """What the system says, about the file, in DuckDB's words where it is none of the usual."""
    reason = str(error).split("\n", 1)[0]
    number = next(
        (n for n in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO) if os.strerror(n) in reason), 0
    )
    return OSError(number, os.strerror(number), str(path)) if number else IolensError(reason, str(path))
