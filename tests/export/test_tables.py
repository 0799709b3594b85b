"""Tables as Parquet, CSV and JSON: the same rows as in the dataset."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from pathlib import Path
from typing import Callable

import pytest
from iolens.metrics import Dataset, metrics
from logmaker import LogMaker
from made_log import Make

Export = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def log(corpus: Path) -> Path:
    return corpus / "logs" / "mpi-io-test-dxt.darshan"


def test_parquet_has_every_row_and_column(export: Export, log: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert export("parquet", log).returncode == 0
    with Dataset(log, every_column=True) as data:
        for path in (tmp_path / "out").iterdir():
            table = parquet.read_table(path)
            name = path.stem.replace("metric_", "metric.", 1)
            (row,) = data.rows(f"SELECT count(*) AS n FROM {name}")
            assert table.num_rows == row["n"] > 0, name
        posix = parquet.read_table(tmp_path / "out" / "posix.parquet")
        assert posix.num_columns == len(data.query("SELECT * FROM posix").description or ())
        (row,) = data.rows("SELECT sum(bytes_read)::BIGINT AS n FROM posix")
        assert sum(posix.column("bytes_read").to_pylist()) == row["n"]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_text_forms_have_the_same_rows(export: Export, log: Path, tmp_path: Path, form: str) -> None:
    assert export(form, log).returncode == 0
    path = tmp_path / "out" / f"metric_perf.{form}"
    with path.open() as file:
        rows = json.load(file) if form == "json" else list(csv.DictReader(file))
    with Dataset(log) as data:
        expected = data.metric("perf")
    assert [row["interface"] for row in rows] == [row["interface"] for row in expected]
    assert [float(row["time_by_slowest"]) for row in rows] == [row["time_by_slowest"] for row in expected]


def test_chosen_tables_of_several_logs(export: Export, corpus: Path, tmp_path: Path) -> None:
    logs = [corpus / "logs" / f"release-x86_64-3.{minor}.darshan" for minor in ("4.0", "4.7")]
    done = export("csv", *logs, "--table", "job", "--table", "metric.headline")
    assert sorted(Path(line).name for line in done.stdout.splitlines()) == ["job.csv", "metric_headline.csv"]
    with (tmp_path / "out" / "job.csv").open() as file:
        assert [row["log"] for row in csv.DictReader(file)] == ["0", "1"]


def test_a_log_without_data_has_its_job(export: Export, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(bytes(LogMaker()))
    names = {Path(line).stem for line in export("csv", tmp_path / "log").stdout.splitlines()}
    assert {"job", "mount", "metric_headline", "metric_missing"} <= names
    assert not names & {"posix", "record", "file"}


def test_wrong_use_is_one_line(export: Export, log: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("kept")
    done = export("csv", log)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and "is not empty; --force" in done.stderr
    done = export("csv", log, "--table", "possix", "--force")
    assert (
        done.returncode == 2
        and 'unknown table "possix": did you mean posix' in done.stderr
        and done.stderr.count("\n") == 1
    )
    done = export("perfetto", log, "--table", "posix", "--force")
    assert done.returncode == 2 and "--table goes with parquet" in done.stderr
    (tmp_path / "text").write_text("no log")
    assert export("csv", tmp_path / "text", "--force").returncode == 3
    assert (tmp_path / "out" / "mine").read_text() == "kept"


def test_every_metric_is_among_the_tables() -> None:
    from iolens.export import table_names

    assert {name for name in table_names() if name.startswith("metric.")} == {
        f"metric.{m}" for m in metrics()
    }


def test_times_have_their_zone_and_record_ids_all_their_digits(
    export: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/Chicago")
    log = Make(tmp_path)(posix=[{"id": 2**64 - 3, "opens": 1}, {"id": 5, "opens": 1}], start=1_700_000_000)
    tables = ("--table", "job", "--table", "posix", "--force")
    for form in ("json", "csv"):
        assert export(form, log, *tables).returncode == 0
        read = {name: (tmp_path / "out" / f"{name}.{form}").read_text() for name in ("job", "posix")}
        job, posix = (
            json.loads(text) if form == "json" else list(csv.DictReader(text.splitlines()))
            for text in read.values()
        )
        assert [row["start"] for row in job] == ["2023-11-14T22:13:20Z"]
        assert {row["id"] for row in posix} == {"18446744073709551613", "5"}
        shutil.rmtree(tmp_path / "out")
    parquet = pytest.importorskip("pyarrow.parquet")
    assert export("parquet", log, *tables).returncode == 0
    assert (
        str(parquet.read_schema(tmp_path / "out" / "job.parquet").field("start").type)
        == "timestamp[us, tz=UTC]"
    )
