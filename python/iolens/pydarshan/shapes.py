"""Records that are no rows of counters: traces, layouts, AutoPerf's, heat maps. As dicts, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from iolens.log import Log
from iolens.pydarshan.columns import Keep, Record, numbers
from iolens.pydarshan.names import COMPONENT

if TYPE_CHECKING:
    import pandas
    import pyarrow

__all__ = ["autoperf", "heatmaps", "layout_frame", "layouts", "trace_frame", "traces"]


def _rows(log: Log, mod: str, keep: Keep) -> pyarrow.Table:
    """The module's rows of the names that are kept."""
    import pyarrow as pa

    table = log[mod].to_arrow()
    kept = keep(numbers(table["id"], 0)) if len(table) else None
    return table if kept is None else table.filter(pa.array(kept))


def traces(log: Log, mod: str, keep: Keep, reads: bool = True, writes: bool = True) -> Iterator[Record]:
    """DXT: per file and rank the accesses, as lists of dicts."""
    import numpy as np
    import pyarrow as pa

    rows = _rows(log, mod, keep)
    if not len(rows):
        return
    ids, ranks = (numbers(rows[name], 0) for name in ("id", "rank"))
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
            "write_segments": (written if writes else nothing).to_pylist(),
            "read_segments": (read if reads else nothing).to_pylist(),
        }


def trace_frame(segments: Any) -> pandas.DataFrame:
    import pandas as pd

    if len(segments):
        return pd.DataFrame(segments)
    columns = {"offset": "int64", "length": "int64", "start_time": "float64", "end_time": "float64"}
    return pd.DataFrame(columns=list(columns)).astype(columns)


def layouts(log: Log, keep: Keep) -> Iterator[Record]:
    """LUSTRE: per file its components, each with counters, pool_name and ost_ids."""
    import numpy as np

    for row in _rows(log, "LUSTRE", keep).to_pylist():
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


def layout_frame(records: Sequence[Record], attach: Sequence[str]) -> pandas.DataFrame:
    """One row per component."""
    import pandas as pd

    components = [(record, component) for record in records for component in record["components"]]
    names = [name for name, _, _ in COMPONENT]
    rows = [list(_values(c["counters"])) for _, c in components]
    frame = pd.DataFrame(rows, columns=names)
    frame["LUSTRE_POOL_NAME"] = [c["pool_name"] for _, c in components]
    frame["LUSTRE_OST_IDS"] = [c["ost_ids"] for _, c in components]
    for name in [name for name in ("id", "rank") if name in attach]:
        frame.insert(0, name, [record[name] for record, _ in components])
    return frame


def _values(counters: Any) -> Any:
    return counters.values() if isinstance(counters, dict) else counters


def autoperf(log: Log, mod: str, keep: Keep) -> Iterator[Record]:
    """APMPI, APXC: one dict per process or router, all_counters by name. PyDarshan has a record about the job first."""
    fields = [f for f in log[mod].schema if f.darshan]
    for row in _rows(log, mod, keep).to_pylist():
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


def heatmaps(log: Log) -> Iterator[tuple[str, Record]]:
    """HEATMAP: the interface, and the bins of one rank."""
    import numpy as np

    table = log["heatmap"].to_arrow()
    if not len(table):
        return
    ids, ranks, bins = (numbers(table[name], 0) for name in ("id", "rank", "bin"))
    starts = np.flatnonzero(
        np.r_[True, (ids[1:] != ids[:-1]) | (ranks[1:] != ranks[:-1]) | (bins[1:] <= bins[:-1])]
    )
    ends, read, written = (numbers(table[name], 0) for name in ("end", "bytes_read", "bytes_written"))
    for start, end in zip(starts, [*starts[1:], len(ids)]):
        yield (
            str(table["interface"][int(start)]).upper(),
            {
                "id": int(ids[start]),
                "rank": int(ranks[start]),
                "bin_width_seconds": float(ends[start]),
                "nbins": int(end - start),
                "write_bins": written[start:end].copy(),
                "read_bins": read[start:end].copy(),
            },
        )
