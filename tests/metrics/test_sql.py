"""iolens sql: the tables of logs, and nothing else."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest
from here import Run, in_this_process
from iolens.metrics import MODULES, SECTIONS, Dataset
from iolens.metrics.columns import DESCRIBED, columns_of, described_tables
from made_log import Make


@pytest.fixture
def run_iolens(run_iolens: Run) -> Run:
    return in_this_process(run_iolens)


@pytest.fixture
def sql(run_iolens: Run, corpus: Path) -> Run:
    def ask(statement: str, *options: str, log: str = "ior-hdf5") -> subprocess.CompletedProcess[str]:
        return run_iolens(["sql", corpus / "logs" / f"{log}.darshan", statement, *options])

    return ask


def test_the_same_rows_in_all_forms(sql: Run) -> None:
    statement = "select interface, bytes from metric.perf order by interface"
    expected = [{"interface": "mpiio", "bytes": 8398304}, {"interface": "posix", "bytes": 8398304}]
    expected.append({"interface": "stdio", "bytes": 2050})
    assert json.loads(sql(statement, "--format", "json").stdout) == expected
    rows = list(csv.DictReader(sql(statement, "--format", "csv").stdout.splitlines()))
    assert [{**row, "bytes": int(row["bytes"])} for row in rows] == expected
    assert [line.split() for line in sql(statement).stdout.splitlines()[3:] if line.strip()] == [
        [str(value) for value in row.values()] for row in expected
    ]
    lines = sql(statement, "--format", "lines").stdout.splitlines()
    assert lines[:3] == ["row 1", "  interface  mpiio", "  bytes      8398304"]


def test_times_have_a_zone_wherever_the_user_is(iolens: Path, tmp_path: Path) -> None:
    start = int(time.time()) - 27 * 3600
    log = Make(tmp_path)(posix=[{"id": 1, "opens": 1}], start=start, end=start + 10)
    statement = "select start, start > now() - interval '1 day' as late from job"
    command = [iolens, "sql", log, statement, "--format"]
    there = {**os.environ, "TZ": "America/Chicago"}
    said = [
        subprocess.run([*command, form], env=there, capture_output=True, text=True, check=True).stdout
        for form in ("json", "csv", "table", "lines")
    ]
    written = f"{datetime.fromtimestamp(start, timezone.utc):%Y-%m-%dT%H:%M:%S}Z"
    assert json.loads(said[0]) == [{"start": written, "late": False}]
    assert all(written in text for text in said)


def test_record_ids_are_texts_in_json(run_iolens: Run, tmp_path: Path) -> None:
    ids = [5, 2**53 + 1, 2**64 - 3]
    log = Make(tmp_path)(posix=[{"id": id, "opens": 1} for id in ids])
    statement = f"select id, {2**53} as n, {2**53 + 1} as more from posix order by id"
    rows = json.loads(run_iolens(["sql", log, statement, "--format", "json"]).stdout)
    assert rows == [{"id": str(id), "n": 2**53, "more": str(2**53 + 1)} for id in ids]
    done = run_iolens(["sql", log, f"select id from posix where id = '{ids[2]}'", "--format", "csv"])
    assert done.stdout.split() == ["id", str(ids[2])], "what was copied is found"


def test_tables_can_be_listed(sql: Run) -> None:
    rows = json.loads(sql("show tables", "--format", "json").stdout)
    assert {row["name"] for row in rows} >= {*MODULES, *SECTIONS, "job", "file", "record", "name"}
    columns = json.loads(sql("describe file", "--format", "json").stdout)
    assert {"name", "bytes_read", "total_time"} <= {row["column_name"] for row in columns}


def test_every_column_is_described(run_iolens: Run, corpus: Path) -> None:
    with Dataset(corpus / "logs" / "ior-hdf5.darshan", every_column=True) as data:
        for table in described_tables():
            there = [row["column_name"] for row in data.rows(f'DESCRIBE "{table}"')]
            assert there == [column.name for column in columns_of(table)], table
            if table in DESCRIBED:
                assert all(column.doc for column in columns_of(table)), table
    rows = json.loads(run_iolens(["sql", "--describe", "file", "posix", "--format", "json"]).stdout)
    assert [row for row in rows if row["column"] == "bytes_read"] == [
        {"table": "file", "column": "bytes_read", "unit": "bytes", "meaning": "by these calls"},
        {"table": "posix", "column": "bytes_read", "unit": "bytes", "meaning": "Bytes read."},
    ]
    assert {
        row["table"] for row in json.loads(run_iolens(["sql", "--describe", "--format", "json"]).stdout)
    } == {*DESCRIBED}
    done = run_iolens(["sql", "--describe", "fiel"])
    assert done.returncode == 2 and 'unknown table "fiel": did you mean file' in done.stderr


def test_the_page_of_tables_is_made_of_the_same(root: Path, tmp_path: Path) -> None:
    page = tmp_path / "tables.md"
    subprocess.run([sys.executable, root / "tools" / "tablepage.py", page], check=True)
    assert page.read_text() == (root / "docs" / "reference" / "tables.md").read_text()


def test_all_counters_are_there(sql: Run) -> None:
    assert json.loads(sql("select sum(rw_switches)::bigint as n from posix", "--format", "json").stdout) == [
        {"n": 4}
    ]


def test_many_logs_are_told_apart(run_iolens: Run, corpus: Path) -> None:
    logs = sorted((corpus / "logs").glob("release-*.darshan"))
    done = run_iolens(
        ["sql", *logs, "select log, count(*) as n from record group by log order by log", "--format", "csv"]
    )
    assert [line.split(",")[0] for line in done.stdout.splitlines()[1:]] == [str(n) for n in range(len(logs))]


@pytest.mark.parametrize(
    "statement",
    [
        "select * from read_csv('/etc/passwd')",
        "select * from read_text('{secret}')",
        "copy (select * from job) to '{target}'",
        "attach '{target}'",
        "export database '{target}'",
        "set enable_external_access = true",
        "set memory_limit = '100GB'",
        "install httpfs",
        "select * from glob('/etc/*')",
    ],
)
def test_statements_reach_nothing_but_the_logs(sql: Run, tmp_path: Path, statement: str) -> None:
    (tmp_path / "secret").write_text("secret")
    done = sql(statement.format(target=tmp_path / "target", secret=tmp_path / "secret"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "target").exists()


def test_a_wrong_statement_is_one_line(sql: Run) -> None:
    done = sql("select byte_read from file")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert '"bytes_read"' in done.stderr
    assert 'unknown table "files": did you mean file' in sql("select * from files").stderr
    assert "syntax error" in sql("selec").stderr


def test_a_result_of_any_width_fits_the_terminal(iolens: Path, corpus: Path) -> None:
    command = f"stty cols 80; {iolens} sql {corpus}/logs/ior-hdf5.darshan 'select * from file limit 1'"
    done = subprocess.run(
        ["script", "-qec", command, "/dev/null"], capture_output=True, text=True, check=True
    )
    rows = done.stdout.rpartition("\x1b[K")[2]  # what a slow one had shown of its progress is erased
    assert rows.split()[:2] == ["row", "1"]
    assert any(line.split()[:1] == ["interface"] for line in done.stdout.splitlines())


def test_slow_statements_print_rows_only(sql: Run) -> None:
    statement = (
        "select count(*) as n from range(25000000) t(a) where hash(a) % 7 = 3 and md5(a::varchar) > 'f'"
    )
    rows = json.loads(sql(statement, "--format", "json").stdout)
    assert len(rows) == 1
