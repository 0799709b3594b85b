"""The dataset's tables and the first metrics, checked against released tools' figures and logs made here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Callable

import duckdb
import pytest
from iolens.error import IolensError
from iolens.fleet.tables.write import connect as lakes_own
from iolens.fleet.tables.write import connection as lakes_shared
from iolens.log import open as open_log
from iolens.metrics import MODULES, SECTIONS, Dataset, find_metric, metrics
from iolens.metrics.literal import with_values
from iolens.metrics.metric import parse
from jobs import Job
from observed import Observe

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def perf(data: Dataset, interface: str) -> dict[str, float]:
    return next(row for row in data.metric("perf") if row["interface"] == interface)


def test_every_table_is_there_in_every_log(observe: Observe) -> None:
    with Dataset(observe(["true"]).log) as data:
        for table in (*MODULES, *SECTIONS, "job", "file", "record", "name", "mount", "metadata", "module"):
            assert "log" in [
                column[0] for column in data.query(f"SELECT * FROM {table}").description or ()
            ], table


def test_no_database_narrows_numbers_between_operators(observe: Observe) -> None:
    """DuckDB 2.0.1 takes types that are too narrow: test_every_metric has the log whose 26,246 calls became -122."""
    asked = "SELECT current_setting('disabled_optimizers')"
    with Dataset(observe(["true"]).log) as data, lakes_shared() as shared, lakes_own() as own:
        for connection in (data.connection, data.connection.cursor(), shared, own):
            assert connection.execute(asked).fetchone() == ("compressed_materialization",)


def test_databases_are_made_in_one_place(root: Path) -> None:
    package = root / "python" / "iolens"
    made = [path for path in package.rglob("*.py") if "duckdb.connect(" in path.read_text(encoding="utf-8")]
    assert made == [package / "metrics" / "engine.py"]


def test_sections_have_the_columns_that_are_declared(observe: Observe) -> None:
    log = open_log(observe(["true"]).log)
    for section, columns in SECTIONS.items():
        if section in log.trailer:
            assert set(log.trailer[section].schema.names) <= set(columns), section


def test_a_file_is_merged_over_ranks_and_knows_its_place(observe: Observe, tmp_path: Path) -> None:
    target = tmp_path / "some.dir" / "data.h5"
    target.parent.mkdir()
    log = observe(
        ["sh", "-c", f"dd if=/dev/zero of={target} bs=5000 count=1 2>&1; cat {target} {target} > /dev/null"]
    ).log
    with Dataset(log) as data:
        rows = data.rows("SELECT * FROM file WHERE interface = 'posix' AND name = ?", [str(target)])
        assert [(r["bytes_written"], r["bytes_read"], r["ranks"], r["shared"]) for r in rows] == [
            (5000, 10000, 2, True)
        ]
        assert (rows[0]["directory"], rows[0]["extension"]) == (str(target.parent), "h5")
        assert rows[0]["mount"] is not None
        assert data.metric("redundant_reads") == [{"log": 0, "value": 5000, "files": 1}]


def test_a_file_on_no_mount_that_is_known_has_its_directory(tmp_path: Path) -> None:
    """As in a chroot, whose table of mounts need not have its root."""
    job = Job(mounts=[("proc", "/proc")]).posix("/data/some.dir/a.h5", 0, read={100: 1})
    with Dataset(job.save(tmp_path / "job.darshan")) as data:
        rows = data.rows("SELECT directory, mount FROM name WHERE name LIKE '/data/%'")
    assert rows == [{"directory": "/data/some.dir", "mount": None}]


@pytest.mark.parametrize("place", ["/data/two\nlines", "/data/a.b", "/", "/data/\u00fc"])
def test_a_directory_is_all_before_the_last_slash(place: str, tmp_path: Path) -> None:
    job = Job(mounts=[("ext4", "/")]).posix(f"{place.rstrip('/')}/c\nd.h5", 0, read={100: 1})
    with Dataset(job.save(tmp_path / "job.darshan")) as data:
        assert data.rows("SELECT directory, mount FROM name") == [{"directory": place, "mount": "/"}]
        kept = data.rows("SELECT directory, file_system FROM file_sum")
    assert kept == [{"directory": place.rstrip("/"), "file_system": "ext4"}]


def test_two_logs_are_told_apart(observe: Observe) -> None:
    logs = [observe(["true"]).log, observe(["sh", "-c", "true"]).log]
    with Dataset(logs) as data:
        assert [row["log"] for row in data.rows("SELECT log FROM job ORDER BY log")] == [0, 1]
        assert [row["value"] for row in data.metric("redundant_reads")] == [0, 0]


def test_a_merged_log_knows_its_parts(observe: Observe, run_iolens: Run, tmp_path: Path) -> None:
    logs = [observe(["true"]).log, observe(["sh", "-c", "true"]).log]
    assert run_iolens(["merge", "-o", tmp_path / "merged.darshan", *logs]).returncode == 0
    with Dataset(tmp_path / "merged.darshan") as data:
        rows = data.rows("SELECT log, log_name, command FROM part ORDER BY first_rank")
        assert [(r["log"], Path(r["log_name"]).name, r["command"]) for r in rows] == [
            (0, logs[0].name, "true"),
            (0, logs[1].name, "sh -c true"),
        ]
        assert data.rows("SELECT count(*) AS n FROM interval") == [{"n": 2}]


def test_wrong_input_is_named(tmp_path: Path) -> None:
    with pytest.raises(IolensError, match="no log given"):
        Dataset([])
    with pytest.raises(IolensError, match="did you mean perf"):
        find_metric("perfs")
    (tmp_path / "text").write_text("no log")
    with pytest.raises(IolensError, match="not a Darshan log"):
        Dataset(tmp_path / "text")


def test_headers_of_metrics_are_complete() -> None:
    assert all(m.title and m.definition and m.unit and m.source for m in metrics().values())
    with pytest.raises(ValueError, match="lacks definition"):
        parse("x", "-- title: t\n-- unit: s\n-- source: here\nSELECT 1")


# What released tools print of these logs, in seconds and MiB/s.
PERF = [
    ("imbalanced-io", "posix", 106730099902, 616.911529, 164.992467),
    ("imbalanced-io", "mpiio", 132463273244, 1243.618248, 101.580064),
    ("skew-app", "posix", 43637372528, 264.241477, 157.491707),
    ("skew-app", "mpiio", 43637372528, 753.573830, 55.224637),
    ("hdf5-diagonal-half-ranks-dxt", "posix", 2640535, 0.028272, 89.071099),
]


@pytest.mark.parametrize("expected", PERF, ids=lambda row: f"{row[0]}-{row[1]}")
def test_perf_is_what_released_tools_print(
    corpus: Path, expected: tuple[str, str, int, float, float]
) -> None:
    log, interface, bytes_moved, seconds, rate = expected
    with Dataset(corpus / "logs" / f"{log}.darshan") as data:
        row = perf(data, interface)
        assert row["bytes"] == bytes_moved
        assert row["time_by_slowest"] == pytest.approx(seconds, abs=5e-7)
        assert row["mib_per_s_by_slowest"] == pytest.approx(rate, abs=5e-7)


def test_redundant_reads_of_known_logs(corpus: Path) -> None:
    for log, expected in (("imbalanced-io", (1025628, 1)), ("hdf5-diagonal-half-ranks-dxt", (2364849, 20))):
        with Dataset(corpus / "logs" / f"{log}.darshan") as data:
            row = data.metric("redundant_reads")[0]
            assert (row["value"], row["files"]) == expected


def test_values_are_bound(observe: Observe) -> None:
    with Dataset(observe(["true"]).log) as data:
        assert data.rows("SELECT $a AS a, $b AS b, $c AS c", {"a": 1, "b": "it's", "c": 2.5}) == [
            {"a": 1, "b": "it's", "c": 2.5}
        ]
        assert data.rows("SELECT ? AS a, ? AS b", [None, True]) == [{"a": None, "b": True}]
        assert data.rows("SELECT nprocs FROM job WHERE log = $log", {"log": 7}) == []
        with pytest.raises(duckdb.Error):
            data.query("SELECT $a", {"a": 1, "b": 2})


def test_values_stand_in_the_statement_where_it_asks_for_them() -> None:
    asked = """SELECT $a, '$a', "$a", n -$b, E'\\'$a' /* $a */ -- $a"""
    assert with_values(asked, {"a": "it's", "b": -2}) == (
        """SELECT 'it''s', '$a', "$a", n -(-2), E'\\'$a' /* $a */ -- $a"""
    )
    assert with_values("SELECT ?, '?', ?", [None, 2.5]) == "SELECT NULL, '?', 2.5"
    assert with_values("SELECT $$ $a $$, $a", {"a": 1}) == "SELECT $$ $a $$, 1"


