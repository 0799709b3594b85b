"""The attribute names that PyDarshan's users have in their scripts, on top of iolens.

    from iolens.pydarshan import DarshanReport
    report = DarshanReport("job.darshan")
    report.records["POSIX"].to_df()["counters"]

Needs numpy, pandas and pyarrow. Values that Darshan marks with -1 are -1 again, as PyDarshan's users expect; the
tables of iolens have nulls there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

from iolens.error import USAGE, IolensError
from iolens.log import Field, Log, Module, Table

if TYPE_CHECKING:
    import os

    import pandas
    import pyarrow

__all__ = ["DarshanRecordCollection", "DarshanReport", "Heatmap"]

Record = dict[str, Any]
_PARTS = ("counters", "fcounters")

# What PyDarshan has other shapes for.
_SPECIAL = {"HEATMAP", "DXT_POSIX", "DXT_MPIIO", "LUSTRE", "APMPI", "APXC"}


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
        out: dict[str, Any] = {"id": _numbers(table["id"], 0), "rank": _numbers(table["rank"], 0)}
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
        record: Record = {"id": int(m["id"][index]), "rank": int(m["rank"][index])}
        return {**record, **{part: m[part][index] for part in _PARTS}}

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


class DarshanReport:
    """One log, as darshan.DarshanReport shows it.

    read_all: fill `records` and `heatmaps` for everything that can be decoded. filter_patterns: regular
    expressions; records of names that match are left out ("exclude") or the only ones ("include").
    """

    def __init__(
        self,
        filename: str | os.PathLike[str],
        dtype: str = "numpy",
        read_all: bool = True,
        filter_patterns: Sequence[str] | None = None,
        filter_mode: str = "exclude",
        **unused: Any,
    ) -> None:
        if filter_mode not in ("exclude", "include") or dtype != "numpy":
            raise IolensError("filter_mode is exclude or include, dtype is numpy", exit_code=USAGE)
        self.filename = str(filename)
        self.log = Log(filename)
        self.records: dict[str, DarshanRecordCollection] = {}
        self.heatmaps: dict[str, Heatmap] = {}
        self.counters: dict[str, dict[str, list[str]]] = {}
        self._patterns = [re.compile(p) for p in filter_patterns or ()]
        self._keep_matches = filter_mode == "include"
        if read_all:
            self.read_all()

    def __enter__(self) -> DarshanReport:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.log.close()

    @cached_property
    def metadata(self) -> dict[str, Any]:
        job = self.log.job
        start, end = divmod(job.start_ns, 10**9), divmod(job.end_ns or 0, 10**9)
        numbers = {
            "uid": job.uid,
            "start_time_sec": start[0],
            "start_time_nsec": start[1],
            "end_time_sec": end[0],
            "end_time_nsec": end[1],
            "nprocs": job.nprocs,
            "jobid": job.id,
            "run_time": job.run_time,
            "log_ver": self.log.version,
            "metadata": job.metadata,
        }
        return {"job": numbers, "exe": job.exe}

    @property
    def start_time(self) -> datetime:
        """Local time, whole seconds."""
        return datetime.fromtimestamp(self.metadata["job"]["start_time_sec"])

    @property
    def end_time(self) -> datetime:
        return datetime.fromtimestamp(self.metadata["job"]["end_time_sec"])

    @cached_property
    def modules(self) -> dict[str, dict[str, Any]]:
        """By Darshan's name: len (bytes in the log), ver, idx, partial_flag; num_records once they are read."""
        return {
            m.darshan: {"len": m.stored, "ver": m.version, "idx": m.id, "partial_flag": m.partial}
            for m in self.log.modules.values()
        }

    @cached_property
    def mounts(self) -> list[tuple[str, str]]:
        return [(m.point, m.file_system) for m in self.log.mounts]

    @cached_property
    def name_records(self) -> Mapping[int, str]:
        names = dict(self.log.names.items())
        return {i: n for i, n in names.items() if self._is_wanted(n)} if self._patterns else names

    def _is_wanted(self, name: str) -> bool:
        return any(p.search(name) for p in self._patterns) == self._keep_matches

    def is_kept(self, ids: Any) -> Any:
        """Which records of these ids are kept, None for all."""
        import numpy as np

        return np.isin(ids, np.array(list(self.name_records), dtype=np.uint64)) if self._patterns else None

    def _generic(self) -> Iterator[Module]:
        for module in self.log.modules.values():
            if module.decoded and module.stored and module.darshan not in _SPECIAL:
                yield module

    def read_all(self, dtype: str | None = None) -> None:
        self.read_all_generic_records()
        self.read_all_heatmap_records()

    def read_all_generic_records(
        self, counters: bool = True, fcounters: bool = True, dtype: str | None = None
    ) -> None:
        for module in self._generic():
            self.mod_read_all_records(module.darshan)

    def mod_read_all_records(self, mod: str, dtype: str | None = None, warnings: bool = True) -> None:
        """Fills records[mod] and counters[mod]."""
        if mod not in self.modules:
            return
        collection = DarshanRecordCollection(self, mod, self.log[mod])
        self.records[mod] = collection
        self.counters[mod] = collection._labels
        if not self.modules[mod].get("num_records"):
            self.modules[mod]["num_records"] = len(collection)

    def mod_records(self, mod: str, dtype: str = "numpy") -> Iterator[Record]:
        return iter(DarshanRecordCollection(self, mod, self.log[mod]))

    def read_all_heatmap_records(self) -> None:
        """Fills heatmaps, by interface: POSIX, MPIIO, STDIO."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if "heatmap" not in self.log:
            return
        table = pa.table(self.log["heatmap"])
        for name in dict.fromkeys(table["interface"].to_pylist()):
            rows = table.filter(pc.equal(table["interface"], name))
            self.heatmaps[name.upper()] = Heatmap(name.upper(), rows)

    def info(self, metadata: bool = False) -> None:
        """Prints what it is."""
        job = self.metadata["job"]
        print(f"Filename:       {self.filename}")
        print(f"Executable:     {self.metadata['exe']}")
        print(f"Times:          {self.start_time} to {self.end_time}")
        print(f"Run time:       {job['run_time']:.4f} (s)")
        print(f"Processes:      {job['nprocs']}")
        print(f"JobID:          {job['jobid']}")
        print(f"UID:            {job['uid']}")
        print(f"Modules in Log: {list(self.modules)}")
        print(f"Loaded Records: { ({mod: len(c) for mod, c in self.records.items()}) }")
        print(f"Name Records:   {len(self.name_records)}")
        print(f"Darshan/Hints:  {job['metadata']}")
