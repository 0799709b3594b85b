"""One log with PyDarshan's attribute and method names."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any

from iolens.error import USAGE, IolensError
from iolens.log import Log
from iolens.pydarshan.records import (
    AUTOPERF,
    COMPONENT,
    TRACES,
    DarshanRecordCollection,
    Heatmap,
    LayoutRecords,
    MpiRecords,
    Record,
    RecordDicts,
    TraceRecords,
)

if TYPE_CHECKING:
    import os

__all__ = ["DarshanReport"]

_SPECIAL = {"HEATMAP", "LUSTRE", *TRACES, *AUTOPERF}


def _plain(value: Any) -> Any:
    """Without numpy's types."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _finite(value: Any) -> Any:
    """JSON has no infinity, which a damaged record may hold."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


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
        if dtype != "numpy":
            raise IolensError("dtype is numpy; to_df() makes data frames", exit_code=USAGE)
        self.filename = str(filename)
        self.log = Log(filename)
        self.records: dict[str, DarshanRecordCollection | RecordDicts] = {}
        self.summary: dict[str, Any] = {}
        self.heatmaps: dict[str, Heatmap] = {}
        self.counters: dict[str, dict[str, list[str]]] = {}
        self._patterns: list[re.Pattern[str]] = []
        self._keep_matches = False
        self._names_are_read = False
        self._filter(filter_patterns, filter_mode)
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

    def _filter(
        self,
        filter_patterns: Sequence[str] | None = None,
        filter_mode: str = "exclude",
        refresh_names: bool = False,
    ) -> None:
        """Names are chosen once, as PyDarshan does: by what reads first, or by what asks for refresh_names."""
        if filter_mode not in ("exclude", "include"):
            raise IolensError(f"filter_mode is exclude or include, not {filter_mode}", exit_code=USAGE)
        if refresh_names or (filter_patterns and not self._names_are_read):
            self._patterns = [re.compile(p) for p in filter_patterns or ()]
            self._keep_matches = filter_mode == "include"
            self.__dict__.pop("name_records", None)

    def read_metadata(self) -> None:
        """Nothing to do: metadata, modules, mounts and names are read when they are first asked for."""

    def read_name_records(
        self, filter_patterns: Sequence[str] | None = None, filter_mode: str = "exclude"
    ) -> None:
        """Chooses the names anew."""
        self._filter(filter_patterns, filter_mode, refresh_names=True)
        self._names_are_read = True

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

    def _of(self, *names: str) -> list[str]:
        """Which of these modules the log has records of; without names, those of counters only."""
        found = [m.darshan for m in self.log.modules.values() if m.decoded and m.stored]
        return [mod for mod in found if (mod in names if names else mod not in _SPECIAL)]

    def _collection(self, mod: str) -> DarshanRecordCollection | RecordDicts:
        if mod in _SPECIAL:
            kinds: dict[str, type[RecordDicts]] = dict.fromkeys(TRACES, TraceRecords)
            kinds |= {"LUSTRE": LayoutRecords, **dict.fromkeys(AUTOPERF, MpiRecords)}
            if mod not in kinds:
                raise ValueError(f"{mod} has no records: see heatmaps")
            return kinds[mod](self, mod)
        return DarshanRecordCollection(self, mod, self.log[mod])

    def _keep(self, mod: str, collection: DarshanRecordCollection | RecordDicts) -> None:
        self.records[mod] = collection
        self._names_are_read = True
        if not self.modules[mod].get("num_records"):
            self.modules[mod]["num_records"] = len(collection)

    def read_all(
        self,
        dtype: str | None = None,
        filter_patterns: Sequence[str] | None = None,
        filter_mode: str = "exclude",
    ) -> None:
        self._filter(filter_patterns, filter_mode)
        self.read_all_generic_records()
        self.read_all_dxt_records()
        self.mod_read_all_lustre_records(warnings=False)
        for mod in self._of(*AUTOPERF):
            self.mod_read_all_apmpi_records(mod)
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
            self.mod_read_all_records(mod)

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
            self.mod_read_all_dxt_records(mod, reads=reads, writes=writes)

    def mod_read_all_records(
        self,
        mod: str,
        dtype: str | None = None,
        warnings: bool = True,
        **names: Any,
    ) -> None:
        """Fills records[mod] and counters[mod]. ValueError if the log has no such module."""
        if mod not in self.modules:
            raise ValueError(
                f"{mod} is not in {self.filename}, which has {', '.join(self.modules) or 'nothing'}"
            )
        if mod in _SPECIAL:
            self._skip(mod, warnings, "has a method of its own")
            return
        self._filter(**names)
        collection = DarshanRecordCollection(self, mod, self.log[mod])
        self._keep(mod, collection)
        self.counters[mod] = collection._labels

    def _skip(self, mod: str, warnings: bool, why: str = "is not in this log") -> None:
        if warnings:
            print(f"Skipped: {mod} {why}", file=sys.stderr)

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
        if mod not in self._of(*TRACES):
            self._skip(mod, warnings, "is no trace in this log")
            return
        self._filter(**names)
        traces = TraceRecords(self, mod)
        traces.reads, traces.writes = reads, writes
        self._keep(mod, traces)
        self.counters[mod] = {}

    def mod_read_all_lustre_records(
        self,
        dtype: str | None = None,
        warnings: bool = True,
        **names: Any,
    ) -> None:
        """Fills records["LUSTRE"]."""
        if not self._of("LUSTRE"):
            self._skip("LUSTRE", warnings)
            return
        self._filter(**names)
        self._keep("LUSTRE", LayoutRecords(self, "LUSTRE"))
        self.counters["LUSTRE"] = {"counters": [name for name, _, _ in COMPONENT]}

    def mod_read_all_apmpi_records(
        self,
        mod: str = "APMPI",
        dtype: str | None = None,
        warnings: bool = True,
        refresh_names: bool = False,
    ) -> None:
        """Fills records["APMPI"]: counters of each process's MPI calls."""
        if mod not in self._of(*AUTOPERF):
            self._skip(mod, warnings)
            return
        self._keep(mod, MpiRecords(self, mod))
        self.counters[mod] = {}

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
        return iter(self._collection(mod)) if mod in self._of(mod) else iter(())

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

    def to_dict(self) -> dict[str, Any]:
        """Everything that was read but heat maps, as lists and dicts of Python's own types.

        PyDarshan has only the records of counters in it.
        """
        return {
            "version": 1,
            "metadata": self.metadata,
            "records": {mod: _plain(records.to_list()) for mod, records in self.records.items()},
            "summary": self.summary,
            "modules": self.modules,
            "counters": self.counters,
            "name_records": dict(self.name_records),
            "mounts": self.mounts,
        }

    def to_json(self) -> str:
        """The same as JSON: ids of names are texts, mount points lists; what is no number is null."""
        return json.dumps(_finite(self.to_dict()))

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
