"""The records of one module, in the shapes that PyDarshan gives them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from iolens.log import Field, Table

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from iolens.pydarshan.report import DarshanReport

__all__ = [
    "AUTOPERF",
    "COMPONENT",
    "TRACES",
    "DarshanRecordCollection",
    "Heatmap",
    "LayoutRecords",
    "MpiRecords",
    "Record",
    "RecordDicts",
    "TraceRecords",
]

Record = dict[str, Any]
_PARTS = ("counters", "fcounters")

# What PyDarshan has other shapes for.
TRACES = ("DXT_POSIX", "DXT_MPIIO")
AUTOPERF = ("APMPI", "APXC")

# Of each Lustre component: PyDarshan's name, the column, and what stands there in logs that did not have it.
COMPONENT = [
    ("LUSTRE_COMP_STRIPE_SIZE", "component_stripe_size", -1),
    ("LUSTRE_COMP_STRIPE_COUNT", "component_stripe_count", -1),
    ("LUSTRE_COMP_STRIPE_PATTERN", "component_stripe_pattern", -1),
    ("LUSTRE_COMP_FLAGS", "component_flags", -1),
    ("LUSTRE_COMP_EXT_START", "component_ext_start", 0),
    ("LUSTRE_COMP_EXT_END", "component_ext_end", -1),
    ("LUSTRE_COMP_MIRROR_ID", "component_mirror_id", -1),
]


def _numbers(column: pyarrow.ChunkedArray, missing: int) -> Any:
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


class DarshanRecordCollection(Sequence[Record]):
    """The records of one module: a list of dicts, read when they are first asked for."""

    def __init__(self, report: DarshanReport, mod: str, table: Table, selection: slice | None = None) -> None:
        self.report = report
        self.mod = mod
        self._table = table
        self._selection = selection

    @cached_property
    def _fields(self) -> list[Field]:
        """The counters; ids of other records are none to PyDarshan."""
        fields = (f for f in self._table.schema if f.darshan and f.count and f.type != "string")
        return [f for f in fields if not f.darshan[0].endswith("_REC_ID")]

    @cached_property
    def _labels(self) -> dict[str, list[str]]:
        labels: dict[str, list[str]] = {part: [] for part in _PARTS}
        for field in self._fields:
            labels["fcounters" if field.type == "double" else "counters"] += field.darshan
        return labels

    @cached_property
    def _matrices(self) -> dict[str, Any]:
        import numpy as np
        import pyarrow as pa

        table = pa.table(self._table)
        names = [name for name in ("id", "rank", "file_rec_id") if name in table.column_names]
        out: dict[str, Any] = {name: _numbers(table[name], 0) for name in names}
        rows = len(table)
        for part, dtype in zip(_PARTS, (np.int64, np.float64)):
            out[part] = np.empty((rows, len(self._labels[part])), dtype)
        used = dict.fromkeys(_PARTS, 0)
        for field in self._fields if rows else []:
            part, width = "fcounters" if field.type == "double" else "counters", len(field.darshan)
            values = _numbers(table[field.name], field.missing)
            out[part][:, used[part] : used[part] + width] = values.reshape(rows, -1)
            used[part] += width
        keep = self.report.is_kept(out["id"])
        out = out if keep is None else {key: values[keep] for key, values in out.items()}
        return out if self._selection is None else {k: v[self._selection] for k, v in out.items()}

    def __len__(self) -> int:
        return len(self._matrices["id"])

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> DarshanRecordCollection: ...
    def __getitem__(self, index: int | slice) -> Record | DarshanRecordCollection:
        if isinstance(index, slice):
            part = DarshanRecordCollection(self.report, self.mod, self._table)
            part.__dict__["_matrices"] = {k: v[index] for k, v in self._matrices.items()}
            return part
        m = self._matrices
        return {key: values[index] if key in _PARTS else int(values[index]) for key, values in m.items()}

    def to_numpy(self) -> list[Record]:
        """A list of dicts: id, rank, counters (int64), fcounters (float64)."""
        return list(self)

    def to_list(self) -> list[Record]:
        return [{**r, **{part: r[part].tolist() for part in _PARTS}} for r in self]

    def to_dict(self) -> list[Record]:
        labels = self._labels
        return [{**r, **{p: dict(zip(labels[p], r[p])) for p in _PARTS}} for r in self]

    def to_json(self) -> str:
        return json.dumps(self.to_list())

    def to_df(self, attach: Iterable[str] | None = ("id", "rank")) -> dict[str, pandas.DataFrame]:
        """Data frames "counters" and "fcounters", one row per record, with the columns of attach in front."""
        import pandas as pd

        m, wanted = self._matrices, set(attach or ())
        frames = {}
        for part in _PARTS:
            frame = pd.DataFrame(m[part], columns=self._labels[part], copy=False)
            # As pandas would choose from a list of numbers.
            ids = m["id"] if (m["id"] >= 1 << 63).any() else m["id"].astype("int64")
            for name, values in (("id", ids), ("rank", m["rank"])):
                if name in wanted:
                    frame.insert(0, name, values)
            frames[part] = frame
        return frames

    def info(self, describe: bool = False, plot: bool = False) -> None:
        """Prints what it is."""
        print(f"Module:       {self.mod}")
        print(f"Records:      {len(self)}")
        print(f"Ranks:        {set(self._matrices['rank'].tolist())}")
        print(f"Name Records: {set(self._matrices['id'].tolist())}")
        for frame in self.to_df().values() if describe else ():
            print(frame.describe())


class RecordDicts(Sequence[Record]):
    """Records of another shape than two rows of counters: dicts, made when they are first asked for."""

    def __init__(self, report: DarshanReport, mod: str, records: Sequence[Record] | None = None) -> None:
        self.report = report
        self.mod = mod
        if records is not None:
            self.__dict__["_records"] = records

    def _read(self) -> Iterator[Record]:
        raise NotImplementedError

    @cached_property
    def _records(self) -> Sequence[Record]:
        return list(self._read())

    def _wanted(self) -> pyarrow.Table:
        """The module's rows of the names that are kept."""
        import pyarrow as pa

        table = pa.table(self.report.log[self.mod])
        keep = self.report.is_kept(_numbers(table["id"], 0)) if len(table) else None
        return table if keep is None else table.filter(pa.array(keep))

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> RecordDicts: ...
    def __getitem__(self, index: int | slice) -> Record | RecordDicts:
        if isinstance(index, slice):
            return type(self)(self.report, self.mod, self._records[index])
        return self._records[index]

    def to_numpy(self) -> list[Record]:
        return list(self._records)

    def to_list(self) -> list[Record]:
        return list(self._records)

    def to_dict(self) -> list[Record]:
        return list(self._records)

    def info(self, describe: bool = False, plot: bool = False) -> None:
        """Prints what it is."""
        print(f"Module:       {self.mod}")
        print(f"Records:      {len(self)}")
        print(f"Ranks:        { ({r['rank'] for r in self}) }")
        print(f"Name Records: { ({r['id'] for r in self}) }")


