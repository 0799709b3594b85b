"""PyDarshan's functions of single records, by their names there. There is no C binding behind them: ffi has nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from iolens.error import IolensError
from iolens.log import Log
from iolens.pydarshan.accumulate import accumulate_records
from iolens.pydarshan.columns import Columns, Record, one_frame
from iolens.pydarshan.names import AUTOPERF, COMPONENT, MODULES, TRACES, labels
from iolens.pydarshan.shapes import autoperf, heatmaps, layout_frame, layouts, trace_frame, traces

__all__ = [
    "accumulate_records",
    "counter_names",
    "fcounter_names",
    "ffi",
    "get_lib_version",
    "libdutil",
    "log_close",
    "log_get_apmpi_record",
    "log_get_apxc_record",
    "log_get_dxt_record",
    "log_get_exe",
    "log_get_generic_record",
    "log_get_job",
    "log_get_modules",
    "log_get_mounts",
    "log_get_name_records",
    "log_get_record",
    "log_lookup_name_records",
    "log_open",
    "mod_name_to_idx",
]

_mod_names = MODULES


class _NoBindings:
    """In the place of PyDarshan's cffi objects: scripts may import them, not use them."""

    def _refuse(self, *_: object) -> NoReturn:
        raise NotImplementedError("iolens.pydarshan has no C bindings (ffi, libdutil, _structdefs)")

    __getattr__ = __getitem__ = __call__ = _refuse


ffi: Any = _NoBindings()
libdutil: Any = _NoBindings()
_structdefs: Any = _NoBindings()


class _Null:
    """The handle of what is no log."""

    def __init__(self, error: IolensError) -> None:
        self.error = error

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"<log handle NULL: {self.error}>"


def get_lib_version() -> str:
    """Of iolens."""
    from iolens import __version__

    return str(__version__)


def mod_name_to_idx(mod_name: str) -> int:
    return MODULES.index(mod_name)


def log_open(filename: str) -> dict[str, Any]:
    """A handle for the other functions. Its "handle" is false if this is no log."""
    handle: Log | _Null
    try:
        handle = Log(filename)
    except IolensError as error:
        handle = _Null(error)
    return {"handle": handle, "modules": None, "name_records": None, "at": {}}


def log_close(log: dict[str, Any]) -> None:
    if log["handle"]:
        log["handle"].close()


def log_get_job(log: dict[str, Any]) -> dict[str, Any]:
    job = log["handle"].job
    start, end = divmod(job.start_ns, 10**9), divmod(job.end_ns or 0, 10**9)
    return {
        "uid": job.uid,
        "start_time_sec": start[0],
        "start_time_nsec": start[1],
        "end_time_sec": end[0],
        "end_time_nsec": end[1],
        "nprocs": job.nprocs,
        "jobid": job.id,
        "run_time": job.run_time,
        "log_ver": log["handle"].version,
        "metadata": dict(job.metadata),
    }


def log_get_exe(log: dict[str, Any]) -> str:
    """The command line; "" as in PyDarshan where no mounts stand behind it, because it was cut."""
    return str(log["handle"].job.exe) if log["handle"].mounts else ""


def log_get_mounts(log: dict[str, Any]) -> list[tuple[str, str]]:
    return [(m.point, m.file_system) for m in log["handle"].mounts]


