"""What holds for all metrics: they take any log, and many logs at once."""

from __future__ import annotations

import gzip
import math
from pathlib import Path
from typing import Any

import pytest
from iolens.metrics import Dataset, metrics
from logmaker import LogMaker
from made_log import Make
from observed import Observe


@pytest.fixture(scope="module")
def logs(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Every log of the corpus."""
    folder = tmp_path_factory.mktemp("logs")
    found = []
    for path in sorted((corpus / "logs").iterdir()):
        if path.suffix == ".gz":
            (folder / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
            found.append(folder / path.stem)
        else:
            found.append(path)
    return found


@pytest.fixture(scope="module")
def all_logs(logs: list[Path]) -> Any:
    with Dataset(logs) as data:
        yield data


def finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


@pytest.mark.parametrize("metric", list(metrics()))
def test_it_takes_all_logs_of_all_versions_at_once(all_logs: Dataset, logs: list[Path], metric: str) -> None:
    rows = all_logs.metric(metric)
    assert all(row["log"] is None or 0 <= row["log"] < len(logs) for row in rows)  # None: of all together
    assert all(finite(value) for row in rows for value in row.values())
    if metrics()[metric].layout == "value":
        assert [row["log"] for row in rows] == list(range(len(logs)))
    assert not all_logs.problems


@pytest.mark.parametrize("metric", list(metrics()))
def test_it_takes_a_log_without_data(tmp_path: Path, metric: str) -> None:
    (tmp_path / "log").write_bytes(bytes(LogMaker()))
    with Dataset(tmp_path / "log") as data:
        rows = data.metric(metric)
        if metrics()[metric].layout == "value":
            assert len(rows) == 1


def _comparable(rows: list[dict[str, Any]]) -> list[Any]:
    return sorted(
        (
            tuple(f"{v:.9g}" if isinstance(v, float) else str(v) for k, v in row.items() if k != "log")
            for row in rows
        ),
    )


@pytest.mark.parametrize(
    "log",
    [
        "imbalanced-io",
        "ior-hdf5",
        "mpi-io-test-dxt",
        "nonmpi-dxt-anonymized",
        "skew-app",
        "release-x86_64-3.4.7",
    ],
)
def test_a_log_has_the_same_numbers_alone_and_among_others(
    all_logs: Dataset, logs: list[Path], log: str
) -> None:
    number = next(n for n, path in enumerate(logs) if path.stem == log)
    with Dataset(logs[number]) as alone:
        for metric in set(metrics()) - {"workflow", "intervals"}:  # these are of all logs together
            among = [row for row in all_logs.metric(metric) if row["log"] == number]
            assert _comparable(among) == _comparable(alone.metric(metric)), metric


def test_it_takes_a_log_with_all_sections(observe: Observe, tmp_path: Path) -> None:
    with Dataset(observe(["sh", "-c", f"echo a > {tmp_path}/a; cat {tmp_path}/a"]).log) as data:
        for metric in metrics():
            assert all(row["log"] in (0, None) for row in data.metric(metric)), metric
        assert {"headline", "tree", "ranks", "timeline_union", "unseen"} <= {
            m for m in metrics() if data.metric(m)
        }


def test_rows_that_no_sum_can_hold_are_a_problem_and_no_crash(tmp_path: Path) -> None:
    huge = {
        "bytes_read": 1 << 62,
        "reads": 1 << 62,
        "size_read": [1 << 62] * 10,
        "max_byte_read": (1 << 63) - 1,
    }
    log = Make(tmp_path)(posix=[{"id": n, "rank": n % 4, **huge} for n in range(12)], nprocs=4)
    with Dataset(log) as data:
        for metric in metrics():
            assert isinstance(data.metric(metric), list)
        assert [p.args[0] for p in data.problems] == [
            "12 rows of posix left out: no program reaches such numbers"
        ]
