"""What scripts written for PyDarshan use besides records: they change their import line only."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

for _name in ("pyarrow", "numpy", "pandas"):
    pytest.importorskip(_name, reason=f"{_name} is not installed")
theirs = pytest.importorskip("darshan", reason="PyDarshan is not installed")

import darshan.backend.cffi_backend as their_backend  # noqa: E402
from interfaces import HDF5, LIBC, RECORDED  # noqa: E402
from iolens import pydarshan as ours  # noqa: E402
from iolens.pydarshan.backend import cffi_backend as our_backend  # noqa: E402

METRICS = """total_bytes unique_io_total_time_by_slowest unique_rw_only_time_by_slowest
unique_md_only_time_by_slowest unique_io_slowest_rank shared_io_total_time_by_slowest agg_perf_by_slowest
agg_time_by_slowest""".split()
CATEGORY = """count total_read_volume_bytes total_write_volume_bytes max_read_volume_bytes max_write_volume_bytes
total_max_offset_bytes max_offset_bytes nprocs""".split()
LOGS = ("imbalanced-io", "example", "skew-app", "apmpi", "dlio-4", "sample-badost", "partial-data-stdio")


@pytest.fixture
def log(corpus: Path) -> str:
    return str(corpus / "logs" / "imbalanced-io.darshan")


@pytest.mark.parametrize("name", LOGS)
def test_derived_metrics(corpus: Path, name: str) -> None:
    path = str(corpus / "logs" / f"{name}.darshan")
    report, known = ours.DarshanReport(path), theirs.DarshanReport(path)
    nprocs = report.metadata["job"]["nprocs"]
    for mod in set(RECORDED) & set(report.records):
        a = their_backend.accumulate_records(known.records[mod].to_df(), mod, nprocs)
        b = ours.accumulate_records(report.records[mod].to_df(), mod, nprocs)
        for metric in METRICS:
            assert getattr(b[0], metric) == pytest.approx(getattr(a[0], metric), rel=1e-12), metric
        for x, y in zip(a[0].category_counters, b[0].category_counters):
            assert [getattr(x, c) for c in CATEGORY] == [getattr(y, c) for c in CATEGORY]
        for part in ("counters", "fcounters"):
            assert list(a[1][part].columns) == list(b[1][part].columns)
        wanted = [f"{mod.replace('-', '')}_BYTES_READ", f"{mod.replace('-', '')}_BYTES_WRITTEN"]
        assert a[1]["counters"][wanted].values.tolist() == b[1]["counters"][wanted].values.tolist()


def test_no_metrics_of_layouts() -> None:
    with pytest.raises(RuntimeError, match="LUSTRE module does not support derived"):
        ours.accumulate_records({}, "LUSTRE", 1)


@pytest.mark.parametrize("dtype", ["dict", "pandas"])
def test_dtype(log: str, dtype: str) -> None:
    a, b = (x.DarshanReport(log, dtype=dtype, read_all=False) for x in (theirs, ours))
    for report in (a, b):
        report.mod_read_all_records("POSIX")
        report.mod_read_all_records("STDIO", dtype=dtype)
    for mod in LIBC:
        x, y = a.records[mod][0], b.records[mod][0]
        for part in ("counters", "fcounters"):
            if dtype == "dict":
                assert dict(x[part]) == dict(y[part])
            else:
                assert list(x[part].columns) == list(y[part].columns)
                assert (x[part].to_numpy() == y[part].to_numpy()).all()
                assert y[part]["id"].dtype == "uint64"


def test_data_and_copies(log: str) -> None:
    with ours.DarshanReport(log) as report:
        assert report.data["records"] is report.records and report.data["version"] == 1
        again = copy.deepcopy(report)
    expected = report.records["POSIX"].to_numpy()[0]["counters"].tolist()
    assert again.data["records"]["POSIX"].to_numpy()[0]["counters"].tolist() == expected
    loaded = pickle.loads(pickle.dumps(report))
    assert loaded.records["POSIX"][0]["counters"].tolist() == expected
    assert ours.DarshanReport().data["records"] == {}


def test_errors(tmp_path: Path, log: str) -> None:
    with pytest.raises(RuntimeError, match="Failed to open file"):
        ours.DarshanReport(str(tmp_path))
    with pytest.raises(RuntimeError, match="Invalid filter mode"):
        ours.DarshanReport(log, filter_patterns=["x"], filter_mode="nonsense")
    with pytest.raises(ValueError, match="mod GARBAGE is not available"):
        ours.DarshanReport(log, read_all=False).mod_read_all_records("GARBAGE")
    nothing = our_backend.log_open("no/such.darshan")
    assert "NULL" in repr(nothing["handle"]) and our_backend.log_get_record(nothing, "POSIX") is None
    with pytest.raises(NotImplementedError, match="no C bindings"):
        our_backend.ffi.new("int *")


def records_of(backend: Any, path: str, mod: str) -> list[Any]:
    log, found = backend.log_open(path), []
    while (record := backend.log_get_record(log, mod)) is not None:
        found.append((record["id"], record["rank"], record["counters"].tolist()))
    return found


def test_functions_of_single_records(log: str) -> None:
    assert records_of(our_backend, log, "STDIO") == records_of(their_backend, log, "STDIO") != []
    for mod in (*RECORDED, *HDF5, "LUSTRE_COMP", "DFS", "DAOS", "PNETCDF_VAR"):
        assert our_backend.counter_names(mod) == their_backend.counter_names(mod)
        if mod != "LUSTRE_COMP":
            assert our_backend.fcounter_names(mod) == their_backend.fcounter_names(mod)


PLOT = """
import importlib, sys
import iolens.pydarshan as darshan
from iolens.pydarshan.experimental.plots.plot_io_cost import get_io_cost_df
report = darshan.DarshanReport(sys.argv[1])
darshan.enable_experimental()
report.agg_ioops("POSIX")  # it needs names that PyDarshan's modules take from each other
plots = importlib.import_module("iolens.pydarshan.experimental.plots")
plots.plot_opcounts(report, "POSIX")
plots.plot_access_histogram(report, "POSIX")
print(get_io_cost_df(report).to_numpy().sum() > 0, "darshan.discover_darshan" in sys.modules)
"""


def test_plots_of_pydarshan_on_our_reader(log: str) -> None:
    done = subprocess.run([sys.executable, "-c", PLOT, log], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"


def test_commands_of_pydarshan_on_our_reader(log: str) -> None:
    command = [sys.executable, "-m", "iolens.pydarshan", "job_stats", "--csv", "--module=STDIO", log]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "imbalanced-io.darshan" in done.stdout and done.stdout.splitlines()[0].startswith("log_file")
