"""Tables as files: one for each that has rows, written by DuckDB row group by row group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from iolens.error import IolensError
from iolens.log.modules import TRACES
from iolens.metrics import MODULES, SECTIONS, Dataset, metrics
from iolens.metrics.literal import quoted
from iolens.values import columns_as

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
        written = f"TO {quoted(str(path))} ({FORMATS[form]})"
        # Traces may have more rows than memory holds: they pass by.
        try:
            passed = name in _PASSING and data.pass_module(
                name, f"COPY (SELECT {columns_as(form, _TRACED)} FROM source) {written}"
            )
        except IolensError:
            path.unlink(missing_ok=True)  # it would be taken for the whole
            raise
        if not passed:
            first = data.query(f"SELECT * FROM {name} LIMIT 1")
            chosen = columns_as(form, [column[:2] for column in first.description or ()])
            if not first.fetchone():
                continue
            data.query(f"COPY (SELECT {chosen} FROM {name}) {written}")
        yield path
