"""Named queries of a lake whose counters are known."""

from __future__ import annotations

import csv
import datetime
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
from here import run_here
from iolens.error import IolensError
from iolens.fleet import Lake
from iolens.fleet.saved_queries import ask, find_query, parse, queries, statement
from iolens.metrics import Dataset
from iolens.schemas import load
from jsonschema import Draft202012Validator
from small_lake import GIB, MIB, small_lake

Fleet = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_lake(tmp_path_factory)


@pytest.fixture
def data(lake: Path) -> Iterator[Any]:
    with Lake(lake).open() as opened:
        yield opened


@pytest.fixture
def fleet(lake: Path) -> Fleet:
    return lambda *args: run_here("fleet", *args, "--lake", lake)


def test_every_query_has_the_columns_that_it_describes(data: Any) -> None:
    data.connection.execute("CREATE TEMP TABLE series (name VARCHAR, time TIMESTAMP, value DOUBLE)")
    for name, query in queries().items():
        sql, values = statement(name)
        result = data.query(sql, values) if values else data.query(sql)
        if query.columns:
            assert [column[0] for column in result.description] == [c.name for c in query.columns], name
        assert all(one.doc for one in (*query.parameters, *query.columns)), name


def test_top_users(data: Any) -> None:
    rows = ask(data, "top_users", by="bytes").dicts()
    assert [(r["user"], r["jobs"], r["applications"], r["bytes_read"], r["bytes_written"]) for r in rows] == [
        ("bob", 2, 1, 10 * GIB, 0),
        ("alice", 6, 1, 0, 21 * MIB),
        ("carol", 1, 1, 0, 0),
    ]
    assert [r["core_hours"] for r in rows] == pytest.approx(
        [4 * 60 / 3600, 24 * 100 / 3600, 192 * 600 / 3600]
    )
    assert [r["io_time"] for r in rows] == pytest.approx([60.0, 20.0, 31.0])
    assert [r["small_writes"] for r in rows] == [0, 6000, 0]
    for by, first in (("metadata", "carol"), ("small", "alice"), ("jobs", "alice"), ("io", "bob")):
        assert ask(data, "top_users", by=by, rows=1).rows[0][0] == first


def test_top_applications_are_programs_without_interpreter(data: Any) -> None:
    assert [r[:3] for r in ask(data, "top_applications", by="io").rows] == [
        ("train.py", 2, 1),
        ("meta", 1, 1),
        ("sim", 6, 1),
    ]


def test_time_lost_is_that_of_the_costliest_finding(data: Any) -> None:
    most = {
        log: lost
        for log, lost in data.query(
            "SELECT log, max(time_lost) FROM finding WHERE severity IN ('high', 'medium') GROUP BY log"
        ).fetchall()
        if lost is not None
    }
    assert [r for r in ask(data, "job_list").dicts() if r["time_lost"] and not r["findings"]] == []
    users = dict(data.query('SELECT log, "user" FROM job').fetchall())
    expected: dict[str, float] = {}
    for log, lost in most.items():
        expected[users[log]] = expected.get(users[log], 0) + lost
    rows = ask(data, "top_users").dicts()
    assert expected["bob"] > 0
    assert {r["user"]: r["time_lost"] for r in rows if r["time_lost"] is not None} == pytest.approx(expected)
    assert [r["time_lost"] or 0 for r in rows] == sorted((r["time_lost"] or 0 for r in rows), reverse=True)


def test_top_files_are_files_over_all_jobs(data: Any) -> None:
    rows = ask(data, "top_files", by="bytes").dicts()
    assert [(r["file"], r["jobs"], r["users"], r["bytes_read"], r["bytes_written"]) for r in rows] == [
        ("/data/set/all", 2, 1, 10 * GIB, 0),
        ("/scratch/alice/run/out", 6, 1, 0, 21 * MIB),
        ("/home/carol/f", 1, 1, 0, 0),
    ]
    assert [r["io_time"] for r in rows] == pytest.approx([120.0, 80.0, 192 * 31.0])
    assert [r["file"] for r in ask(data, "top_files", by="small", user="alice").dicts()] == [
        "/scratch/alice/run/out"
    ]
    assert ask(data, "top_files", by="metadata", rows=1).rows[0][0] == "/home/carol/f"


