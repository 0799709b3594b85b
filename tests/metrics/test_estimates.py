"""The four time estimates and bandwidths, to the digits that released tools print."""

from __future__ import annotations

from pathlib import Path

import pytest
from interfaces import RECORDED
from iolens.metrics import Dataset
from iolens.metrics.views import LISTS
from made_log import Make

MIB = 1 << 20

# Log, interface: bytes; seconds and MiB/s of each estimate, as far as they are known.
KNOWN = {
    ("release-x86_64-3.4.0", "posix"): {
        "bytes": "134217728",
        "shared_by_cumul": "0.025373",
        "shared_by_open": "0.035038",
        "shared_by_open_lastio": "0.035015",
        "shared_by_slowest": "0.034674",
        "mib_per_s_by_cumul": "5044.7",
        "mib_per_s_by_open": "3653.2",
        "mib_per_s_by_open_lastio": "3655.6",
        "mib_per_s_by_slowest": "3691.5",
    },
    ("release-x86_64-3.4.0", "mpiio"): {"time_by_slowest": "0.035046", "mib_per_s_by_slowest": "3652.381844"},
    ("release-x86_64-3.4.0", "stdio"): {
        "bytes": "322",
        "time_by_slowest": "0.000054",
        "mib_per_s_by_slowest": "5.724444",
    },
    ("imbalanced-io", "posix"): {
        "bytes": "106730099902",
        "slowest_rank": "0",
        "slowest_rank_io_time": "33.762418",
        "slowest_rank_meta_time": "0.272385",
        "slowest_rank_rw_time": "33.490033",
        "shared_by_slowest": "583.149111",
        "time_by_slowest": "616.911529",
        "mib_per_s_by_slowest": "164.992467",
    },
    ("imbalanced-io", "mpiio"): {
        "bytes": "132463273244",
        "time_by_slowest": "1243.618248",
        "mib_per_s_by_slowest": "101.580064",
    },
    ("imbalanced-io", "stdio"): {"slowest_rank": "0", "time_by_slowest": "113.607402"},
    ("skew-app", "posix"): {"time_by_slowest": "264.241477", "mib_per_s_by_slowest": "157.491707"},
    ("skew-app", "mpiio"): {"time_by_slowest": "753.573830", "mib_per_s_by_slowest": "55.224637"},
    ("hdf5-diagonal-half-ranks-dxt", "posix"): {
        "slowest_rank": "3",
        "shared_by_slowest": "0.000000",
        "slowest_rank_io_time": "0.028272",
        "slowest_rank_meta_time": "0.028087",
    },
}


@pytest.mark.parametrize("case", KNOWN, ids="-".join)
def test_estimates_are_those_of_released_tools(corpus: Path, case: tuple[str, str]) -> None:
    log, interface = case
    with Dataset(corpus / "logs" / f"{log}.darshan") as data:
        row = next(r for r in data.metric("perf") if r["interface"] == interface)
        for column, printed in KNOWN[case].items():
            digits = len(printed.partition(".")[2])
            assert f"{row[column]:.{digits}f}" == printed, column


@pytest.mark.parametrize(
    "log", ["example", "sample-badost", "ior-hdf5", "dlio-1", "mpi-io-test-dxt", "imbalanced-io"]
)
def test_bandwidth_is_pydarshans(corpus: Path, log: str) -> None:
    darshan = pytest.importorskip("darshan")
    from darshan.backend.cffi_backend import accumulate_records

    path = corpus / "logs" / f"{log}.darshan"
    with Dataset(path) as data, darshan.DarshanReport(str(path)) as report:
        for row in data.metric("perf"):
            module = dict(zip(LISTS["recorded_interfaces"], RECORDED))[row["interface"]]
            frames = report.records[module].to_df()
            derived = accumulate_records(frames, module, report.metadata["job"]["nprocs"]).derived_metrics
            assert row["bytes"] == derived.total_bytes
            assert row["time_by_slowest"] == pytest.approx(derived.agg_time_by_slowest)
            assert row["mib_per_s_by_slowest"] == pytest.approx(derived.agg_perf_by_slowest)


def test_the_published_job_of_the_deployment_study(make_log: Make) -> None:
    """590.3 MB read and 597.6 MB written at 355.52 MB/s in a job of 166 s: 2.01 % of the time."""
    log = make_log(
        posix=[
            {
                "id": 1,
                "rank": -1,
                "bytes_read": round(590.3 * MIB),
                "bytes_written": round(597.6 * MIB),
                "slowest_rank_time": 3.34130,
            }
        ],
        start=1000,
        end=1166,
        nprocs=64,
    )
    with Dataset(log) as data:
        (row,) = data.metric("perf")
        assert round(row["mib_per_s_by_slowest"], 2) == 355.52
        (job,) = data.metric("headline")
        assert f"{job['io_share']:.2%}" == "2.01%"


def test_the_published_job_with_small_independent_writes(make_log: Make) -> None:
    log = make_log(
        posix=[{"id": 1, "rank": 0, "bytes_written": 7686, "meta_time": 0.019487, "write_time": 3.654749}],
        mpiio=[{"id": 2, "rank": -1, "bytes_written": 2466400536, "slowest_rank_time": 124.677478}],
        nprocs=24,
    )
    with Dataset(log) as data:
        rate = {row["interface"]: f"{row['mib_per_s_by_slowest']:.6f}" for row in data.metric("perf")}
        assert rate == {"posix": "0.001995", "mpiio": "18.865820"}
