"""One log with PyDarshan's attribute and method names."""

from __future__ import annotations

import copy
import json
import logging
import math
import os
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any

from iolens.error import USAGE, IolensError
from iolens.log import Log
from iolens.pydarshan import shapes
from iolens.pydarshan.backend import cffi_backend as backend
from iolens.pydarshan.columns import Columns, Record
from iolens.pydarshan.datatypes.heatmap import Heatmap
from iolens.pydarshan.names import AUTOPERF, COMPONENT, SPECIAL, TRACES
from iolens.pydarshan.records import DarshanRecordCollection, plain
from iolens.shown import say

__all__ = [
    "DarshanRecordCollection",
    "DarshanReport",
    "DarshanReportJSONEncoder",
    "Heatmap",
    "ModuleNotInDarshanLog",
    "OpenError",
]

logger = logging.getLogger("iolens.pydarshan")

_DTYPES = ("numpy", "dict", "pandas")


class ModuleNotInDarshanLog(ValueError):
    """The log has no such module."""


class OpenError(IolensError, RuntimeError):
    """PyDarshan's scripts expect a RuntimeError."""


def _finite(value: Any) -> Any:
    """JSON has no infinity, which a damaged record may hold."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return None if isinstance(value, float) and not math.isfinite(value) else value


class DarshanReportJSONEncoder(json.JSONEncoder):
    """With numpy's arrays and numbers, data frames and dates."""

    def default(self, o: Any) -> Any:
        made = plain(o)
        if made is not o:
            return made
        return o.isoformat() if isinstance(o, datetime) else super().default(o)


class _Keep:
    """Which records stay, by the names that are chosen when they are read."""

    def __init__(self, names: dict[int, str] | None) -> None:
        self.names = names

    def __call__(self, ids: Any) -> Any:
        import numpy as np

        return None if self.names is None else np.isin(ids, np.array(list(self.names), dtype=np.uint64))


