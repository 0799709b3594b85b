"""A lake in PostgreSQL, under Grafana's dashboard, and as numbers for Prometheus: real servers and parsers."""

from __future__ import annotations

import datetime
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import places
import psycopg
import pytest
from here import Run, in_this_process
from iolens.fleet import Lake
from iolens.fleet.handover.postgres import TABLES, to_postgres
from iolens.fleet.saved_queries import ask
from postgres import postgres
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from small_lake import GIB, MIB, Area, small_lake


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
    place = Lake(lake)
    with place.open(**days) as data:
        return to_postgres(data, place.id, server, days.get("since"), days.get("until"))


def test_the_server_has_every_row_and_value_of_the_lake(lake: Path, server: str) -> None:
    written = exported(lake, server)
    with Lake(lake).open() as data:
        for name, table in TABLES.items():
            mine = rows(server, f"SELECT {table.names} FROM iolens.{name} ORDER BY log, 2, 3")
            assert len(mine) == written[name] > 0
            if name == "metric":
                asked = f"SELECT {table.names} FROM metric WHERE value IS NOT NULL ORDER BY log, 2, 3"
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


def ingested(log: object, lake: Path) -> Path:
    command = [places.BIN, "fleet", "ingest", log, "--lake", lake, "--jobs", "1"]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return lake


@pytest.fixture(scope="module")
def other_lake(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of one log of the same area."""
    with Lake(lake).open() as data:
        ((path,),) = data.query("SELECT path FROM job ORDER BY log LIMIT 1").fetchall()
    return ingested(path, tmp_path_factory.mktemp("other") / "lake")


PREVIOUS = """
    ALTER TABLE iolens.{table} DROP COLUMN lake CASCADE;
    ALTER TABLE iolens.finding DROP COLUMN IF EXISTS number CASCADE;
    CREATE INDEX IF NOT EXISTS {table}_day ON iolens.{table} (day);
"""
"""Makes a table what the release before made: without lakes, with the log as the key of jobs alone."""


def make_previous(server: str) -> None:
    with psycopg.connect(server) as connection:
        for table in TABLES:
            connection.execute(PREVIOUS.format(table=table))
        connection.execute("ALTER TABLE iolens.job ADD CONSTRAINT job_pkey PRIMARY KEY (log)")


def counts(server: str) -> dict[str, tuple[int, int, int]]:
    """Jobs, findings, metrics of each lake."""
    found = {}
    for (one,) in rows(server, "SELECT DISTINCT lake FROM iolens.job"):
        asked = ", ".join(f"(SELECT count(*) FROM iolens.{table} WHERE lake = '{one}')" for table in TABLES)
        ((jobs, findings, metrics),) = rows(server, f"SELECT {asked}")
        found[one] = (jobs, findings, metrics)
    return found


def test_two_lakes_have_one_server(lake: Path, other_lake: Path, server: str) -> None:
    exported(lake, server)
    nine = counts(server)
    assert list(nine) == [Lake(lake).id] and nine[Lake(lake).id][0] == 9
    one = exported(other_lake, server)
    assert one["job"] == 1
    both = {**nine, Lake(other_lake).id: tuple(one.values())}
    assert counts(server) == both
    exported(lake, server)
    assert counts(server) == both
    joined = "SELECT count(*) FROM iolens.job JOIN iolens.metric AS m USING (lake, log) WHERE m.name = 'used_files'"
    assert rows(server, joined) == [(10,)]
    with psycopg.connect(server) as connection:
        for table in TABLES:
            connection.execute(f"DELETE FROM iolens.{table} WHERE lake = '{Lake(other_lake).id}'")


def test_tables_of_the_release_before_are_their_lake_s(lake: Path, other_lake: Path, server: str) -> None:
    exported(lake, server)
    before = counts(server)[Lake(lake).id]
    make_previous(server)
    day = datetime.date(2026, 11, 2)
    assert exported(lake, server, since=day, until=day)["job"] == 2
    assert counts(server) == {Lake(lake).id: before}
    assert rows(
        server, "SELECT min(number), count(*) = count(DISTINCT (log, number)) FROM iolens.finding"
    ) == [(1, True)]


def test_a_lake_without_their_logs_leaves_them_alone(server: str, lake: Path, tmp_path: Path) -> None:
    """Until the lake that they are of is exported."""
    exported(lake, server)
    before = counts(server)[Lake(lake).id]
    make_previous(server)
    log = Area(tmp_path).add("dora", "/opt/bin/other", 900, 8, 10, nprocs=1)
    foreign = Lake(ingested(log, tmp_path / "foreign"))
    exported(foreign.path, server)
    assert counts(server)[""] == before and counts(server)[foreign.id][0] == 1
    exported(lake, server)
    assert counts(server)[Lake(lake).id] == before and "" not in counts(server)
    with psycopg.connect(server) as connection:
        for table in TABLES:
            connection.execute(f"DELETE FROM iolens.{table} WHERE lake = '{foreign.id}'")


def test_a_lake_without_jobs_changes_nothing(server: str, lake: Path, tmp_path: Path) -> None:
    exported(lake, server)
    assert exported(Lake.create(tmp_path / "empty").path, server) == {"job": 0, "finding": 0, "metric": 0}
    assert rows(server, "SELECT count(*) FROM iolens.job") == [(9,)]


COLUMNS = """
    SELECT relname, attname, col_description(attrelid, attnum) FROM pg_attribute
    JOIN pg_class ON attrelid = pg_class.oid
    WHERE relnamespace = 'iolens'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
"""
KEYS = """
    SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE contype = 'p' AND connamespace = 'iolens'::regnamespace ORDER BY 1
"""


@pytest.mark.parametrize("previous", [False, True])
def test_columns_have_comments_and_tables_keys(previous: bool, lake: Path, server: str) -> None:
    exported(lake, server)
    if previous:
        make_previous(server)
        exported(lake, server)
    comments = {(table, column): text for table, column, text in rows(server, COLUMNS)}
    assert all(comments.values()) and len(comments) == sum(len(table.columns) for table in TABLES.values())
    assert comments["job", "run_time"] == "wall-clock (seconds)"
    assert comments["job", "bytes_read"] == "by the program (bytes)"
    timed = [
        text for (_, column), text in comments.items() if column.endswith("_time") or column == "time_lost"
    ]
    assert timed and all(text.endswith("(seconds)") for text in timed)
    assert rows(server, KEYS) == [
        ("finding", "PRIMARY KEY (lake, log, number)"),
        ("job", "PRIMARY KEY (lake, log)"),
        ("metric", "PRIMARY KEY (lake, log, name)"),
    ]


def test_what_the_dashboard_filters_by_has_an_index(root: Path, lake: Path, server: str) -> None:
    exported(lake, server)
    queries = [filled(panel["targets"][0]["rawSql"], "hopper") for panel in dashboard(root)["panels"]]
    for sql in (sql for sql in queries if "JOIN" not in sql):
        with psycopg.connect(server) as connection:
            connection.execute("SET enable_seqscan = off")
            plan = str(connection.execute(f"EXPLAIN {sql}").fetchall())  # type: ignore[call-overload]
        assert re.search(r"Index Cond: .*start\"? >=", plan), (sql, plan)


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
    broken = {**TABLES, "metric": TABLES["metric"]._replace(source="(SELECT no_such_column FROM metric)")}
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
