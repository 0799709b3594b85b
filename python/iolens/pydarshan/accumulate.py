"""Darshan's derived metrics of the records of one module, given as PyDarshan's data frames."""

from __future__ import annotations

from collections import namedtuple
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from iolens.log import _native
from iolens.log.modules import KNOWN
from iolens.pydarshan.columns import one_frame
from iolens.pydarshan.names import MODULES, PARTS, labels

if TYPE_CHECKING:
    import pandas

__all__ = ["AccumulatedRecords", "accumulate_records"]

AccumulatedRecords = namedtuple("AccumulatedRecords", ["derived_metrics", "summary_record"])

_ACCUMULATED = [m.darshan for m in KNOWN if m.level in {"libc", "middleware"}]
_MIB = 1 << 20


def accumulate_records(rec_dict: dict[str, Any], mod_name: str, nprocs: int) -> AccumulatedRecords:
    """Derived metrics and the record that all make together, of frames as to_df() makes them.

    RuntimeError for modules that have no derived metrics, ValueError for unknown ones.
    """
    number = MODULES.index(mod_name)
    if mod_name not in _ACCUMULATED:
        raise RuntimeError(
            f"{mod_name} module does not support derived metrics: those of {', '.join(_ACCUMULATED)} do"
        )
    inputs = _inputs(rec_dict, number, mod_name)
    return AccumulatedRecords(_derived(inputs, nprocs), _summary(rec_dict, number))


def _columns_of(frame: pandas.DataFrame, names: tuple[str, ...]) -> Any:
    return sum(frame[name].to_numpy() for name in names)


def _inputs(frames: dict[str, Any], number: int, mod: str) -> pandas.DataFrame:
    """Per record what the metrics are made of. A record of all ranks counts with its slowest rank's time."""
    import numpy as np
    import pandas as pd

    counters, fcounters, roles = frames["counters"], frames["fcounters"], labels(number).roles
    meta = _columns_of(fcounters, roles["meta_time"])
    data = _columns_of(fcounters, roles["read_time"]) + _columns_of(fcounters, roles["write_time"])
    offset: Any = -1
    if "max_offset_read" in roles:
        offset = np.maximum(*(_columns_of(counters, roles[f"max_offset_{w}"]) for w in ("read", "written")))
    rank = counters["rank"].to_numpy().astype(np.int64)
    slowest = fcounters[next(n for n in roles["slowest"] if n in fcounters)].to_numpy()
    return pd.DataFrame(
        {
            "id": counters["id"].to_numpy().astype(np.uint64),
            "rank": rank,
            "read": _columns_of(counters, roles["bytes_read"]).astype(np.int64),
            "written": _columns_of(counters, roles["bytes_written"]).astype(np.int64),
            "offset": offset,
            "meta": np.where(rank == -1, 0.0, meta),
            "data": np.where(rank == -1, 0.0, data),
            "io": np.where(rank == -1, slowest, meta + data),
        }
    )


def _derived(records: pandas.DataFrame, nprocs: int) -> SimpleNamespace:
    total = int((records["read"] + records["written"]).sum())
    shared = float(records.loc[records["rank"] == -1, "io"].sum())
    ranks = records[records["rank"] >= 0].groupby("rank")[["io", "meta", "data"]].sum()
    used = len(ranks) > 0 and ranks["io"].max() > 0
    rank = int(ranks["io"].idxmax()) if used else 0
    io, meta, data = ranks.loc[rank] if used else (0.0, 0.0, 0.0)
    time = float(io) + shared
    return SimpleNamespace(
        total_bytes=total,
        unique_io_total_time_by_slowest=float(io),
        unique_rw_only_time_by_slowest=float(data),
        unique_md_only_time_by_slowest=float(meta),
        unique_io_slowest_rank=rank,
        shared_io_total_time_by_slowest=shared,
        agg_perf_by_slowest=total / _MIB / time if time else 0.0,
        agg_time_by_slowest=time,
        category_counters=_categories(records, nprocs),
    )


def _categories(records: pandas.DataFrame, nprocs: int) -> list[SimpleNamespace]:
    """ALL, read-only, write-only, read-write, of one rank, of all ranks, of some ranks."""
    by_file = records.groupby("id", sort=False)
    files = by_file.agg(
        read=("read", "sum"), written=("written", "sum"), offset=("offset", "max"), ranks=("rank", "size")
    )
    everybody, several = by_file["rank"].min() < 0, files["ranks"] > 1
    files.loc[everybody, "ranks"] = nprocs
    read, written = files["read"] > 0, files["written"] > 0
    chosen = [
        files.index == files.index,
        read & ~written,
        ~read & written,
        read & written,
        ~everybody & ~several,
        everybody,
        ~everybody & several,
    ]
    return [_category(files[rows], nprocs) for rows in chosen]


def _category(files: pandas.DataFrame, nprocs: int) -> SimpleNamespace:
    def largest(column: str) -> int:
        return int(files[column].max()) if len(files) else 0

    ranks = int(files["ranks"].sum())
    return SimpleNamespace(
        count=len(files),
        total_read_volume_bytes=int(files["read"].sum()),
        total_write_volume_bytes=int(files["written"].sum()),
        max_read_volume_bytes=largest("read"),
        max_write_volume_bytes=largest("written"),
        total_max_offset_bytes=max(int(files["offset"].sum()), -1),  # -1: not known
        max_offset_bytes=largest("offset"),
        nprocs=-1 if ranks >= nprocs else ranks,
    )


def _summary(frames: dict[str, Any], number: int) -> dict[str, Any]:
    """The log library's total of the records, as frames of one row."""
    import numpy as np

    known = labels(number)
    names = {"counters": list(known.counters), "fcounters": list(known.fcounters)}
    n, used = len(frames["counters"]), [2, 2 + len(known.counters)]
    width = used[1] + len(known.fcounters)
    rows = np.zeros((n, width), np.int64)
    rows[:, 0] = frames["counters"]["id"].to_numpy().astype(np.uint64).view(np.int64)
    rows[:, 1] = frames["counters"]["rank"].to_numpy()
    rows[:, used[0] : used[1]] = frames["counters"][names["counters"]].to_numpy()
    floats = np.ascontiguousarray(frames["fcounters"][names["fcounters"]].to_numpy(), np.float64)
    rows[:, used[1] :] = floats.view(np.int64)
    made = np.frombuffer(_native.total(number, rows.tobytes(), 8 * width), np.int64)
    alike = [len(np.unique(rows[:, i])) == 1 for i in range(2)]
    record: dict[str, Any] = {
        "id": int(made[:1].view(np.uint64)[0]) if alike[0] else 0,
        "rank": int(rows[0, 1]) if alike[1] else -1,
    }
    record[PARTS[0]] = made[used[0] : used[1]].copy()
    record[PARTS[1]] = made[used[1] :].view(np.float64).copy()
    return one_frame(record, names)