class DarshanReport:
    """One log, as darshan.DarshanReport shows it.

    dtype: "numpy", "dict" or "pandas", what records hold. read_all: fill `records` and `heatmaps` for everything that
    can be decoded. filter_patterns: regular expressions; records of names that match are left out ("exclude") or the
    only ones ("include"). Without a file name it is empty. RuntimeError if the file is no log.
    """

    def __init__(  # noqa: PLR0913, PLR0917 -- PyDarshan's
        self,
        filename: str | os.PathLike[str] | None = None,
        dtype: str = "numpy",
        start_time: Any = None,
        end_time: Any = None,
        automatic_summary: bool = False,
        read_all: bool = True,
        filter_patterns: Sequence[str] | None = None,
        filter_mode: str = "exclude",
    ) -> None:
        self.filename: str | None = None
        self.log: dict[str, Any] | None = None
        self.dtype = self._checked(dtype)
        self.automatic_summary, self.converted_records, self.name_records_read = (
            automatic_summary,
            False,
            False,
        )
        self.start_time = start_time or math.inf
        self.end_time = end_time or -math.inf
        self.timebase = self.start_time
        self.metadata: dict[str, Any] = {}
        self.modules: dict[str, dict[str, Any]] = {}
        self.counters: dict[str, dict[str, Any]] = {}
        self.records: dict[str, Any] = {}
        self.mounts: list[tuple[str, str]] = []
        self.heatmaps: dict[str, Heatmap] = {}
        self.summary: dict[str, Any] = {}
        self.summary_revision = self.data_revision = 0
        self.provenance_enabled = True
        self.provenance_graph: list[Any] = []
        self.provenance_reports: dict[str, Any] = {}
        self._names: dict[int, str] | None = None
        self._chosen = False
        self._data: dict[str, Any] = {"version": 1}
        if filename:
            self.open(filename, read_all, filter_patterns, filter_mode)

    def open(
        self,
        filename: str | os.PathLike[str],
        read_all: bool = False,
        filter_patterns: Sequence[str] | None = None,
        filter_mode: str = "exclude",
    ) -> None:
        """Reads the metadata, and everything if asked to."""
        self.filename = os.fspath(filename)
        self.log = backend.log_open(self.filename)
        if not self.log["handle"]:
            error = self.log["handle"].error
            raise OpenError(
                f"Failed to open file: {error.problem}", error.path, error.offset, error.exit_code
            )
        self._log: Log = self.log["handle"]
        self.read_metadata()
        self._filter(filter_patterns, filter_mode)
        if read_all:
            self.read_all()

    def _checked(self, dtype: str | None) -> str:
        if dtype is not None and dtype not in _DTYPES:
            raise OpenError(f"dtype is one of {', '.join(_DTYPES)}, not {dtype}", exit_code=USAGE)
        return dtype or self.dtype

    def __enter__(self) -> DarshanReport:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cleanup()

    def __del__(self) -> None:
        self._cleanup()

    def _cleanup(self) -> None:
        """The handle goes; what was asked for before stays readable."""
        if getattr(self, "log", None) is not None:
            self.log = None

    def __add__(self, other: DarshanReport) -> Any:
        merge = getattr(self, "merge", None)
        if merge is None:
            raise TypeError("reports are added by PyDarshan's operations: call enable_experimental() first")
        return merge(other)

    def __deepcopy__(self, memo: dict[int, Any]) -> DarshanReport:
        """With the records; the log is the same."""
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        for name, value in self.__dict__.items():
            setattr(made, name, value if name in ("log", "_log") else copy.deepcopy(value, memo))
        return made

    def __getstate__(self) -> dict[str, Any]:
        _ = self.name_records
        state = {name: value for name, value in self.__dict__.items() if name not in ("log", "_log")}
        return {**state, "log": None}

    @property
    def data(self) -> dict[str, Any]:
        """Everything as one dict; its values are the report's own."""
        parts = ("metadata", "records", "summary", "modules", "counters", "mounts", "name_records")
        self._data.update({part: getattr(self, part) for part in parts})
        return self._data

    @property
    def name_records(self) -> dict[int, str]:
        """Names by record id, read when they are first asked for."""
        if self._names is None and hasattr(self, "_log"):
            self._names = backend.log_get_name_records({"handle": self._log, "name_records": None})
        return self._names if self._names is not None else {}

    @name_records.setter
    def name_records(self, names: dict[int, str]) -> None:
        self._names, self._chosen = names, True

    def read_metadata(self) -> None:
        """Fills metadata, modules and mounts."""
        handle = {"handle": self._log, "modules": None}
        self.metadata.update(job=backend.log_get_job(handle), exe=backend.log_get_exe(handle))
        job = self.metadata["job"]
        self.start_time = datetime.fromtimestamp(job["start_time_sec"])
        self.end_time = datetime.fromtimestamp(job["end_time_sec"])
        self.mounts = backend.log_get_mounts(handle)
        self.modules = backend.log_get_modules(handle)

    def _filter(
        self,
        filter_patterns: Sequence[str] | None = None,
        filter_mode: str = "exclude",
        refresh_names: bool = False,
    ) -> None:
        """Names are chosen once, as PyDarshan does: by what reads first, or by what asks for refresh_names."""
        if filter_mode not in ("exclude", "include"):
            raise OpenError(
                f"Invalid filter mode: filter_mode is exclude or include, not {filter_mode}", exit_code=USAGE
            )
        if not refresh_names and (self.name_records_read or not filter_patterns):
            return
        self._names, self._chosen = None, bool(filter_patterns)
        patterns, keep = [re.compile(p) for p in filter_patterns or ()], filter_mode == "include"
        if patterns:
            names = self.name_records.items()
            self._names = {i: n for i, n in names if any(p.search(n) for p in patterns) == keep}

    def read_name_records(
        self, filter_patterns: Sequence[str] | None = None, filter_mode: str = "exclude"
    ) -> None:
        """Chooses the names anew."""
        self._filter(filter_patterns, filter_mode, refresh_names=True)
        self.name_records_read = True

    def _keeper(self) -> _Keep:
        return _Keep(self._names if self._chosen else None)

    def _of(self, *names: str) -> list[str]:
        """Which of these modules the log has records of; without names, those of counters only."""
        if not hasattr(self, "_log"):
            return []
        found = [m.darshan for m in self._log.modules.values() if m.decoded and m.stored]
        return [mod for mod in found if (mod in names if names else mod not in SPECIAL)]

    def _keep(self, mod: str, records: Any, count: int, counters: dict[str, Any]) -> None:
        self.records[mod] = records
        self.name_records_read = True
        if not self.modules[mod].get("num_records"):
            self.modules[mod]["num_records"] = count
        self.counters[mod] = counters

    def read_all(
        self,
        dtype: str | None = None,
        filter_patterns: Sequence[str] | None = None,
        filter_mode: str = "exclude",
    ) -> None:
        self._filter(filter_patterns, filter_mode)
        self.read_all_generic_records(dtype=dtype)
        self.read_all_dxt_records(dtype=dtype)
        self.mod_read_all_lustre_records(dtype, warnings=False)
        for mod in self._of(*AUTOPERF):
            self.mod_read_all_apmpi_records(mod)
        if "HEATMAP" in self.modules:
            self.read_all_heatmap_records()

    def read_all_generic_records(
        self,
        counters: bool = True,
        fcounters: bool = True,
        dtype: str | None = None,
        filter_patterns: Sequence[str] | None = None,
        filter_mode: str = "exclude",
    ) -> None:
        self._filter(filter_patterns, filter_mode)
        for mod in self._of():
            self.mod_read_all_records(mod, dtype)

    def read_all_dxt_records(
        self,
        reads: bool = True,
        writes: bool = True,
        dtype: str | None = None,
        filter_patterns: Sequence[str] | None = None,
        filter_mode: str = "exclude",
    ) -> None:
        self._filter(filter_patterns, filter_mode)
        for mod in self._of(*TRACES):
            self.mod_read_all_dxt_records(mod, dtype, reads=reads, writes=writes)

    def mod_read_all_records(
        self, mod: str, dtype: str | None = None, warnings: bool = True, **names: Any
    ) -> None:
        """Fills records[mod] and counters[mod]. ValueError if the log has no such module."""
        if mod in SPECIAL:
            self._skip(warnings, f"Currently unsupported: {mod} has a method of its own")
            return
        if mod not in self.modules:
            raise ValueError(
                f"mod {mod} is not available: {self.filename} has {', '.join(self.modules) or 'nothing'}"
            )
        kind = self._checked(dtype)
        self._filter(**names)
        columns = Columns.of(self._log, mod, self._keeper())
        records: Any = DarshanRecordCollection.of_columns(mod, self, columns)
        if kind == "pandas":
            records = [columns.combined()]
        elif kind == "dict":
            records = DarshanRecordCollection(mod, self)
            records._made = [backend.as_dtype(columns[i], columns.labels, kind) for i in range(len(columns))]
        self._keep(mod, records, len(columns), columns.labels)

    def _skip(self, warnings: bool, why: str) -> None:
        if warnings:
            logger.warning("Skipped: %s", why)

    def _is_there(self, mod: str, supported: Sequence[str], warnings: bool) -> bool:
        if mod not in self.modules:
            self._skip(warnings, f"{mod} is not in this log (Log does not contain data for mod: {mod})")
        elif mod not in supported:
            self._skip(warnings, f"Unsupported module: {mod}, not one of {', '.join(supported)}")
        return mod in self._of(*supported)

    def mod_read_all_dxt_records(
        self,
        mod: str,
        dtype: str | None = None,
        warnings: bool = True,
        reads: bool = True,
        writes: bool = True,
        **names: Any,
    ) -> None:
        """Fills records["DXT_POSIX"] or records["DXT_MPIIO"]; without reads or writes their segments are empty."""
        if not self._is_there(mod, TRACES, warnings):
            return
        kind = self._checked(dtype)
        self._filter(**names)
        log, keep = self._log, self._keeper()
        traces = DarshanRecordCollection.of_records(
            mod,
            self,
            lambda: (backend.trace_as(r, kind) for r in shapes.traces(log, mod, keep, reads, writes)),
        )
        self._keep(mod, traces, len(traces), {})

    def mod_read_all_lustre_records(
        self, dtype: str | None = None, warnings: bool = True, **names: Any
    ) -> None:
        """Fills records["LUSTRE"]."""
        if not self._is_there("LUSTRE", ("LUSTRE",), warnings):
            return
        kind = self._checked(dtype)
        self._filter(**names)
        found = list(shapes.layouts(self._log, self._keeper()))
        counters = {"counters": [name for name, _, _ in COMPONENT]}
        if kind == "pandas":
            frame = shapes.layout_frame(found, ("id", "rank"))
            frame.index = [0] * len(frame)
            self._keep("LUSTRE", [{"rank": -1, "id": -1, "components": frame}], len(found), counters)
            return
        records = DarshanRecordCollection("LUSTRE", self)
        records._made = [backend.layout_as(record, kind) for record in found]
        self._keep("LUSTRE", records, len(found), counters)

    def mod_read_all_apmpi_records(
        self,
        mod: str = "APMPI",
        dtype: str | None = None,
        warnings: bool = True,
        refresh_names: bool = False,
    ) -> None:
        """Fills records["APMPI"]: counters of each process's MPI calls."""
        if not self._is_there(mod, AUTOPERF, warnings):
            return
        log, keep = self._log, self._keeper()
        records = DarshanRecordCollection.of_records(mod, self, lambda: shapes.autoperf(log, mod, keep))
        self._keep(mod, records, len(records), {})

    def mod_read_all_apxc_records(
        self,
        mod: str = "APXC",
        dtype: str | None = None,
        warnings: bool = True,
        refresh_names: bool = False,
    ) -> None:
        """Fills records["APXC"]: counters of the network's routers."""
        self.mod_read_all_apmpi_records(mod, dtype, warnings)

    def mod_records(self, mod: str, dtype: str = "numpy", warnings: bool = True) -> Iterator[Record]:
        """One record after the other; several modules may be read at once."""
        if mod in self._of(mod):
            columns = None if mod in SPECIAL else Columns.of(self._log, mod, self._keeper())
            self.counters.setdefault(mod, columns.labels if columns else {})
            handle = backend.log_open(str(self.filename))
            keep = self._keeper().names
            while (record := backend.log_get_record(handle, mod, self._checked(dtype))) is not None:
                if keep is None or record["id"] in keep:
                    yield record

    def read_all_heatmap_records(self) -> None:
        """Fills heatmaps, by interface: POSIX, MPIIO, STDIO."""
        if "HEATMAP" not in self.modules:
            raise ModuleNotInDarshanLog("HEATMAP")
        found: dict[str, Heatmap] = {}
        for interface, record in shapes.heatmaps(self._log):
            found.setdefault(interface, Heatmap(interface)).add_record(record)
        self.heatmaps = found

    def to_dict(self) -> dict[str, Any]:
        """Everything that was read but heat maps, as lists and dicts of Python's own types.

        PyDarshan has only the records of counters in it.
        """
        records = {
            mod: plain(r.to_list() if isinstance(r, DarshanRecordCollection) else r)
            for mod, r in self.records.items()
        }
        return {**copy.deepcopy({k: v for k, v in self.data.items() if k != "records"}), "records": records}

    def to_json(self) -> str:
        """The same as JSON: ids of names are texts, mount points lists; what is no number is null."""
        return json.dumps(_finite(self.to_dict()))

    def info(self, metadata: bool = False) -> None:
        """Prints what it is."""
        job = self.metadata.get("job", {})
        say(f"Filename:       {self.filename}")
        say(f"Executable:     {self.metadata.get('exe', '')}")
        say(f"Times:          {self.start_time} to {self.end_time}")
        if job:
            say(f"Run time:       {job['run_time']:.4f} (s)")
            say(f"Processes:      {job['nprocs']}")
            say(f"JobID:          {job['jobid']}")
            say(f"UID:            {job['uid']}")
            say(f"Modules in Log: {list(self.modules)}")
        say(f"Loaded Records: { ({mod: len(c) for mod, c in self.records.items()}) }")
        say(f"Name Records:   {len(self.name_records)}")
        say(f"Darshan/Hints:  {job.get('metadata', {})}")
        say(f"DarshanReport:  id({id(self)})")
        for key, value in job.items() if metadata else ():
            say(f"metadata['job'][{key!r}] = {value}")
