"""A module's counters as two matrices, and what PyDarshan makes of them: dicts and data frames."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from iolens.log import Log, Table
from iolens.pydarshan.names import PARTS, counter_fields

if TYPE_CHECKING:
    import pandas
    import pyarrow

__all__ = ["Columns", "Record", "numbers", "one_frame", "row_of"]

Record = dict[str, Any]
Keep = Callable[[Any], Any]

# Module and version of its records -> what PyDarshan 3.5 loses when it brings them to the current version.
_LOST = {("POSIX", 3): ("POSIX_F_VARIANCE_RANK_TIME", "POSIX_F_VARIANCE_RANK_BYTES")}


def numbers(column: pyarrow.ChunkedArray, missing: int) -> Any:
    """Values as numpy, lists as a matrix, nulls as what Darshan has in their place."""
    import numpy as np
    import pyarrow as pa

    arrays = []
    for chunk in column.chunks:
        if not pa.types.is_fixed_size_list(chunk.type):
            fill = missing % 2**64 if chunk.type == pa.uint64() else missing
            arrays.append(chunk.fill_null(fill).to_numpy(zero_copy_only=False))
        elif chunk.null_count:
            arrays.append(np.full((len(chunk), chunk.type.list_size), missing))
        else:
            arrays.append(chunk.flatten().to_numpy().reshape(-1, chunk.type.list_size))
    return np.concatenate(arrays) if arrays else np.empty(0)


class Columns:
    """The records of counters of one log, read when they are first asked for."""

    def __init__(self, table: Table, keep: Keep, lost: Collection[str] = ()) -> None:
        """lost: Darshan's names of counters that PyDarshan shows as 0."""
        self._table, self._keep, self._lost = table, keep, lost

    @classmethod
    def of(cls, log: Log, module: str, keep: Keep) -> Columns:
        found = next((m for m in log.modules.values() if m.darshan == module), None)
        return cls(log[module], keep, _LOST.get((module, found.version), ()) if found else ())

    @cached_property
    def labels(self) -> dict[str, list[str]]:
        names: dict[str, list[str]] = {part: [] for part in PARTS}
        for field in counter_fields(self._table.schema):
            names["fcounters" if field.type == "double" else "counters"] += field.darshan
        return names

    @cached_property
    def matrices(self) -> dict[str, Any]:
        import numpy as np

        table = self._table.to_arrow()
        names = [name for name in ("id", "rank", "file_rec_id") if name in table.column_names]
        out: dict[str, Any] = {name: numbers(table[name], 0) for name in names}
        rows = len(table)
        for part, dtype in zip(PARTS, (np.int64, np.float64)):
            out[part] = np.empty((rows, len(self.labels[part])), dtype)
        used = dict.fromkeys(PARTS, 0)
        for field in counter_fields(self._table.schema) if rows else []:
            part, width = "fcounters" if field.type == "double" else "counters", len(field.darshan)
            values = numbers(table[field.name], field.missing)
            if any(name in self._lost for name in field.darshan):
                values = np.zeros_like(values)
            out[part][:, used[part] : used[part] + width] = values.reshape(rows, -1)
            used[part] += width
        keep = self._keep(out["id"])
        return out if keep is None else {key: values[keep] for key, values in out.items()}

    def __len__(self) -> int:
        return len(self.matrices["id"])

    def __getitem__(self, index: int) -> Record:
        """A dict of its own: id, rank, counters, fcounters."""
        m = self.matrices
        return {key: v[index].copy() if key in PARTS else int(v[index]) for key, v in m.items()}

    def slice(self, index: slice) -> Columns:
        part = Columns(self._table, self._keep, self._lost)
        part.__dict__["labels"] = self.labels
        part.__dict__["matrices"] = {key: values[index] for key, values in self.matrices.items()}
        return part

    def frames(self, attach: Iterable[str]) -> dict[str, pandas.DataFrame]:
        import pandas as pd

        m, frames = self.matrices, {}
        # As pandas would choose from a list of numbers.
        ids = m["id"] if (m["id"] >= 1 << 63).any() else m["id"].astype("int64")
        for part in PARTS:
            frame = pd.DataFrame(m[part], columns=self.labels[part])
            for name, values in (("id", ids), ("rank", m["rank"])):
                if name in attach:
                    frame.insert(0, name, values)
            frames[part] = frame
        return frames

    def combined(self) -> Record:
        """What dtype="pandas" gives: one record, whose counters are frames with id and rank in front."""
        m, found = self.matrices, self.frames(())
        for frame in found.values():
            frame.insert(
                0, "rank", m["rank"].astype(frame.dtypes.iloc[0]) if len(frame.columns) else m["rank"]
            )
            frame.insert(0, "id", m["id"].astype("uint64"))
            frame.index = [0] * len(frame)
        return {"rank": -1, "id": -1, **found}


def row_of(values: Any) -> Any:
    """A record's counters as a row, whatever dtype they have."""
    if isinstance(values, dict):
        return list(values.values())
    return values.iloc[0].to_numpy()[2:] if hasattr(values, "iloc") else values


def one_frame(record: Record, names: dict[str, list[str]]) -> Record:
    """One record whose counters are frames of one row."""
    import numpy as np
    import pandas as pd

    out = dict(record)
    for part in PARTS:
        frame = pd.DataFrame([record[part]], columns=names[part])
        frame.insert(0, "rank", np.array([record["rank"]], record[part].dtype))
        frame.insert(0, "id", np.array([record["id"]], np.uint64))
        out[part] = frame
    return out
