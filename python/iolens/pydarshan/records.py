"""The records of one module, in the shapes that PyDarshan gives them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Iterator, KeysView, MutableSequence
from typing import TYPE_CHECKING, Any

from iolens.pydarshan.columns import Columns, Record, row_of
from iolens.pydarshan.names import AUTOPERF, MODULES, PARTS, TRACES, labels
from iolens.pydarshan.shapes import layout_frame, trace_frame
from iolens.shown import say

if TYPE_CHECKING:
    from iolens.pydarshan.report import DarshanReport

__all__ = ["DarshanRecordCollection", "plain"]

_FRONT = ("id", "rank")


def plain(value: Any) -> Any:
    """Without numpy's types and pandas' frames."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "to_dict"):
        return plain(value.to_dict("list"))
    return value.tolist() if hasattr(value, "tolist") else value


class DarshanRecordCollection(MutableSequence[Any]):
    """A list of records, read when they are first asked for; [i] is a collection of one, with the record's own keys."""

    def __init__(self, mod: str | None = None, report: DarshanReport | None = None) -> None:
        self.mod, self.report = mod, report
        self.rank = self.id = self.timebase = self.start_time = self.end_time = None
        self._type = "collection"
        self._columns: Columns | None = None
        self._read: Callable[[], Iterable[Record]] | None = None
        self._made: list[Record] | None = []

    @classmethod
    def of_columns(cls, mod: str, report: DarshanReport, columns: Columns) -> DarshanRecordCollection:
        made = cls(mod, report)
        made._columns, made._made = columns, None
        return made

    @classmethod
    def of_records(
        cls, mod: str, report: DarshanReport, read: Callable[[], Iterable[Record]]
    ) -> DarshanRecordCollection:
        made = cls(mod, report)
        made._read, made._made = read, None
        return made

    @property
    def _records(self) -> list[Record]:
        """As a list, which is what counts from then on."""
        if self._made is None:
            source = self._columns if self._columns is not None else (self._read or list)()
            # Of columns by number: they are no iterable.
            self._made = (
                [source[i] for i in range(len(source))] if isinstance(source, Columns) else list(source)
            )
            self._columns = self._read = None
        return self._made

    def __getstate__(self) -> dict[str, Any]:
        _ = self._records
        return self.__dict__

    def __len__(self) -> int:
        return len(self._records if self._columns is None else self._columns)

    def __getitem__(self, key: Any) -> Any:
        if self._type == "record":
            return self._records[0] if isinstance(key, slice) else self._records[0][key]
        if isinstance(key, slice):
            return self._part(self._columns.slice(key) if self._columns is not None else self._records[key])
        one = self._part([(self._records if self._columns is None else self._columns)[key]])
        one._type = "record"
        return one

    def _part(self, records: Columns | list[Record]) -> DarshanRecordCollection:
        part = type(self)(self.mod, self.report)
        if isinstance(records, Columns):
            part._columns, part._made = records, None
        else:
            part._made = records
        return part

    def __iter__(self) -> Iterator[Any]:
        return iter(self._records[0]) if self._type == "record" else (self[i] for i in range(len(self)))

    def __setitem__(self, key: Any, value: Any) -> None:
        if self._type == "record":
            self._records[0][key] = value
        else:
            self._records[key] = value

    def __delitem__(self, key: Any) -> None:
        del self._records[key]

    def insert(self, index: int, value: Any) -> None:
        self._records.insert(index, value)

    def keys(self) -> KeysView[str]:
        """Of a single record: `dict(record)` and `**record` work."""
        if self._type != "record":
            raise AttributeError("keys: of a single record only, for instance records[0]")
        return self._records[0].keys()

    def get(self, key: str, default: Any = None) -> Any:
        return self._records[0].get(key, default) if self._type == "record" else default

    def __repr__(self) -> str:
        if self._type == "record":
            return repr(self._records[0])
        return f"<DarshanRecordCollection of {self.mod}: {len(self)} records>"

    def _labels(self) -> dict[str, list[str]]:
        if self._columns is not None:
            return self._columns.labels
        known = self.report.counters.get(self.mod or "", {}) if self.report is not None else {}
        if "fcounters" in known:
            return known
        found = labels(MODULES.index(self.mod or ""))
        return {"counters": list(found.counters), "fcounters": list(found.fcounters)}

    def to_numpy(self) -> list[Record]:
        """A list of dicts: id, rank, counters (int64), fcounters (float64). Copies."""
        if self._columns is not None:
            return [self._columns[i] for i in range(len(self._columns))]
        return copy.deepcopy(self._records)

    def to_list(self) -> list[Record]:
        """The same with lists."""
        return [plain(record) if "counters" in record else record for record in self.to_numpy()]

    def to_dict(self) -> list[Record]:
        """The same with dicts: counters by name."""
        records = self.to_numpy()
        for record in records if records and "counters" in records[0] else []:
            for part in PARTS:
                if not isinstance(record[part], dict):
                    record[part] = dict(zip(self._labels()[part], row_of(record[part])))
        return records

    def to_json(self) -> str:
        return json.dumps(plain(self.to_list()))

    def to_df(self, attach: str | Iterable[str] | None = "default") -> Any:
        """Data frames with the columns of attach (id and rank unless told otherwise) in front.

        Counters: {"counters", "fcounters"}, a row per record. LUSTRE: {"components"}, a row per component. Traces: the
        records, with frames for read_segments and write_segments. AutoPerf: one frame, a row per process or router.
        """
        chosen = _FRONT if attach == "default" else [n for n in _FRONT if n in (attach or ())]
        if self.mod == "LUSTRE":
            return {"components": layout_frame(self._records, chosen)}
        if self.mod in TRACES:
            parts = ("write_segments", "read_segments")
            return [{**r, **{part: trace_frame(r[part]) for part in parts}} for r in self.to_numpy()]
        if self.mod in AUTOPERF:
            import pandas as pd

            return pd.DataFrame([{**{n: r[n] for n in chosen}, **r["all_counters"]} for r in self._records])
        return self._columns.frames(chosen) if self._columns is not None else self._frames(chosen)

    def _frames(self, attach: Iterable[str]) -> dict[str, Any]:
        import pandas as pd

        frames = {}
        for part, kind in zip(PARTS, ("int64", "float64")):
            rows = [row_of(record[part]) for record in self._records]
            frame = pd.DataFrame(rows, columns=self._labels()[part], dtype=None if rows else kind)
            for name in attach:
                frame.insert(0, name, [record[name] for record in self._records])
            frames[part] = frame
        return frames

    def info(self, describe: bool = False, plot: bool = False) -> None:
        """Prints what it is."""
        say(f"Module:       {self.mod}")
        say(f"Records:      {len(self)}")
        say(f"Coll. Type:   {self._type}")
        say(f"Ranks:        { ({r['rank'] for r in self.to_numpy()}) }")
        say(f"Name Records: { ({r['id'] for r in self.to_numpy()}) }")
        if self.mod in TRACES:
            say(f"Hostnames:    { ({r['hostname'] for r in self._records}) }")
            for op in ("read", "write"):
                say(f"{op.title()} Events: {sum(r[f'{op}_count'] for r in self._records)}")
        for frame in self._printed(describe, plot):
            if describe:
                print(frame.describe().transpose().to_string())
            if plot:
                frame.plot.box(vert=False, figsize=(7, 0.3 * len(frame.columns)))

    def _printed(self, describe: bool, plot: bool) -> list[Any]:
        shaped = self.mod == "LUSTRE" or self.mod in TRACES or self.mod in AUTOPERF
        return list(self.to_df(attach=None).values()) if (describe or plot) and not shaped else []
