"""Named queries by DuckDB and by Spark: the same rows in the same order; the commands print the same."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import places
import pytest
from iolens.fleet import Lake
from iolens.fleet.saved_queries import queries, statement
from iolens.fleet.series import load_series
from row_differences import differences
from small_lake import GIB, small_lake

pytestmark = pytest.mark.skipif("SPARK_TESTS" not in os.environ, reason="make spark-tests runs this")

_BY = ("time", "bytes", "metadata", "small")
_SCREENS = {"bytes": GIB, "ratio": 0.5, "seconds": 10, "ranks": 100, "writes": 500}

ASKED: dict[str, list[dict[str, Any]]] = {
    "top_users": [{"by": by} for by in (*_BY, "io", "jobs")] + [{"user": "alice"}],
    "top_applications": [{"by": by} for by in (*_BY, "io", "jobs")] + [{"rows": 2}],
    "top_files": [{"by": by} for by in _BY] + [{"rows": 1, "user": "alice"}, {"cluster": "elsewhere"}],
    "top_directories": [{"by": by, "depth": n} for n, by in enumerate(_BY)] + [{"application": "sim"}],
    "job": [{"id": 105}, {"id": 999}],
    "job_findings": [{"id": 200}],
    "jobs": [{}, {"user": "bob"}],
    "file_use": [{}, {"user": "bob"}, {"since": "2026-11-03", "until": "2026-11-06"}],
    "file_places": [{"by": by} for by in _BY] + [{"user": "bob"}],
    "job_costs": [{"by": by} for by in (*_BY, "io", "jobs")],
    "history": [{"application": "sim"}, {}],
    "drift": [{"recent": 1}, {"recent": 3, "factor": 1.01}],
    "findings": [
        {"severity": "good"},
        {"rule": "redundant_reads", "rows": 1},
        {"user": "carol"},
        {"new": 1, "since": "2026-11-06", "severity": "good"},
    ],
    "periods": [{"days": 3}, {"until": "2026-11-02", "user": "bob"}],
    "occurrences": [{"severity": "good"}, {}],
    "measured": [{}],
    "job_search": [{}, {"text": "SIM"}, {"since": "2026-11-02", "found": 1}],
    "job_list": [{}, {"by": "user", "down": 0, "rows": 3, "skip": 2}, {"by": "io_time"}],
    "job_count": [{}, {"text": "bob"}],
    "file_systems": [{}],
    "peaks": [{}],
    "projects": [{}],
    "storage_targets": [{}],
    "series_at": [{}, {"application": "sim"}],
    "screen": [{}, _SCREENS],
    "screen_redundant_reads": [{}, {"bytes": GIB}],
    "screen_metadata": [{}, {"ratio": 0.5}],
    "screen_small_writes": [{}, {"writes": 500}],
}
"""Query -> the values with which it is asked."""

_UNORDERED = {"jobs", "job_costs", "file_use", "file_places", "measured", "job_search"}

SERIES = """time,load,full
2026-11-01T10:00:00,1,50
2026-11-01T10:59:59,3,
2026-11-06T11:30:00+01:00,8,70
"""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_lake(tmp_path_factory)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process is in another zone of time: times must not come back in it."""
    import time

    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[list[str]], str]:
    """What a command prints that runs in this process, which has Spark's session."""
    from iolens.cli import main

    (tmp_path / "series.csv").write_text(SERIES)
    monkeypatch.chdir(tmp_path)

    def run(arguments: list[str]) -> str:
        monkeypatch.setattr(sys, "argv", ["iolens", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 0
        return capsys.readouterr().out

    return run


def test_named_queries_have_the_rows_that_duckdb_has(
    session: Any, lake: Path, tmp_path: Path, elsewhere: None
) -> None:
    from iolens.fleet.spark.data import SparkData

    (tmp_path / "series.csv").write_text(SERIES)
    wrong, rows = {}, dict.fromkeys(queries(), 0)
    with Lake(lake).open() as data, SparkData(data.lake, session, data.snapshot) as spark:
        load_series(data, (str(tmp_path / "series.csv"),))
        load_series(spark, (str(tmp_path / "series.csv"),))
        for name, values in [(query, values) for query in queries() for values in ASKED[query]]:
            sql, defaults = statement(name)
            parameters = {**defaults, **values}
            ordered = name not in _UNORDERED
            if found := differences(data, spark, sql, parameters, ordered=ordered):
                wrong[name, str(values)] = found[:2]
            rows[name] += len(data.query(sql, parameters).fetchall())
    assert not wrong
    # This lake has no accounting, no measurements and no Lustre file system.
    assert {name for name, n in rows.items() if not n} <= {"peaks", "projects", "storage_targets"}


def test_days_bound_what_is_asked(session: Any, lake: Path) -> None:
    from iolens.fleet.spark.data import SparkData

    day = datetime.date(2026, 11, 2)
    sql, values = statement("top_files")
    with (
        Lake(lake).open(since=day, until=day) as data,
        SparkData(Lake(lake), session, data.snapshot, since=day, until=day) as spark,
    ):
        assert differences(data, spark, sql, values, ordered=True) == []
        assert len(data.query(sql, values).fetchall()) == 2


def test_delta_of_spark_itself_has_the_rows_of_job(session: Any, lake: Path) -> None:
    """The lake is a Delta lake for other programs of Spark's, too, without anything of ours."""
    columns = 'log, "user", application, job_id, nprocs, epoch("start") AS at, run_time, exe, cluster, "day"'
    with Lake(lake).open() as data:
        want = data.query(f"SELECT {columns} FROM job ORDER BY log").fetchall()
    frame = session.read.format("delta").load(str(lake / "job"))
    assert frame.count() == len(want) == 9
    got = frame.orderBy("log").selectExpr(
        "log",
        "user",
        "application",
        "job_id",
        "nprocs",
        "unix_micros(start) / 1e6D",
        "run_time",
        "exe",
        "cluster",
        "day",
    )
    assert [tuple(row) for row in got.collect()] == want
    assert session.read.format("delta").option("versionAsOf", 0).load(str(lake / "job")).count() <= 9


@pytest.mark.parametrize(
    "arguments",
    [
        ["top", "files", "--by", "bytes"],
        ["top", "directories", "--depth", "1", "--csv"],
        ["job", "200"],
        ["findings", "--severity", "good", "--json"],
        ["history", "sim", "--recent", "1", "--series", "series.csv"],
        ["screen", "--jobs", "--threshold", "writes=500"],
    ],
)
def test_commands_print_the_same(
    session: Any, lake: Path, printed: Callable[[list[str]], str], arguments: list[str]
) -> None:
    asked = ["fleet", *arguments, "--lake", str(lake)]
    assert printed(asked) == printed([*asked, "--engine", "spark"]) != ""


def test_a_command_starts_spark_itself(lake: Path) -> None:
    spark = ["--engine", "spark", "--master", "local[1]", "--spark-conf", "spark.driver.memory=640m"]
    told = [
        json.loads(
            subprocess.run(
                [places.BIN, "fleet", "job", "105", "--lake", str(lake), "--json", *engine],
                check=True,
                capture_output=True,
                encoding="utf-8",
            ).stdout
        )
        for engine in ([], spark)
    ]
    assert told[0]["answers"][0]["rows"] == told[1]["answers"][0]["rows"] != []
