"""Generated populations: as many as asked for, the same again, and with what their truth says of them."""

from __future__ import annotations

import csv
import hashlib
import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from iolens.metrics import Dataset

FOLDER = Path(__file__).resolve().parents[2] / "bench" / "fleetgen"
SMALL = {"logs": 600, "days": 20, "users": 60, "files": 12, "most": 300}


@pytest.fixture(scope="module")
def fleetgen() -> ModuleType:
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module("generate")
    finally:
        sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def made(fleetgen: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("population")
    fleetgen.generate(out, **SMALL, screened=12)
    return out


def truth_of(made: Path) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads((made / "truth.json").read_text())
    return truth


def listed(made: Path) -> list[dict[str, str]]:
    with (made / "logs.csv").open() as file:
        return list(csv.DictReader(file))


def digest(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_the_same_seed_makes_the_same_bytes_with_any_number_of_workers(
    fleetgen: ModuleType, tmp_path: Path
) -> None:
    few = {**SMALL, "logs": 40}
    for name, seed, workers in (("a", 7, 1), ("b", 7, 3), ("c", 8, 1)):
        fleetgen.generate(tmp_path / name, **few, seed=seed, workers=workers)
    assert digest(tmp_path / "a") == digest(tmp_path / "b")
    assert not set(digest(tmp_path / "a").values()) & set(digest(tmp_path / "c").values())


def test_logs_are_where_darshans_sites_have_them(made: Path) -> None:
    paths = [str(path.relative_to(made / "logs")) for path in (made / "logs").rglob("*.darshan")]
    assert sorted(paths) == sorted(row["path"] for row in listed(made))
    assert len(paths) == truth_of(made)["logs"] == SMALL["logs"]
    for row in listed(made):
        assert f"{row['user']}_{row['program']}_id{row['job']}-" in row["path"]
        assert row["path"].startswith("2013/1/")


def test_metrics_of_the_logs_are_what_the_generator_knows(made: Path) -> None:
    rows = listed(made)
    with Dataset([made / "logs" / row["path"] for row in rows]) as data:
        redundant = dict(data.query("SELECT log, value FROM metric.redundant_reads").fetchall())
        metadata = data.query("SELECT log, value, matches FROM metric.metadata_ratio").fetchall()
        small = data.query("SELECT log, value, notice, matches FROM metric.small_shared_writes").fetchall()
        moved = data.query(
            "SELECT log, sum(bytes_read), sum(bytes_written) FROM posix GROUP BY log"
        ).fetchall()
        records = data.query(
            "SELECT (SELECT count(*) FROM posix) + (SELECT count(*) FROM mpiio) + (SELECT count(*) FROM stdio)"
        ).fetchone()
    assert records == (truth_of(made)["records"],)
    assert [redundant[log] for log in range(len(rows))] == [int(row["redundant"]) for row in rows]
    for log, value, matches in metadata:
        assert (value or 0) == pytest.approx(
            float(rows[log]["metadata_ratio"]), abs=2e-3
        )  # times are in steps of a microsecond
        assert matches == bool(int(rows[log]["screened"]) & 2)
    for log, value, notice, matches in small:
        assert (value or 0) == int(rows[log]["small_writes"])
        assert (notice, matches) == (
            bool(int(rows[log]["screened"]) & 8),
            bool(int(rows[log]["screened"]) & 4),
        )
    for log, read, written in moved:
        assert read <= int(rows[log]["bytes_read"]) and written <= int(rows[log]["bytes_written"])


def test_as_many_are_to_be_found_as_on_hopper(made: Path) -> None:
    found = truth_of(made)["screened"]
    # 12 times Hopper's share of 600 logs: 599, 180, 72, 220 and 660 of 261,890.
    assert {name: row["jobs"] for name, row in found.items() if name != "analysed"} == {
        "redundant_reads": 16 + 2,
        "metadata_ratio": 5 + 2,
        "redundant_reads_and_metadata_ratio": 2,
        "small_shared_writes": 6,
        "small_shared_writes_notice": 6 + 18,
    }


def test_accounting_and_its_coverage_agree_with_the_logs(made: Path) -> None:
    truth = truth_of(made)
    with (made / "accounting.txt").open() as file:
        lines = list(csv.DictReader(file, delimiter="|"))
    jobs = [line for line in lines if "." not in line["JobID"]]
    assert len(jobs) == truth["accounted_jobs"] == sum(day["jobs"] for day in truth["coverage"])
    assert len({line["JobIDRaw"] for line in jobs}) == len(jobs)
    logged = {row["job"] for row in listed(made)}
    has = [line for line in jobs if line["JobIDRaw"] in logged]
    assert len(has) == sum(day["jobs_logged"] for day in truth["coverage"])
    assert sum(int(line["CPUTimeRAW"]) for line in has) == sum(
        day["core_seconds_logged"] for day in truth["coverage"]
    )
    assert all(line["Comment"] == "iolens" for line in has)
    without = [line for line in jobs if line["Comment"] and line["JobIDRaw"] not in logged]
    by_state = {state: row["no_log"] for state, row in truth["started"].items()}
    for state, number in by_state.items():
        assert sum(line["State"].startswith(state) for line in without) == number
    assert sum(by_state.values()) > 100
    assert any("_" in line["JobID"] for line in has)


def test_damaged_logs_cannot_be_read_and_are_counted(fleetgen: ModuleType, tmp_path: Path) -> None:
    truth = fleetgen.generate(tmp_path / "d", **{**SMALL, "logs": 50}, damaged=7)
    sizes = [path.stat().st_size for path in (tmp_path / "d" / "logs").rglob("*.darshan")]
    assert truth["damaged"] == sizes.count(700) == 7
    assert truth["bytes"] == sum(sizes)


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--logs=0", "--logs: 0 is no number of 1 or more"),
        ("--logs=9x", "--logs: 9x is no number"),
        ("--start=1.1.2013", "--start: 1.1.2013 is no date as 2013-01-01"),
    ],
)
def test_wrong_options_are_told_in_a_line(
    fleetgen: ModuleType, tmp_path: Path, option: str, told: str
) -> None:
    ended = subprocess.run(
        [fleetgen.build(), tmp_path / "x", option], check=False, capture_output=True, text=True
    )
    assert ended.returncode == 2
    assert told in ended.stderr