def log_get_modules(log: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By Darshan's name: len (bytes in the log), ver, idx, partial_flag."""
    if log["modules"] is None and log["handle"]:
        log["modules"] = {
            m.darshan: {"len": m.stored, "ver": m.version, "idx": m.id, "partial_flag": m.partial}
            for m in log["handle"].modules.values()
        }
    return log["modules"] or {}


def log_get_name_records(log: dict[str, Any]) -> dict[int, str]:
    """Names by record id, in the order of the log."""
    if log["name_records"] is None:
        count, at = len(log["handle"].names), log["handle"].native.name_at
        found = sorted((at(i) for i in range(count)), key=lambda entry: entry[2])
        log["name_records"] = {record: name for record, name, _ in found}
    return dict(log["name_records"])


def log_lookup_name_records(log: dict[str, Any], ids: Iterable[int] = ()) -> dict[int, str]:
    names = log["handle"].names
    return {i: names[i] for i in ids if i in names}


def counter_names(mod_name: str, fcnts: bool = False, special: str = "") -> list[str] | None:
    """Names of a module's integer counters, or of its floating point ones; None if there is no such module."""
    if mod_name == "LUSTRE_COMP":
        return None if fcnts else [name for name, _, _ in COMPONENT]
    word = "MPI-IO" if mod_name == "MPIIO" else mod_name
    if word not in MODULES or word in TRACES:
        return None
    found = labels(MODULES.index(word))
    if special:
        wanted = {"mpiop_totaltime_": "_TOTAL_TIME", "mpiop_synctime_": "_TOTAL_SYNC_TIME"}.get(special)
        named = [n for n in found.fcounters if not n.startswith("MPI_TOTAL_COMM")]
        return (
            [n for n in named if n.endswith(wanted)]
            if wanted
            else [n for n in found.fcounters if n not in named]
        )
    return list(found.fcounters if fcnts else found.counters)


def fcounter_names(mod_name: str) -> list[str] | None:
    return counter_names(mod_name, fcnts=True)


def _keep_all(ids: Any) -> None:
    return None


def _next(log: dict[str, Any], mod: str, records: Any) -> Any:
    """The following record of a module of this handle; None after the last, and where there is no such module."""
    if mod not in log_get_modules(log) or not log_get_modules(log)[mod]["len"]:
        return None
    return next(log["at"].setdefault(mod, iter(records())), None)


def log_get_record(log: dict[str, Any], mod: str, dtype: str = "numpy") -> Any:
    if mod == "LUSTRE":
        return _log_get_lustre_record(log, dtype)
    if mod == "HEATMAP":
        return _log_get_heatmap_record(log)
    if mod in TRACES:
        return log_get_dxt_record(log, mod, dtype=dtype)
    return log_get_generic_record(log, mod, dtype)


def log_get_generic_record(log: dict[str, Any], mod_name: str, dtype: str = "numpy") -> Record | None:
    """The following record: id, rank, counters and fcounters as arrays, as dicts ("dict") or as frames ("pandas")."""
    if mod_name in AUTOPERF:
        return log_get_apmpi_record(log, mod_name)

    def records() -> Iterator[tuple[Record, dict[str, list[str]]]]:
        columns = Columns.of(log["handle"], mod_name, _keep_all)
        return ((columns[i], columns.labels) for i in range(len(columns)))

    found = _next(log, mod_name, records)
    return None if found is None else as_dtype(found[0], found[1], dtype)


def as_dtype(record: Record, names: dict[str, list[str]], dtype: str) -> Record:
    if dtype == "dict":
        return {**record, **{part: dict(zip(names[part], record[part])) for part in names}}
    return one_frame(record, names) if dtype == "pandas" else record


def log_get_dxt_record(
    log: dict[str, Any], mod_name: str, reads: bool = True, writes: bool = True, dtype: str = "dict"
) -> Record | None:
    record: Record | None = _next(
        log, mod_name, lambda: traces(log["handle"], mod_name, _keep_all, reads, writes)
    )
    return trace_as(record, dtype) if record else None


def trace_as(record: Record, dtype: str) -> Record:
    if dtype != "pandas":
        return record
    return {k: trace_frame(v) if k.endswith("_segments") else v for k, v in record.items()}


def _log_get_lustre_record(log: dict[str, Any], dtype: str = "numpy") -> Record | None:
    record: Record | None = _next(log, "LUSTRE", lambda: layouts(log["handle"], _keep_all))
    return layout_as(record, dtype) if record else None


def layout_as(record: Record, dtype: str) -> Record:
    if dtype == "pandas":
        return {**record, "components": layout_frame([record], ("id", "rank"))}
    if dtype == "dict":
        names = [name for name, _, _ in COMPONENT]
        parts = [
            {**c, "counters": dict(zip(names, c["counters"])), "ost_ids": c["ost_ids"].tolist()}
            for c in record["components"]
        ]
        return {**record, "components": parts}
    return record


def _log_get_heatmap_record(log: dict[str, Any]) -> Record | None:
    found = _next(log, "HEATMAP", lambda: heatmaps(log["handle"]))
    return found[1] if found else None


def log_get_apmpi_record(
    log: dict[str, Any], mod_name: str = "APMPI", structname: str = "PERF", dtype: str = "dict"
) -> Record | None:
    """The following process's record. The first one of the module, which is about the job, is not among them."""
    record: Record | None = _next(log, mod_name, lambda: autoperf(log["handle"], mod_name, _keep_all))
    return record


log_get_apxc_record = log_get_apmpi_record