def test_values_that_a_statement_does_not_ask_for_are_left_to_duckdb() -> None:
    assert with_values("SELECT $a", {"a": 1, "b": 2}) is None
    assert with_values("SELECT ?", [1, 2]) is None
    assert with_values("SELECT ?, ?", [1]) is None


def test_what_logs_lack_is_known_without_a_table(observe: Observe, tmp_path: Path) -> None:
    target = tmp_path / "data"
    target.write_text("12345")
    with Dataset(observe(["cat", str(target)]).log) as data:
        lacking = {name for name in ("apmpi", "communication", "posix", "process") if data.lacks(name)}
        assert lacking == {"apmpi", "communication"}


def test_columns_are_read_when_somebody_asks_for_them(corpus: Path) -> None:
    with Dataset(corpus / "logs" / "imbalanced-io.darshan") as data:
        data.metric("perf")
        assert data.rows("SELECT sum(rw_switches) AS n FROM posix") == [{"n": 18}]
        with pytest.raises(duckdb.BinderException, match="rw_switch"):
            data.query("SELECT rw_switch FROM posix")
        with pytest.raises(duckdb.CatalogException, match="nothing"):
            data.query("SELECT * FROM nothing")


def test_tables_are_found_wherever_they_are_named(corpus: Path) -> None:
    with Dataset(corpus / "logs" / "imbalanced-io.darshan") as data:
        (row,) = data.rows(
            "SELECT count(*) AS n FROM mpiio AS m, name AS n WHERE n.id = m.id AND m.log = n.log"
        )
        assert row["n"] == 3


def test_loading_needs_neither_pandas_nor_pyarrow(corpus: Path) -> None:
    """They take longer to import than an ordinary log takes to read."""
    program = (
        "import sys; from iolens.metrics import Dataset, metrics\n"
        "data = Dataset(sys.argv[1])\n"
        "for name in metrics(): data.rows('SELECT * FROM metric.' + name + ' WHERE log = $log', {'log': 0})\n"
        "print([m for m in ('pandas', 'pyarrow', 'numpy') if m in sys.modules])"
    )
    log = corpus / "logs" / "ior-hdf5.darshan"
    done = subprocess.run([sys.executable, "-c", program, log], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