def test_top_directories(data: Any) -> None:
    rows = ask(data, "top_directories", by="bytes").dicts()
    assert [(r["directory"], r["files"], r["bytes_read"]) for r in rows] == [
        ("/data/set", 1, 10 * GIB),
        ("/scratch/alice/run", 1, 0),
        ("/home/carol", 1, 0),
    ]
    assert [r[0] for r in ask(data, "top_directories", by="bytes", depth=1).rows] == [
        "/data",
        "/scratch",
        "/home",
    ]


def test_only_some_jobs(data: Any, lake: Path) -> None:
    assert [r[0] for r in ask(data, "top_users", application="sim").rows] == ["alice"]
    assert ask(data, "top_users", cluster="elsewhere").rows == []
    assert len(ask(data, "top_users", cluster="hopper").rows) == 3
    with Lake(lake).open(since=datetime.date(2026, 11, 2), until=datetime.date(2026, 11, 2)) as day:
        assert sorted(r[:2] for r in ask(day, "top_users").rows) == [("alice", 1), ("bob", 1)]


def test_metrics_of_a_lake_are_those_of_its_logs(data: Any) -> None:
    for log, path in data.query("SELECT log, path FROM job").fetchall():
        kept = dict(data.query(f'SELECT name, "value" FROM metric WHERE log = {log}').fetchall())
        with Dataset(path) as alone:
            for name, value in kept.items():
                assert value == alone.value(name), (path, name)
            assert kept["io_time"] == alone.metric("headline")[0]["io_time"]


def test_screens_have_the_form_of_the_study(fleet: Fleet) -> None:
    done = fleet("screen", "--threshold", "bytes=1GiB", "--threshold", "writes=500")
    assert done.returncode == 0
    assert [" ".join(line.split()) for line in done.stdout.splitlines()] == [
        "Jobs that read data more than once [screen_redundant_reads]",
        "Threshold > 1 GiB",
        "Total jobs analyzed 9",
        "Jobs matching metric 2",
        "Unique users matching metric 1",
        "Largest single-job redundant read volume 4 GiB",
        "",
        "Jobs that spend their I/O time in metadata [screen_metadata]",
        "Threshold meta_time / nprocs > 30 s; nprocs >= 192; metadata_ratio >= 25 %",
        "Total jobs analyzed 9",
        "Jobs matching metric 1",
        "Unique users matching metric 1",
        "Largest single-job metadata ratio 100 %",
        "",
        "Jobs with very many small writes to shared files [screen_small_writes]",
        "Threshold > 500 small writes; 0 collective writes",
        "Total jobs analyzed 9",
        "Jobs matching metric 6",
        "Unique users matching metric 1",
        "Largest single-job small write count 1,000",
    ]


@pytest.mark.parametrize(
    ("threshold", "matching"),
    [
        ({}, [0, 1, 0]),
        ({"bytes": 4 * GIB - 1}, [2, 1, 0]),
        ({"bytes": 4 * GIB}, [0, 1, 0]),
        ({"writes": 999}, [0, 1, 6]),
        ({"writes": 1000}, [0, 1, 0]),
        ({"ranks": 193}, [0, 0, 0]),
        ({"seconds": 31}, [0, 0, 0]),
        ({"ratio": 1}, [0, 1, 0]),
    ],
)
def test_thresholds_of_screens(data: Any, threshold: dict[str, float], matching: list[int]) -> None:
    assert [row["matching"] for row in ask(data, "screen", **threshold).dicts()] == matching


def test_a_job(data: Any, fleet: Fleet) -> None:
    (row,) = ask(data, "job", id=105).dicts()
    assert (row["user"], row["application"], row["cluster"], row["nprocs"]) == ("alice", "sim", "hopper", 4)
    assert (row["start"], row["run_time"]) == (datetime.datetime(2026, 11, 6, 10, 30), 100)
    assert (row["io_time"], row["bytes_written"]) == (10.0, 6 * MIB)
    rules = [r["rule"] for r in ask(data, "job_findings", id=200).dicts()]
    assert "redundant_reads" in rules
    assert "train.py" in fleet("job", "200").stdout
    done = fleet("job", "999")
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.endswith(": no job 999 in the lake\n")


