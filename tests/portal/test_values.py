"""Values in addresses: sizes as people write them, and a word about what is not known."""

from __future__ import annotations

import re
from typing import Any

import pytest
from iolens.portal.access.site import Site
from iolens.portal.data.snapshot import Snapshots
from iolens.portal.web.application import Portal
from small_lake import small_lake
from starlette.testclient import TestClient


@pytest.mark.parametrize("path", ["/q/screen_redundant_reads", "/api/v1/queries/screen_redundant_reads"])
def test_a_size_may_have_a_unit(path: str, visit: Any) -> None:
    rows = [visit("sam", f"{path}?bytes={text}") for text in ("1GiB", "1g", "1073741824", "1.5K", "1536")]
    assert [row.status_code for row in rows] == 5 * [200]
    if "api" in path:
        assert [row.json()["parameters"]["bytes"] for row in rows] == 3 * [1 << 30] + 2 * [1536]
    else:
        assert 'value="1073741824"' in rows[0].text  # and not 1.07374e+09, which is another number
        assert 'value="0.25"' in visit("sam", "/q/screen_metadata").text
    for wrong in ("GiB", "1X", "1e", "nan", "1_0", "-1GiB", "1 ", "\u0661"):
        assert visit("sam", f"{path}?bytes={wrong}").status_code == 400, wrong


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/q/top_users?by=tim", 'unknown value of by "tim": did you mean time?'),
        ("/csv/top_files?by=owner", 'unknown value of by "owner": there is time, bytes, metadata, small'),
        ("/api/v1/queries/findings?severity=higher", "did you mean high?"),
        ("/api/v1/jobs?by=startt", "did you mean start?"),
        ("/jobs?since=yesterday", 'since: "yesterday" is no day: 2026-01-31'),
        ("/jobs?until=2026-13-01", 'until: "2026-13-01" is no day: 2026-01-31'),
        ("/api/v1/jobs?since=abc", 'since: "abc" is no day: 2026-01-31'),
    ],
)
def test_a_value_that_is_not_known(path: str, word: str, visit: Any) -> None:
    answer = visit("sam", path)
    text = answer.text.replace("&#34;", '"').replace('\\"', '"')
    assert answer.status_code == 400 and word in text


def test_a_lists_definition_has_the_values_in_it(visit: Any) -> None:
    shown = visit("sam", "/q/top_users?by=bytes").text
    assert "In order of bytes:" in shown and "<option selected>bytes</option>" in shown
    for path in ("/q/top_users", "/q/drift", "/q"):
        assert "$" not in visit("sam", path).text.partition("<main")[2].partition("</main")[0], path


def test_lists_are_filtered_by_date(visit: Any) -> None:
    """Users that lost most this week had no page: lists were for all time."""
    of = {
        name: {line.split(",")[at] for line in visit("sam", f"/csv/{name}?{days}").text.splitlines()[1:]}
        for name, at, days in (
            ("top_users", 0, "since=2026-11-05"),
            ("top_applications", 0, "since=2026-11-05&until=2026-11-06"),
            ("findings", 2, "severity=good&until=2026-11-01"),
        )
    }
    assert of == {"top_users": {"alice", "carol"}, "top_applications": {"sim"}, "findings": {"alice", "bob"}}
    page = visit("sam", "/q/top_users").text
    assert 'name="since" value="2026-11-03"' in page and '/q/top_users?since=">All days' in page
    assert "carol" in page and "bob" not in page
    page = visit("sam", "/q/top_users?since=").text
    assert "bob" in page and '/q/top_users?since=2026-11-03">Last 7 days' in page
    assert visit("sam", "/q/findings?since=soon").status_code == 400


@pytest.mark.parametrize(
    ("path", "jobs"),
    [
        ("/jobs", [300, 102, 103, 104, 105]),
        ("/jobs?since=", [200, 201, 100, 101, 102, 103, 104, 105, 300]),
        ("/jobs?user=bob", [200, 201]),
        ("/jobs?text=100", [100]),
        ("/jobs?by=job_id&down=0", [102, 103, 104, 105, 300]),
        ("/jobs?until=2026-11-01", [200, 100]),
    ],
)
def test_a_list_of_everything_is_that_of_the_last_days(path: str, jobs: list[int], visit: Any) -> None:
    """A search, a user or a day in the address asks for all days. Staff's list has the worst job first."""
    page = visit("sam", path).text
    listed = [int(job) for job in re.findall(r'aria-label="Select job (\d+)"', page)]
    assert sorted(listed) == sorted(jobs)
    if "by=" in path or jobs[0] == 200:
        assert listed[0] == jobs[0]
    for link in re.findall(r'<th[^>]*><a href="(/jobs[^"]*)"', page)[:3]:
        again = re.findall(r'aria-label="Select job (\d+)"', visit("sam", link.replace("&amp;", "&")).text)
        assert sorted(map(int, again)) == sorted(jobs), link


@pytest.mark.parametrize("path", ["/screens", "/storage", "/q/top_files", "/q/top_directories", "/q/screen"])
def test_every_list_has_days(path: str, visit: Any) -> None:
    page = visit("sam", path).text
    assert 'name="since" value="2026-11-03"' in page and f'href="{path}?since="' in page


def test_files_of_some_days(visit: Any) -> None:
    listed = {
        days: visit("sam", f"/csv/top_files?{days}").text.splitlines()[1:]
        for days in ("", "since=2026-11-03", "until=2026-11-01&user=alice")
    }
    assert [row.split(",")[0] for row in listed[""]] == [
        "/home/carol/f",
        "/data/set/all",
        "/scratch/alice/run/out",
    ]
    assert [row.split(",")[:2] for row in listed["since=2026-11-03"]] == [
        ["/home/carol/f", "1"], ["/scratch/alice/run/out", "4"],
    ]  # fmt: skip
    assert [row.split(",")[:2] for row in listed["until=2026-11-01&user=alice"]] == [
        ["/scratch/alice/run/out", "1"]
    ]
    assert "300" not in visit("sam", "/csv/screen_metadata?ranks=100&until=2026-11-08").text
    assert ",300," in visit("sam", "/csv/screen_metadata?ranks=100&since=2026-11-08").text


def test_a_page_that_is_not_there_has_a_search(visit: Any) -> None:
    for path in ("/job?id=999", "/job/1", "/nowhere"):
        answer = visit("sam", path)
        assert answer.status_code == 404 and ('action="/jobs" role="search"' in answer.text) == (
            path != "/nowhere"
        )
    assert 'role="search"' not in visit("sam", "/jobs?since=soon").text


def test_a_lake_without_accounting_is_no_error(site: Site, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Coverage was an entry of the menu that answered 400."""
    snapshots = Snapshots(small_lake(tmp_path_factory), refresh=3600)
    snapshots.renew()
    portal = Portal(site, snapshots)
    client = TestClient(portal.app(), base_url="https://portal.example.org", client=("10.0.0.1", 1))
    answer = client.get("/coverage", headers={"X-Remote-User": "sam"})
    assert answer.status_code == 200 and "No accounting yet." in answer.text
    assert "iolens fleet accounting" not in answer.text, "that is for administrators"
    assert "iolens fleet accounting" in client.get("/coverage", headers={"X-Remote-User": "root"}).text
    menu = client.get("/jobs", headers={"X-Remote-User": "root"}).text
    assert 'href="/storage"' in menu and 'href="/coverage"' not in menu and 'href="/q/projects"' not in menu
    snapshots.stop()
