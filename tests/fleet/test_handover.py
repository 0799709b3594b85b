"""A lake in PostgreSQL, under Grafana's dashboard, and as numbers for Prometheus: real servers and parsers."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from here import Run, in_this_process
from iolens.fleet import Lake
from iolens.fleet.handover.postgres import TABLES, to_postgres
from iolens.fleet.saved_queries import ask
from postgres import postgres
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from small_lake import GIB, MIB, small_lake


@pytest.fixture
def run_iolens(run_iolens: Run) -> Run:
    return in_this_process(run_iolens)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_lake(tmp_path_factory)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres() as address:
        yield address


def rows(server: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(server) as connection:
        return connection.execute(query).fetchall()  # type: ignore[call-overload, no-any-return]


def exported(lake: Path, server: str, **days: datetime.date) -> dict[str, int]:
    with Lake(lake).open(**days) as data:
        return to_postgres(data, server, days.get("since"), days.get("until"))


def test_the_server_has_every_row_and_value_of_the_lake(lake: Path, server: str) -> None:
    written = exported(lake, server)
    with Lake(lake).open() as data:
        for table, (_, query) in TABLES.items():
            names = query.partition(" FROM ")[0]
            mine = rows(server, f"SELECT {names} FROM iolens.{table} ORDER BY log, 2, 3")
            assert len(mine) == written[table] > 0
            if table == "metric":
                asked = f"SELECT {names} FROM metric WHERE value IS NOT NULL ORDER BY log, 2, 3"
                assert mine == data.query(asked).fetchall()
        jobs = {r["log"]: r for r in ask(data, "history").dicts()}
    for log, user, start, io_time, written_bytes in rows(
        server, 'SELECT log, "user", "start", io_time, bytes_written FROM iolens.job'
    ):
        job = jobs.pop(log)
        in_utc = start.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        assert (user, in_utc, io_time, written_bytes) == tuple(
            job[name] for name in ("user", "start", "io_time", "bytes_written")
        )
    assert not jobs


def test_exported_again_nothing_is_there_twice(lake: Path, server: str) -> None:
    assert exported(lake, server) == exported(lake, server)
    assert rows(server, "SELECT count(*), count(DISTINCT log) FROM iolens.job") == [(9, 9)]


def test_times_have_a_zone_in_old_tables_too(lake: Path, server: str) -> None:
    exported(lake, server)
    asked = 'SELECT log, extract(epoch FROM "start")::bigint FROM iolens.job ORDER BY log'
    wanted = rows(server, asked)
    with Lake(lake).open() as data:
        assert wanted == data.query('SELECT log, epoch("start")::BIGINT FROM job ORDER BY log').fetchall()
    with psycopg.connect(server) as connection:
        for column in ("start", "end"):
            change = f"TYPE timestamp USING \"{column}\" AT TIME ZONE 'UTC'"
            connection.execute(f'ALTER TABLE iolens.job ALTER COLUMN "{column}" {change}')  # type: ignore[call-overload]
    day = datetime.date(2026, 11, 2)
    exported(lake, server, since=day, until=day)
    kinds = "SELECT DISTINCT data_type FROM information_schema.columns WHERE table_name = 'job' AND data_type ~ 'time'"
    assert rows(server, kinds) == [("timestamp with time zone",)]
    with psycopg.connect(server) as connection:
        connection.execute("SET TIME ZONE 'America/Chicago'")
        assert connection.execute(asked).fetchall() == wanted


def test_a_day_is_replaced_alone(lake: Path, server: str) -> None:
    exported(lake, server)
    with psycopg.connect(server) as connection:
        connection.execute("UPDATE iolens.job SET application = 'changed'")
    day = datetime.date(2026, 11, 2)
    assert exported(lake, server, since=day, until=day)["job"] == 2
    assert rows(server, "SELECT application, count(*) FROM iolens.job GROUP BY 1 ORDER BY 1") == [
        ("changed", 7),
        ("sim", 1),
        ("train.py", 1),
    ]


def test_who_reads_sees_all_of_it_or_nothing_of_it(
    lake: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported(lake, server)
    broken = {**TABLES, "metric": (TABLES["metric"][0], "log, name, no_such_column FROM metric")}
    monkeypatch.setattr("iolens.fleet.handover.postgres.TABLES", broken)
    with pytest.raises(Exception, match="no_such_column"):
        exported(lake, server)
    assert rows(server, "SELECT count(*) FROM iolens.job") == [(9,)]


def test_the_command(run_iolens: Run, lake: Path, server: str, tmp_path: Path) -> None:
    done = run_iolens(["fleet", "export", "--lake", lake, "--postgres", server])
    assert done.returncode == 0 and done.stdout.startswith("9 rows of job, ")
    done = run_iolens(["fleet", "export", "--lake", lake, "--postgres", "host=/nowhere dbname=x"])
    assert done.returncode == 3 and "PostgreSQL: " in done.stderr and done.stderr.count("\n") == 1
    assert run_iolens(["fleet", "export", "--lake", lake]).returncode == 2


def dashboard(root: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((root / "deploy" / "grafana" / "fleet.json").read_text())
    return loaded


def filled(sql: str, cluster: str = "") -> str:
    """As Grafana sends it: macros and variables filled."""
    sql = re.sub(
        r"\$__timeFilter\(([^)]*)\)", r"\1 BETWEEN '2026-01-01T00:00:00Z' AND '2026-12-31T00:00:00Z'", sql
    )
    return sql.replace("$cluster", cluster)


def test_every_query_of_the_dashboard_runs(root: Path, lake: Path, server: str) -> None:
    exported(lake, server)
    board = dashboard(root)
    variables = [v["query"] for v in board["templating"]["list"] if v["type"] == "query"]
    panels = {panel["title"]: panel["targets"][0]["rawSql"] for panel in board["panels"]}
    assert len(panels) == len(board["panels"]) > 10
    assert [rows(server, query) for query in variables] == [[("",), ("hopper",)]]
    found = {title: rows(server, filled(sql)) for title, sql in panels.items()}
    assert found == {title: rows(server, filled(sql, "hopper")) for title, sql in panels.items()}
    assert found["Jobs"] == [(9,)] and found["Users"] == [(3,)]
    assert found["Read"] == [(10 * GIB,)] and found["Written"] == [(21 * MIB,)]
    assert [row[0] for row in found["Bytes per day"]] == [
        datetime.datetime(2026, 11, day) for day in (1, 2, 3, 4, 5, 6, 9)
    ]
    with Lake(lake).open() as data:
        for key in ("users", "applications"):
            expected = [(r[0], r[1]) for r in ask(data, f"top_{key}").rows]
            assert [row[:2] for row in found[f"{key.title()} by time lost"]] == expected
    assert found["Screens"] == [("metadata ratio >= 25 %", 1, 1)]
    assert len(found["Jobs that lose most"]) == 9 and found["Findings"]
    assert all(rows(server, filled(sql, "elsewhere")) in ([], [(0,)], [(None,)]) for sql in panels.values())


def test_panels_of_the_dashboard_have_their_own_place(root: Path) -> None:
    panels = dashboard(root)["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for place in (panel["gridPos"] for panel in panels):
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert cells and not cells & taken and max(x for x, _ in cells) < 24
        taken |= cells


def test_units_of_the_dashboard_are_of_columns_that_there_are(root: Path) -> None:
    named = 0
    for panel in dashboard(root)["panels"]:
        for override in panel["fieldConfig"]["overrides"]:
            assert override["matcher"]["id"] == "byName"
            column, sql = override["matcher"]["options"], panel["targets"][0]["rawSql"]
            assert re.search(rf'AS "?{re.escape(column)}"?', sql), (panel["title"], column)
            named += 1
    assert named > 5


def test_numbers_for_prometheus(run_iolens: Run, lake: Path, tmp_path: Path) -> None:
    path = tmp_path / "fleet.prom"
    assert run_iolens(["fleet", "export", "--lake", lake, "--openmetrics", path]).returncode == 0
    assert [one.name for one in tmp_path.iterdir()] == ["fleet.prom"]
    found = {family.name: family.samples for family in text_string_to_metric_families(path.read_text())}

    def values(name: str, label: str) -> dict[str, float]:
        return {sample.labels[label]: sample.value for sample in found[name]}

    assert values("iolens_fleet_jobs", "cluster") == {"hopper": 9}
    assert values("iolens_fleet_read_bytes", "cluster") == {"hopper": 10 * GIB}
    assert values("iolens_fleet_io_time_seconds", "cluster") == pytest.approx({"hopper": 111.0})
    assert values("iolens_fleet_screened_jobs", "screen")["screen_metadata"] == 1
    assert values("iolens_application_written_bytes", "application") == {
        "sim": 21 * MIB,
        "train.py": 0,
        "meta": 0,
    }
    with Lake(lake).open() as data:
        assert (
            sum(sample.value for sample in found["iolens_fleet_findings"])
            == (data.query("SELECT count(*) FROM finding").fetchone() or (0,))[0]
        )