def test_findings_are_by_user_application_and_rule(data: Any) -> None:
    rows = ask(data, "findings", severity="good", rows=1000).dicts()
    keys = [(r["rule"], r["user"], r["application"]) for r in rows]
    assert len(keys) == len(set(keys))
    found = [(r["rule"], r["jobs"], str(r["first"]), str(r["last"])) for r in rows if r["user"] == "bob"]
    assert ("redundant_reads", 2, "2026-11-01", "2026-11-02") in found
    assert sum(r["jobs"] for r in rows) == data.query("SELECT count(*) FROM finding").fetchone()[0]
    (one,) = ask(data, "findings", rule="redundant_reads", severity="good").dicts()
    assert (
        one["user"] == "bob"
        and one["job_id"] in (200, 201)
        and one["time_lost"] == pytest.approx(2 * one["worst"])
    )


def test_new_findings_are_those_that_no_earlier_job_had(data: Any) -> None:
    """A job of the same user and application had `no_mpiio` before: it is no news of that week."""
    asked = {"since": "2026-11-06", "severity": "good", "rows": 100}
    found = {
        new: {(row["rule"], row["user"]) for row in ask(data, "findings", new=new, **asked).dicts()}
        for new in (0, 1)
    }
    assert found[0] - found[1] == {
        ("no_mpiio", "alice"),
        ("rewritten_data", "alice"),
        ("mostly_writes", "alice"),
    }
    assert {user for _, user in found[1]} == {"carol"} and ("metadata_time", "carol") in found[1]


def test_days_are_compared_with_those_before(data: Any) -> None:
    rows = ask(data, "periods", days=3, until="2026-11-06").dicts()
    told = [
        (r["account"], r["application"], r["jobs"], r["jobs_before"], r["io_time"], r["io_time_before"])
        for r in rows
    ]
    assert told == [("", "sim", 3, 3, 14, 6), ("", "train.py", 0, 2, 0, 60)]
    assert [(r["core_hours"], r["time_lost_before"]) for r in rows] == [
        (pytest.approx(3 * 4 * 100 / 3600), 0), (0, 48),
    ]  # fmt: skip
    (row,) = ask(data, "periods", user="carol").dicts()
    assert (row["application"], row["jobs"], row["jobs_before"]) == ("meta", 1, 0)
    assert ask(data, "periods", until="2026-10-01").rows == []


def test_history_and_drift(data: Any, fleet: Fleet) -> None:
    rows = ask(data, "history", application="sim").dicts()
    assert [r["job_id"] for r in rows] == list(range(100, 106)) and {r["peers"] for r in rows} == {6}
    assert [r["io_time_place"] for r in rows] == [0, 0, 0, 0, 0, 1]
    assert [r["rate"] for r in rows] == pytest.approx(
        [n * MIB / s for n, s in zip(range(1, 7), [2] * 5 + [10])]
    )
    assert [round(5 * r["rate_place"]) for r in rows] == [
        0,
        2,
        3,
        4,
        5,
        1,
    ]  # 0.5, 1, ... 2.5, and at last 0.6 MiB/s
    (drift,) = ask(data, "drift", application="sim", recent=1).dicts()
    assert (drift["runs"], drift["earlier"], drift["recent"], drift["change"], drift["drift"]) == (
        6,
        2,
        10,
        5,
        "slower",
    )
    (steady,) = ask(data, "drift", application="sim", recent=3).dicts()
    assert (steady["recent"], steady["drift"]) == (2, "")
    told = fleet("history", "sim", "--recent", "1").stdout
    assert "job 105 of alice, 2026-11-06 10:30 UTC, 4 processes, compared with 5 other runs" in told
    assert "▁▁▁▁▁█" in told and "quarter 4 of 4" in told and "slower" in told
    assert "job 103" in fleet("history", "sim", "--job", "103").stdout
    assert fleet("history", "nothing").returncode == 2


SERIES = """time,load,full
2026-11-01T10:00:00,1,50
2026-11-01T10:59:59,3,
2026-11-01T11:00:00,99,
2026-11-06T11:30:00+01:00,8,70
"""


