"""Data sets of parsed logs, as sites publish them: a row per job with totals, or a row per record."""

from __future__ import annotations

import csv
import datetime
import subprocess
from pathlib import Path
from typing import Any, Callable

import duckdb
import pytest
from iolens.error import IolensError
from iolens.fleet.published import Published
from iolens.fleet.published.columns import counters, fields_of
from iolens.metrics import Dataset
from iolens.metrics.views import INTERFACES

HEAD = "uid,jobid,start_time,end_time,exe,nprocs,runtime".split(",")
TOTALS = [
    *HEAD,
    *("total_POSIX_OPENS", "total_POSIX_BYTES_READ", "total_POSIX_F_READ_TIME", "total_POSIX_F_META_TIME"),
    *("total_POSIX_SIZE_READ_0_100", "total_POSIX_SIZE_READ_1G_PLUS", "total_MPIIO_INDEP_OPENS"),
    *("total_STDIO_OPENS", "agg_perf_by_slowest"),
]
# The second job has no POSIX, none has MPI-IO. Numbers passed through pandas, as those of published files often did.
ROWS = [
    [
        "8f14e45f",
        "77",
        1546300800,
        1546304400,
        "c9f0f895",
        64,
        3600,
        "10.0",
        1048576,
        128.0,
        64.5,
        5,
        6,
        "",
        3,
        12.5,
    ],
    ["501", "78", 1546300900, 1546300960, "/sw/bin/vasp", 4, 60, "", "", "", "", "", "", "", 1, ""],
    ["8f14e45f", "d3d94468", 1546387200, "", "c9f0f895", 1, 30, 1, 0, 0, 0, 0, 0, "", "", ""],
]
Row = dict[str, Any]


def write_csv(path: Path, head: list[str], rows: list[list[Any]]) -> Path:
    with path.open("w", newline="") as out:
        csv.writer(out).writerows([head, *rows])
    return path


def as_parquet(path: Path) -> Path:
    made = path.with_suffix(".parquet")
    with duckdb.connect() as connection:
        connection.execute(f"COPY (FROM read_csv('{path}')) TO '{made}' (FORMAT parquet)")
    return made


def tables(path: Path, first: int = 0) -> dict[str, list[Row]]:
    """Table -> its rows, what is null left out, in order of logs and ids."""
    found: dict[str, list[Row]] = {}
    with duckdb.connect() as connection:
        for name, query in Published(connection, str(path), first).tables():
            result = connection.execute(query)
            names = [column[0] for column in result.description or ()]
            rows = [dict(zip(names, row)) for row in result.fetchall()]
            found[name] = sorted(
                ({k: v for k, v in row.items() if v is not None} for row in rows),
                key=lambda row: (row["log"], row.get("id", 0), row.get("rank", 0)),
            )
    return found


