"""Every table of the lake has its CSV, and a statement that the SQL page answers with the same rows."""

from __future__ import annotations

import csv
import re
from html import unescape
from pathlib import Path
from typing import Any, Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from iolens.fleet import Lake
from iolens.fleet.ingest.batch import Options
from iolens.fleet.ingest.ingest import Ingest
from iolens.portal.access.site import Site
from iolens.portal.data.snapshot import Snapshots
from iolens.portal.web.application import Portal
from jobs import Job
from made_area import Here
from starlette.testclient import TestClient

Visit = Callable[..., Any]

_FIGURE = re.compile(r'<figure class="table" id="([\w-]+)">(.*?)</figure>', re.DOTALL)
_TOOL = re.compile(r'<a href="([^"]+)"(?: download)?>(CSV|SQL)</a>')

ALL = {
    "/ingest": {"days": 1, "reasons": 1, "quarantine": 1},
    "/coverage": {"coverage": 3, "no-log": 1},
    "/coverage?by=user&since=2026-11-02&until=2026-11-30&cluster=hopper": {"coverage": 2, "no-log": 1},
    "/coverage?by=week": {"coverage": 3, "no-log": 1},
}
"""Page -> its tables and how many rows each has, without the one of all."""


def _tools(page: str) -> dict[str, dict[str, str]]:
    """Table -> CSV and SQL -> address."""
    return {
        found[1]: {kind: unescape(address) for address, kind in _TOOL.findall(found[2])}
        for found in _FIGURE.finditer(page)
    }


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def _by_sql(post: Visit, name: str, address: str) -> list[dict[str, str]]:
    statement = parse_qs(urlsplit(address).query)["statement"][0]
    answer = post(name, "/sql.csv", statement=statement)
    assert answer.status_code == 200, answer.text
    return _rows(answer.text)


@pytest.mark.parametrize("page", ALL)
def test_csv_and_sql_have_the_rows_of_the_table(page: str, visit: Visit, post: Visit) -> None:
    tools = _tools(visit("root", page).text)
    assert set(tools) == set(ALL[page])
    for table, count in ALL[page].items():
        assert set(tools[table]) == {"CSV", "SQL"}, table
        by_csv = _rows(visit("root", tools[table]["CSV"]).text)
        by_sql = _by_sql(post, "root", tools[table]["SQL"])
        assert len(by_csv) == len(by_sql) == count, table
        for one, other in zip(by_csv, by_sql):
            shared = set(one) & set(other)
            assert len(shared) >= len(other) - 1, "all but the column of the group"
            assert {name: one[name] for name in shared} == {name: other[name] for name in shared}


def test_runs_beside_each_other_are_a_table_too(visit: Visit, post: Visit, logs: dict[int, int]) -> None:
    page = visit("alice", f"/compare?log={logs[105]}&log={logs[100]}&log={logs[105]}").text
    tools = _tools(page)["compare"]
    by_csv = _rows(visit("alice", tools["CSV"]).text)
    assert [(row["job_id"], row["bytes_written"], row["io_time"]) for row in by_csv] == [
        ("100", str(1 << 20), "2.0"),
        ("105", str(6 << 20), "10.0"),
    ]
    assert _by_sql(post, "alice", tools["SQL"]) == by_csv
    assert _by_sql(post, "bob", tools["SQL"]) == []
    assert visit("bob", tools["CSV"]).status_code == 404


def test_a_table_that_there_is_not(visit: Visit) -> None:
    answer = visit("root", "/ingest.csv?table=job")
    assert answer.status_code == 400 and "none of days, reasons, quarantine" in answer.text
    answer = visit("root", "/coverage.csv?table=job")
    assert answer.status_code == 400 and "neither coverage nor no-log" in answer.text
    assert visit("alice", "/compare.csv?log=x").status_code == 400


def test_a_job_without_a_scheduler_is_named_as_a_process(site: Site, tmp_path: Path) -> None:
    """Two logs with the number 42: of one it is the number of its process."""
    area = tmp_path / "logs"
    area.mkdir()
    for name, pid in (("own", 42), ("scheduled", 7)):
        job = Job(nprocs=1, exe=f"/bin/{name}").posix("/scratch/f", 0, write={1 << 20: 1}, write_time=1.0)
        job.section("process", {"rank": 0, "pid": pid, "ended": "exit", "host": "n7", "io_time": 1.0})
        job.save(area / f"root_{name}_id42_1.darshan")
    options = Options(str(tmp_path / "lake"))
    Ingest(Lake.create(options.lake), options, jobs=1, pool=Here()).run([area])
    snapshots = Snapshots(tmp_path / "lake", refresh=3600)
    snapshots.renew()
    with Lake(tmp_path / "lake").open() as data:
        logs = dict(data.query("SELECT application, log FROM job").fetchall())
    client = TestClient(
        Portal(site, snapshots).app(), base_url="https://portal.example.org", client=("10.0.0.1", 1)
    )

    def page(path: str) -> str:
        answer = client.get(path, headers={"X-Remote-User": "root"})
        assert answer.status_code == 200, answer.text
        return str(answer.text)

    cells = {
        int(log): words
        for log, words in re.findall(r'<a href="/job/(\d+)">([^<]*42)</a>', page("/jobs?by=start"))
    }
    assert cells == {logs["own"]: "process 42", logs["scheduled"]: "42"}
    both = page(f"/compare?log={logs['own']}&log={logs['scheduled']}")
    assert dict(re.findall(r'<a href="/job/(\d+)">([^<]*42)</a>', both)) == {
        str(logs["own"]): "process 42",
        str(logs["scheduled"]): "42",
    }
    assert "process 42" in page("/application?name=own") and "process 42" not in page(
        "/application?name=scheduled"
    )
    assert "<h1>own, process 42</h1>" in page(f"/job/{logs['own']}")
    assert "<h1>scheduled, job 42</h1>" in page(f"/job/{logs['scheduled']}")
    rows = _rows(page("/csv/job_list"))
    assert [row["job_id"] for row in rows] == ["42", "42"] and "scheduled" not in rows[0]
    snapshots.stop()