def test_the_state_of_the_file_system_at_that_hour(lake: Path, fleet: Fleet, tmp_path: Path) -> None:
    path = tmp_path / "series.csv"
    path.write_text(SERIES)
    told = json.loads(fleet("history", "sim", "--json", "--series", str(path)).stdout)
    Draft202012Validator(load("fleet")).validate(told)
    runs, states = told["answers"][0]["rows"], told["answers"][-1]["rows"]
    jobs = {row["log"]: row["job_id"] for row in runs}
    assert sorted((jobs[s["log"]], s["series"], s["value"], s["place"]) for s in states) == [
        (100, "full", 50, 0),
        (100, "load", 2, 0),  # the mean of the hour in which it ran
        (105, "full", 70, 1),
        (105, "load", 8, 1),
    ]
    assert "load" in fleet("history", "sim", "--series", str(path)).stdout


def test_series_from_prometheus(lake: Path, fleet: Fleet, tmp_path: Path) -> None:
    begin = 1793961000  # 2026-11-06T10:30Z
    series = {
        "metric": {"__name__": "ost_load", "fs": "scratch"},
        "values": [[begin, "4"], [begin + 60, "6"], [begin, "NaN"]],
    }
    path = tmp_path / "answer.json"
    path.write_text(json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [series]}}))
    told = json.loads(fleet("history", "sim", "--json", "--series", str(path)).stdout)
    assert [(s["series"], s["value"]) for s in told["answers"][-1]["rows"]] == [('ost_load{fs="scratch"}', 5)]
    path.write_text("{}")
    done = fleet("history", "sim", "--series", str(path))
    assert done.returncode == 3 and "the answer of Prometheus" in done.stderr
    path.write_text("a,b\n1,2\n")
    assert "expected a column time" in fleet("history", "sim", "--series", str(path)).stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["top", "users"],
        ["top", "files", "--by", "bytes"],
        ["top", "directories", "--depth", "2"],
        ["job", "200"],
        ["findings", "--severity", "good"],
        ["history", "sim"],
        ["screen", "--jobs"],
    ],
)
def test_json_by_its_schema_and_csv(fleet: Fleet, arguments: list[str]) -> None:
    told = json.loads(fleet(*arguments, "--json").stdout)
    Draft202012Validator(load("fleet")).validate(told)
    rows = told["answers"][0]["rows"]
    assert rows
    listed = list(csv.DictReader(io.StringIO(fleet(*arguments, "--csv").stdout)))
    assert len(listed) == len(rows) and list(listed[0]) == list(rows[0])
    assert fleet(*arguments).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["top", "user"], "users"),
        (["top", "files", "--by", "jobs"], "--by jobs goes with users and applications"),
        (["top", "users", "--depth", "1"], "--depth goes with directories"),
        (["findings", "--rule", "sync_strom"], 'unknown rule "sync_strom"'),
        (["screen", "--threshold", "byte=1"], "write NAME=NUMBER with"),
        (["screen", "--threshold", "bytes=x"], '"x" is no number'),
        (["screen", "--threshold", "bytes=1e400"], '"1e400" is no number'),
        (["top", "users", "--since", "yesterday"], "--since"),
    ],
)
def test_mistakes_are_one_line(fleet: Fleet, arguments: list[str], problem: str) -> None:
    done = fleet(*arguments)
    assert (
        (done.returncode, done.stdout) == (2, "") and problem in done.stderr and done.stderr.count("\n") == 1
    )


def test_headers_are_checked() -> None:
    with pytest.raises(ValueError, match="lacks title or definition"):
        parse("x", "-- title: a\nSELECT 1")
    with pytest.raises(ValueError, match="not understood"):
        parse("x", "-- what is this\nSELECT 1")
    with pytest.raises(IolensError, match="did you mean top_users"):
        find_query("top_user")


def test_the_reference_page_is_that_of_the_files(root: Path, tmp_path: Path) -> None:
    page = tmp_path / "queries.md"
    subprocess.run([sys.executable, root / "tools" / "querypage.py", page], check=True)
    assert page.read_text() == (root / "docs" / "reference" / "queries.md").read_text()