@pytest.fixture(params=["csv", "parquet"])
def totals(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = write_csv(tmp_path / "jobs.csv", TOTALS, ROWS)
    return path if request.param == "csv" else as_parquet(path)


def test_a_row_of_totals_is_a_job(totals: Path) -> None:
    first, second, third = tables(totals, 100)["job"]
    assert first["path"] == f"{totals}#1" and (first["log"], third["log"]) == (100, 102)
    assert (first["user"], first["job_id"], first["exe"]) == ("8f14e45f", 77, "c9f0f895")
    assert (first["nprocs"], first["run_time"], first["format"]) == (64, 3600.0, "totals")
    assert (first["start"], first["end"]) == (datetime.datetime(2019, 1, 1), datetime.datetime(2019, 1, 1, 1))
    assert (second["user"], second["uid"], second["exe"]) == ("501", 501, "/sw/bin/vasp")
    # What is not there follows from the rest.
    assert third["end"] == datetime.datetime(2019, 1, 2, 0, 0, 30)


def test_hashed_users_and_job_ids_are_the_same_number_in_every_row_and_file(
    totals: Path, tmp_path: Path
) -> None:
    first, _, third = tables(totals)["job"]
    assert first["uid"] == third["uid"] > 501 and third["job_id"] > 0
    other = write_csv(tmp_path / "other.csv", TOTALS, ROWS[:1])
    assert tables(other)["job"][0]["uid"] == first["uid"]


def test_modules_that_were_absent_have_no_record(totals: Path) -> None:
    found = tables(totals)
    assert [row["log"] for row in found["posix"]] == [0, 2]
    assert [row["log"] for row in found["stdio"]] == [0, 1]
    assert found["mpiio"] == []
    assert [(row["log"], row["module"]) for row in found["module"]] == [
        (0, "posix"),
        (0, "stdio"),
        (1, "stdio"),
        (2, "posix"),
    ]


def test_totals_are_one_record_that_stands_for_no_single_file(totals: Path) -> None:
    found = tables(totals)
    one = found["posix"][0]
    assert {k: one[k] for k in ("rank", "opens", "bytes_read", "read_time", "meta_time")} == {
        "rank": -1,
        "opens": 10,
        "bytes_read": 1048576,
        "read_time": 128.0,
        "meta_time": 64.5,
    }
    assert one["size_read"] == [5, *[None] * 8, 6]
    assert one["slowest_rank_time"] == pytest.approx((128 + 64.5) / 64)  # the mean: it was at least that
    assert {row["name"] for row in found["name_of"]} == {"<other files>"}
    assert {row["id"] for row in found["name_of"]} == {one["id"]}


def test_columns_without_a_place_are_named(totals: Path) -> None:
    with duckdb.connect() as connection:
        assert Published(connection, str(totals)).columns.ignored == ["agg_perf_by_slowest"]


@pytest.mark.parametrize(
    "head",
    [
        "User_ID,JobID,Start,End,Executable,Ranks,Run Time",
        "user,job_id,start_timestamp,end_timestamp,app,num_procs,run_time",
    ],
)
def test_columns_may_be_called_otherwise(tmp_path: Path, head: str) -> None:
    path = write_csv(
        tmp_path / "a.csv", [*head.split(","), "Total_posix_opens"], [[7, 8, 9, 19, "x", 2, 10, 3]]
    )
    found = tables(path)
    assert found["job"][0] | {"path": ""} == {
        **{
            "log": 0,
            "path": "",
            "uid": 7,
            "user": "7",
            "job_id": 8,
            "nprocs": 2,
            "run_time": 10.0,
            "exe": "x",
        },
        **{"start": datetime.datetime(1970, 1, 1, 0, 0, 9), "end": datetime.datetime(1970, 1, 1, 0, 0, 19)},
        "format": "totals",
    }
    assert found["posix"][0]["opens"] == 3


@pytest.mark.parametrize(
    "start", ["1546300800", "1546300800000", "1546300800.0", "2019-01-01 00:00:00", "2019-01-01"]
)
def test_times_in_seconds_milliseconds_or_words(tmp_path: Path, start: str) -> None:
    path = write_csv(tmp_path / "a.csv", ["start_time", "total_POSIX_OPENS"], [[start, 1]])
    assert tables(path)["job"][0]["start"] == datetime.datetime(2019, 1, 1)


RECORDS = [
    *HEAD,
    "rank",
    "file_id",
    "mount_pt",
    "fs_type",
    "POSIX_OPENS",
    "POSIX_BYTES_WRITTEN",
    "STDIO_WRITES",
]


def test_a_row_per_record_is_a_job_per_set_of_facts(tmp_path: Path) -> None:
    job = ["u1", "j1", 100, 160, "e1", 2, 60]
    other = ["u1", "j2", 200, 260, "e1", 2, 60]
    path = write_csv(
        tmp_path / "records.csv",
        RECORDS,
        [
            [*job, 0, "aa", "/scratch", "lustre", 1, 100, ""],
            [*other, 0, "aa", "/scratch", "lustre", 1, 400, ""],
            [*job, 1, "aa", "/scratch", "lustre", 2, 200, ""],
            [*job, -1, "bb", "/home", "nfs", "", "", 9],
        ],
    )
    found = tables(path)
    assert [row["format"] for row in found["job"]] == ["records", "records"]
    assert [(row["log"], row["rank"], row["opens"], row["bytes_written"]) for row in found["posix"]] == [
        (0, 0, 1, 100),
        (0, 1, 2, 200),
        (1, 0, 1, 400),
    ]
    assert [(row["log"], row["rank"], row["writes"]) for row in found["stdio"]] == [(0, -1, 9)]
    ids = {row["id"] for row in found["posix"]}
    assert len(ids) == 1  # the same file in both jobs
    assert sorted((row["log"], row["name"]) for row in found["name_of"]) == [(0, "aa"), (0, "bb"), (1, "aa")]
    assert sorted((row["log"], row["mount"], row["file_system"]) for row in found["mount"]) == [
        (0, "/home", "nfs"),
        (0, "/scratch", "lustre"),
        (1, "/scratch", "lustre"),
    ]


def listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


LOGS = ["imbalanced-io", "skew-app", "ior-hdf5"]


@pytest.mark.parametrize("log", LOGS)
def test_every_record_of_a_log_comes_back(corpus: Path, tmp_path: Path, log: str) -> None:
    """Records written with Darshan's names, read again: the same tables, counter by counter."""
    compared = 0
    with Dataset(corpus / "logs" / f"{log}.darshan", every_column=True) as data:
        (job,) = data.rows("SELECT * FROM job")
        facts = [
            job["uid"],
            job["job_id"],
            job["start"],
            job["end"],
            job["exe"],
            job["nprocs"],
            job["run_time"],
        ]
        for module in INTERFACES:
            fields = [one for one in fields_of(module) if one.darshan]
            rows = data.rows(f"SELECT * FROM {module} ORDER BY id, rank")
            if not rows:
                continue
            flat = [
                [v for one in fields for v in (row[one.name] if one.count != 1 else [row[one.name]])]
                for row in rows
            ]
            path = write_csv(
                tmp_path / f"{module}.csv",
                [*HEAD, "id", "rank", *(name for one in fields for name in one.darshan)],
                [[*facts, row["id"], row["rank"], *values] for row, values in zip(rows, flat)],
            )
            found = tables(path)
            assert found[module] == [{k: listed(v) for k, v in row.items() if v is not None} for row in rows]
            compared += len(rows)
            (again,) = found["job"]
            assert [again[k] for k in ("uid", "job_id", "start", "nprocs", "run_time", "exe")] == [
                job[k] for k in ("uid", "job_id", "start", "nprocs", "run_time", "exe")
            ]
    assert compared > 0


def test_what_darshan_parser_calls_totals(
    corpus: Path, tmp_path: Path, run_iolens: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """`iolens show --total` has darshan-parser's lines: a published row is those of one job."""
    log = corpus / "logs" / "imbalanced-io.darshan"
    said = run_iolens(["show", "--total", "--show-incomplete", log]).stdout
    lines = [line.split(": ") for line in said.splitlines() if line.startswith("total_")]
    path = write_csv(
        tmp_path / "a.csv", ["nprocs", *(name for name, _ in lines)], [[496, *(v for _, v in lines)]]
    )
    found = tables(path)
    values = dict(lines)
    assert len(lines) > 100 and found["posix"][0]["bytes_read"] == int(values["total_POSIX_BYTES_READ"]) > 0
    for name, value in lines:
        known = counters().get(name.removeprefix("total_"))
        if known is None:
            continue
        module, field, element = known
        (row,) = found[module]
        if field == "slowest_rank_time":
            continue
        here = row.get(field) if not element else row[field][element - 1]
        assert here == pytest.approx(float(value)), name


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.csv", "uid,jobid\n1,2\n", "has no column with a name of Darshan's counters"),
        ("a.parquet", "no", "cannot be read"),
        ("a.csv", "", "has no column with a name"),
        ("a.csv", "a,b\n1,2\n3,4,5\n", "cannot be read"),
        ("a.json", "{}", "is neither .csv nor .parquet"),
    ],
)
def test_what_is_no_data_set_is_one_line(tmp_path: Path, name: str, text: str, problem: str) -> None:
    (tmp_path / name).write_text(text)
    with duckdb.connect() as connection, pytest.raises(IolensError) as raised:
        Published(connection, str(tmp_path / name))
    assert problem in str(raised.value) and "\n" not in str(raised.value) and raised.value.exit_code == 3
