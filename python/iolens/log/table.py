"""Tables as Arrow hands them on: whatever speaks the PyCapsule interface takes them without a copy.

``pyarrow.table(t)``, ``polars.DataFrame(t)``, ``duckdb.sql("select ... from t")`` and
``pandas.DataFrame.from_arrow(t)`` all work; none of them is needed here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Callable

from iolens.error import IolensError
from iolens.log import _native
from iolens.log.unknown import near_text, unknown

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["BATCH_ROWS", "Batch", "Field", "Schema", "Table", "TableSpec"]

BATCH_ROWS = 65536

_TYPES = {
    "l": "int64",
    "L": "uint64",
    "g": "double",
    "i": "int32",
    "u": "string",
    "tsn:UTC": "timestamp[ns, UTC]",
}


@dataclass(frozen=True)
class Field:
    """A column: what the counter is, where it comes from, and how it may be read."""

    name: str
    type: str
    """Arrow type of the values, or of an element of a list."""
    count: int
    """Elements in a row: 1, more for lists of fixed size, 0 for lists of any length."""
    unit: str
    """Empty for counts, and for what has no unit."""
    role: str
    """What it means whatever the interface (``bytes_read``, ``meta_time``); empty if nothing special."""
    reduce: str
    """How ranks' values become one."""
    missing: int
    """What Darshan's tools show where this column is null."""
    doc: str
    darshan: tuple[str, ...]
    """Names in Darshan's output, one per element."""
    elements: tuple[str, ...]
    """Names of a list's elements."""


@dataclass(frozen=True)
class TableSpec:
    """What to read: columns None = all of them; batch_rows = rows a batch has at most."""

    kind: str
    module: int = 0
    section: str | None = None
    names: bool = False
    mounts: bool = False
    columns: tuple[str, ...] | None = None
    batch_rows: int = BATCH_ROWS

    def native(self) -> _native.Spec:
        columns = None if self.columns is None else tuple(c.encode() for c in self.columns)
        return (self.kind, self.module, self.section, self.names, self.mounts, columns, self.batch_rows)


def _pairs(metadata: bytes) -> dict[str, str]:
    """Arrow's encoding of metadata: number of pairs, then length and text of each key and value."""
    if not metadata:
        return {}
    (count,), at = struct.unpack_from("=i", metadata), 4
    texts = []
    for _ in range(2 * count):
        (length,) = struct.unpack_from("=i", metadata, at)
        texts.append(metadata[at + 4 : at + 4 + length].decode("utf-8", "backslashreplace"))
        at += 4 + length
    return dict(zip(texts[::2], texts[1::2]))


def _field(name: str, form: str, element: str, metadata: bytes) -> Field:
    notes = _pairs(metadata)
    count = int(form[3:]) if form.startswith("+w:") else int(form != "+l")
    return Field(
        name=name,
        type=_TYPES[element],
        count=count,
        unit=notes.get("unit", ""),
        role=notes.get("role", ""),
        reduce=notes.get("reduce", ""),
        missing=int(notes.get("missing", "-1")),
        doc=notes.get("doc", ""),
        darshan=tuple(notes.get("darshan", "").split()),
        elements=tuple(notes.get("elements", "").split()),
    )


class Schema:
    """The columns of a table, in order. ``pyarrow.schema(schema)`` is Arrow's form of it."""

    def __init__(self, open_stream: Callable[[], _native.Stream]) -> None:
        self._stream = open_stream()
        metadata, fields = self._stream.fields()
        self.metadata = _pairs(metadata)
        """What the table is: ``module``, ``darshan`` (its name there), ``section``, ``doc``."""
        self.fields = tuple(_field(*f) for f in fields)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.fields)

    def __getitem__(self, name: str) -> Field:
        for field in self.fields:
            if field.name == name:
                return field
        raise unknown("column", name, self.names)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __arrow_c_schema__(self) -> object:
        return self._stream.schema()

    def __repr__(self) -> str:
        return f"<Schema {', '.join(self.names)}>"


class Batch:
    """Some rows of a table, for one consumer: ``pyarrow.record_batch(batch)``."""

    def __init__(self, schema: object, array: object) -> None:
        self._capsules = (schema, array)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._capsules


class Table:
    """Rows that are read when asked for, batch by batch; every consumer begins with the first.

    Raises IolensError where the data are damaged, after the rows before the damage. A consumer of the Arrow
    stream raises an error of its own with the same text.
    """

    def __init__(self, open_stream: Callable[[TableSpec], _native.Stream], spec: TableSpec) -> None:
        self._open = open_stream
        self.spec = spec
        self._schema: Schema | None = None
        self._count: int | None = None

    def _stream(self) -> _native.Stream:
        """Raises IolensError for a column that there is not, with the nearest names."""
        try:
            return self._open(self.spec)
        except IolensError as error:
            wrong = error.problem.partition("no column ")[2]
            if not wrong or self.spec.columns is None:
                raise
            near = near_text(wrong, self._with(columns=None).schema.names)
            if not near:
                raise
            raise IolensError(f"{error.problem}: {near}", error.path, exit_code=error.exit_code) from None

    def _with(self, columns: tuple[str, ...] | None) -> Table:
        return Table(self._open, TableSpec(**{**self.spec.__dict__, "columns": columns}))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._stream().export()

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    @property
    def schema(self) -> Schema:
        """Columns with units, roles and meanings."""
        if self._schema is None:
            self._schema = Schema(self._stream)
        return self._schema

    def select(self, columns: Iterable[str]) -> Table:
        """The same rows with these columns only, in the order of the table; the others are not decoded."""
        return self._with(tuple(columns))

    def batches(self) -> Iterator[Batch]:
        """The rows in pieces of at most ``spec.batch_rows``: at any time one of them is in memory."""
        stream = self._stream()
        while (pair := stream.next()) is not None:
            yield Batch(*pair)

    @property
    def num_records(self) -> int:
        """Number of rows. Known only after decompressing everything once; kept then."""
        if self._count is None:
            self._count = self._count_rows()
        return self._count

    def _count_rows(self) -> int:
        spec = TableSpec(**{**self.spec.__dict__, "columns": ()})
        stream, total = self._open(spec), 0
        while (rows := stream.next_count()) > 0:
            total += rows
        return total

    def to_arrow(self) -> pyarrow.Table:
        """All rows as pyarrow's table; needs pyarrow. Raises IolensError where the data are damaged."""
        import pyarrow

        batches = [pyarrow.record_batch(batch) for batch in self.batches()]
        return pyarrow.Table.from_batches(batches, schema=pyarrow.schema(self))

    def to_pandas(self) -> pandas.DataFrame:
        """All rows as pandas' data frame; needs pandas and pyarrow."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """All rows as Polars' data frame; needs polars."""
        import polars

        return polars.DataFrame(self)

    def _repr_html_(self) -> str:
        """What notebooks show: the columns, and what they mean. No rows are read."""
        cells = (
            (f.name, f.type if f.count == 1 else f"list of {f.type}", f.unit, f.doc) for f in self.schema
        )
        rows = "".join(f"<tr>{''.join(f'<td>{escape(c)}</td>' for c in row)}</tr>" for row in cells)
        head = "".join(f"<th>{title}</th>" for title in ("column", "type", "unit", "meaning"))
        return f"<p>{escape(repr(self))}</p><table><tr>{head}</tr>{rows}</table>"

    def __len__(self) -> int:
        return self.num_records

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        what = self.spec.section or self.schema.metadata.get("module") or self.spec.kind
        return f"<Table {what}: {len(self.schema)} columns>"