class TraceRecords(RecordDicts):
    """DXT: per file and rank the accesses, as lists of dicts; to_df has data frames in their place."""

    reads = writes = True

    def _read(self) -> Iterator[Record]:
        import numpy as np
        import pyarrow as pa

        rows = self._wanted()
        if not len(rows):
            return
        ids, ranks = (_numbers(rows[name], 0) for name in ("id", "rank"))
        hosts, is_read = rows["host"].to_pylist(), np.array(rows["operation"]) == "read"
        # A record has its writes first: what comes after reads is of the next.
        new = (ids[1:] != ids[:-1]) | (ranks[1:] != ranks[:-1]) | (is_read[:-1] & ~is_read[1:])
        bounds = [0, *(np.flatnonzero(new) + 1).tolist(), len(rows)]
        columns = zip(("offset", "length", "start_time", "end_time"), ("offset", "length", "start", "end"))
        segments = pa.table({name: rows[column].fill_null(-1) for name, column in columns})
        if rows["thread"].null_count < len(rows):
            segments = segments.append_column("pthread_id", rows["thread"])
        nothing = segments.slice(0, 0)
        for start, end in zip(bounds, bounds[1:]):
            middle = start + int((~is_read[start:end]).sum())
            written, read = segments.slice(start, middle - start), segments.slice(middle, end - middle)
            yield {
                "id": int(ids[start]),
                "rank": int(ranks[start]),
                "hostname": hosts[start],
                "write_count": middle - start,
                "read_count": end - middle,
                "write_segments": (written if self.writes else nothing).to_pylist(),
                "read_segments": (read if self.reads else nothing).to_pylist(),
            }

    def to_df(self, attach: Iterable[str] | None = None) -> list[Record]:
        """The records, with read_segments and write_segments as frames: offset, length, start_time, end_time."""
        import pandas as pd

        columns = {"offset": "int64", "length": "int64", "start_time": "float64", "end_time": "float64"}

        def frame(segments: list[Record]) -> pandas.DataFrame:
            return pd.DataFrame(segments) if segments else pd.DataFrame(columns=list(columns)).astype(columns)

        return [
            {**r, "write_segments": frame(r["write_segments"]), "read_segments": frame(r["read_segments"])}
            for r in self
        ]


class LayoutRecords(RecordDicts):
    """LUSTRE: per file its components, each with counters, pool_name and ost_ids."""

    def _read(self) -> Iterator[Record]:
        import numpy as np

        for row in self._wanted().to_pylist():
            number = len(row["component_stripe_size"] or ())  # what is there, whatever the log says
            lists = [row[column] or [missing] * number for _, column, missing in COMPONENT]
            # A word per component.
            pools = (row["component_pool_name"] or "").split(",")
            osts, used, components = row["ost_id"] or [], 0, []
            for i in range(number):
                counters = np.array([values[i] for values in lists], np.int64)
                ids = np.array(osts[used : used + max(int(counters[1]), 0)], np.int64)
                used += len(ids)
                name = pools[i] if i < len(pools) else ""
                components.append({"counters": counters, "pool_name": name, "ost_ids": ids})
            yield {"id": row["id"], "rank": row["rank"], "components": components}

    def to_df(self, attach: Iterable[str] | None = ("id", "rank")) -> dict[str, pandas.DataFrame]:
        """Data frame "components", one row per component, with the columns of attach in front."""
        import pandas as pd

        wanted = set(attach or ())
        front = [name for name in ("rank", "id") if name in wanted]
        rows = [
            [*(r[n] for n in front), *(int(v) for v in c["counters"]), c["pool_name"], c["ost_ids"]]
            for r in self
            for c in r["components"]
        ]
        names = [name for name, _, _ in COMPONENT]
        return {
            "components": pd.DataFrame(rows, columns=[*front, *names, "LUSTRE_POOL_NAME", "LUSTRE_OST_IDS"])
        }


class MpiRecords(RecordDicts):
    """APMPI, APXC: one dict per process or router, all_counters by name. PyDarshan has a record about the job first."""

    def _read(self) -> Iterator[Record]:
        fields = [f for f in self.report.log[self.mod].schema if f.darshan]
        for row in self._wanted().to_pylist():
            counters: dict[str, Any] = {}
            for field in fields:
                value = row[field.name]
                if value is None:  # not measured: PyDarshan shows the zeros that are stored
                    value = [0] * field.count if field.count > 1 else 0
                counters.update(zip(field.darshan, value if field.count > 1 else [value]))
            record: Record = {"id": row["id"], "rank": row["rank"]}
            if "processor_name" in row:
                record["node_name"] = row["processor_name"] or ""
            yield {**record, "all_counters": counters}

    def to_df(self, attach: Iterable[str] | None = ("id", "rank")) -> pandas.DataFrame:
        """One row per record, with the columns of attach in front (PyDarshan has none such)."""
        import pandas as pd

        front = [name for name in ("id", "rank") if name in set(attach or ())]
        return pd.DataFrame([{**{n: r[n] for n in front}, **r["all_counters"]} for r in self])


class Heatmap:
    """Bytes over time, by rank."""

    def __init__(self, mod: str, rows: pyarrow.Table) -> None:
        self.mod = mod
        self._rows = rows

    @cached_property
    def _frame(self) -> pandas.DataFrame:
        frame: pandas.DataFrame = self._rows.select(
            ["rank", "start", "end", "bytes_read", "bytes_written"]
        ).to_pandas()
        return frame

    def to_df(self, ops: Sequence[str]) -> pandas.DataFrame:
        """Bytes of the operations ("read", "write"): one row per rank, one column per interval of seconds."""
        import pandas as pd

        columns = {"read": "bytes_read", "write": "bytes_written"}
        if not ops or set(ops) - set(columns):
            raise ValueError('ops must be a list of "read" and "write"')
        total = sum(self._frame[columns[op]] for op in ops)
        bins = pd.IntervalIndex.from_arrays(self._frame["start"], self._frame["end"])
        cells = pd.Series(total.to_numpy(), index=[self._frame["rank"], bins])
        out: pandas.DataFrame = cells.unstack().rename_axis(index="rank", columns=None)
        return out

    @property
    def nbins(self) -> int:
        return int(self._frame["start"].nunique())

    @property
    def bin_width_seconds(self) -> float:
        return float(self._frame["end"].min())

    def info(self, plot: bool = False) -> None:
        print(f"Module:       {self.mod}\nBins:         {self.nbins} of {self.bin_width_seconds} s")
