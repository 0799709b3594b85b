"""People who try: spoofed headers, escapes of SQL, paths, forged forms, hostile names, malformed requests."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path
from typing import Any, Callable

import places
import pytest
from iolens.error import IolensError
from iolens.portal.access.site import Site, read_site
from iolens.portal.data.sandbox import Limits, Result, fetched, known_tables
from iolens.portal.data.sandbox import run as run_as
from iolens.portal.data.scope import EVERYTHING, Scope
from iolens.portal.data.snapshot import PortalSnapshot, Snapshots
from iolens.portal.data.statement import check
from iolens.portal.web.application import Portal
from made_log import Make
from portal_site import for_one, settings
from starlette.testclient import TestClient

Visit = Callable[..., Any]


def run(snapshot: PortalSnapshot, scope: Scope, statement: str, limits: Limits) -> Result:
    return run_as(snapshot, scope, statement, limits, fetched(limits))


ALICE = Scope(users=frozenset({"alice"}))


# ---- who one is ----


def test_a_header_counts_from_the_proxy_alone(visit: Visit) -> None:
    assert visit("root", "/jobs", address="10.0.0.2").status_code == 401
    assert visit("root", "/jobs", address="127.0.0.1").status_code == 401
    assert (
        visit("root", "/jobs", address="10.0.0.2", headers={"X-Forwarded-For": "10.0.0.1"}).status_code == 401
    )
    assert (
        visit("root", "/jobs", address="10.0.0.2", headers={"Forwarded": "for=10.0.0.1"}).status_code == 401
    )
    assert visit("alice", "/jobs").status_code == 200


@pytest.mark.parametrize("name", ["", " ", "a" * 200, "al\tice"])
def test_a_name_that_is_none_is_nobody_s(name: str, visit: Visit) -> None:
    assert visit(name, "/jobs").status_code == 401


def test_two_headers_are_no_name(portal: Portal) -> None:
    client = TestClient(portal.app(), base_url="https://portal.example.org", client=("10.0.0.1", 1))
    twice = [("X-Remote-User", "alice"), ("X-Remote-User", "root")]
    assert client.get("/jobs", headers=twice).status_code == 401


def test_names_with_quotes_are_names(visit: Visit, snapshots: Snapshots) -> None:
    for name in ("x' OR '1'='1", 'x" OR 1=1 --', "alice'--", "%", "*"):
        answer = visit(name, "/jobs")
        assert answer.status_code == 200 and "<b>0</b> jobs" in answer.text, name
        assert run(
            snapshots.current(), Scope(users=frozenset({name})), "SELECT count(*) FROM job", Limits()
        ).rows == [(0,)]


def test_the_address_of_one_person_works_once(site: Site, snapshots: Snapshots) -> None:
    portal = Portal(for_one(site), snapshots)
    client = TestClient(portal.app(), base_url="http://127.0.0.1:8420", follow_redirects=False)
    assert client.get("/jobs").status_code == 401
    assert client.get("/jobs", headers={"X-Remote-User": "ann"}).status_code == 401
    assert client.get("/login?token=guess").status_code == 401
    entered = client.get(portal.identity.entry.split("8420", 1)[1])
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert client.get("/jobs").status_code == 200
    other = TestClient(portal.app(), base_url="http://127.0.0.1:8420", follow_redirects=False)
    assert other.get(portal.identity.entry.split("8420", 1)[1]).status_code == 401
    assert client.get("/jobs", headers={"host": "rebound.example.org"}).status_code == 421
    mark = portal.identity.mark("ann", client.cookies[portal.identity.cookie])
    assert client.post("/logout", data={"mark": mark}).status_code == 200
    client.cookies.set(portal.identity.cookie, entered.cookies[portal.identity.cookie])
    assert client.get("/jobs").status_code == 401


# ---- forms ----


def test_a_form_of_another_site_changes_nothing(visit: Visit, portal: Portal) -> None:
    mark = portal.identity.mark("alice", "")
    for headers, data in (
        ({}, {"label": "x"}),
        ({}, {"label": "x", "mark": portal.identity.mark("bob", "")}),
        ({"Origin": "https://evil.example.org"}, {"label": "x", "mark": mark}),
        ({"Origin": "null"}, {"label": "x", "mark": mark}),
        ({"Sec-Fetch-Site": "cross-site"}, {"label": "x", "mark": mark}),
    ):
        for address in ("/tokens", "/sql", "/sql.csv", "/logout", "/tokens/remove"):
            assert visit("alice", address, "POST", data=data, headers=headers).status_code == 403, (
                address,
                headers,
            )
    assert (
        visit(
            "alice",
            "/sql",
            "POST",
            data={"mark": mark, "statement": "SELECT 1"},
            headers={"Origin": "https://portal.example.org"},
        ).status_code
        == 200
    )


# ---- SQL ----

ESCAPES = (
    "SELECT * FROM read_parquet('{lake}/job/*/*.parquet')",
    "SELECT * FROM '{lake}/lake.json'",
    'SELECT * FROM "/etc/passwd"',
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM glob('/*')",
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM measured_made",
    "SELECT * FROM main.measured_made",
    "SELECT * FROM memory.main.measured_made",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_tables()",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM pg_catalog.pg_tables",
    "SELECT * FROM sqlite_master",
    "SHOW ALL TABLES",
    "SELECT getenv('HOME')",
    "SELECT current_setting('temp_directory')",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('job')",
    "SELECT json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
    "FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
    'SELECT * FROM (WITH "/etc/passwd" AS (SELECT 1) SELECT 1), "/etc/passwd"',
    "SELECT 1; SELECT 2",
    "SELECT * FROM job; DROP TABLE job",
    "ATTACH '{lake}/x.db'",
    "COPY job TO '{lake}/stolen.csv'",
    "COPY (SELECT 1) TO '{lake}/stolen.csv'",
    "EXPORT DATABASE '{lake}/x'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "PRAGMA database_list",
    "CALL pragma_version()",
    "CREATE TABLE x AS SELECT 1",
    "UPDATE job SET user = 'x'",
    "DELETE FROM job",
    "SELECT * FROM job) UNION ALL (SELECT 1",
    "SELECT 1) TO '{lake}/x'; --",
    "",
    ";",
    "\x00",
    "SELECT '\ud800'".encode("utf-8", "surrogatepass").decode("utf-8", "replace") + " FROM nothing",
    "EXPLAIN ANALYZE SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM postgres_scan('a', 'b', 'c')",
    "SELECT * FROM job AS j, LATERAL (SELECT * FROM read_text('/etc/passwd')) AS t",
    "SELECT (SELECT content FROM read_text('/etc/passwd'))",
    "SELECT * FROM job WHERE EXISTS (FROM read_blob('/etc/passwd'))",
    "SELECT * FROM job POSITIONAL JOIN read_text('/etc/passwd')",
    "SELECT list_transform([1], x -> (SELECT count(*) FROM read_text('/etc/passwd')))",
)


@pytest.mark.parametrize("statement", ESCAPES)
def test_a_statement_that_is_no_query_of_the_lake_is_refused(
    statement: str, snapshots: Snapshots, lake: Path
) -> None:
    for scope in (ALICE, EVERYTHING):
        with pytest.raises(IolensError) as error:
            run(snapshots.current(), scope, statement.replace("{lake}", str(lake)), Limits())
        assert "root:" not in str(error.value) and len(str(error.value).splitlines()) == 1
    assert not list(lake.glob("stolen*"))


def test_without_the_check_the_database_itself_holds(
    snapshots: Snapshots, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check is the second wall: behind it is a database that has nothing else and reaches nothing else."""
    monkeypatch.setattr("iolens.portal.data.sandbox.check", lambda statement, known: ["job", "finding"])
    for escape in ESCAPES[:8]:
        statement = escape.replace("{lake}", str(lake))
        try:
            found = run(snapshots.current(), ALICE, statement, Limits()).rows
        except IolensError:
            continue
        assert "bob" not in str(found) and "root:" not in str(found), statement
    assert {
        row[0]
        for row in run(snapshots.current(), ALICE, 'SELECT DISTINCT "user" FROM measured_made', Limits()).rows
    } == {"alice"}


def test_what_people_ask_is_not_refused(snapshots: Snapshots) -> None:
    snapshot = snapshots.current()
    for statement, rows in (
        ("SELECT count(*) FROM job", [(6,)]),
        ("FROM job SELECT count(DISTINCT \"user\")", [(1,)]),
        ("WITH x AS (SELECT log FROM job) SELECT count(*) FROM x JOIN job USING (log)", [(6,)]),
        ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT max(n) FROM r", [(5,)]),
        ("SELECT count(*) FROM job, posix WHERE job.log = posix.log", [(6,)]),
        ("SELECT count(*) FROM metric.io_time", [(6,)]),
        ("SELECT sum(x) FROM unnest([1, 2]) AS t(x)", [(3,)]),
        ("VALUES (1), (2)", [(1,), (2,)]),
        ("SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY start) AS n FROM job)", [(6,)]),
    ):  # fmt: skip
        assert run(snapshot, ALICE, statement, Limits()).rows == rows, statement
    assert run(snapshot, ALICE, "DESCRIBE job", Limits()).names[0] == "column_name"


def test_a_statement_has_its_time_its_memory_and_its_rows(snapshots: Snapshots) -> None:
    snapshot = snapshots.current()
    with pytest.raises(IolensError, match="ended after"):
        run(
            snapshot,
            ALICE,
            "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b",
            Limits(seconds=0.5),
        )
    with pytest.raises(IolensError, match="memory"):
        run(
            snapshot,
            ALICE,
            "SELECT list(a.range) FROM range(300000000) a",
            Limits(seconds=60, memory="100MB"),
        )
    found = run(snapshot, ALICE, "FROM range(100)", Limits(rows=10))
    assert len(found.rows) == 10 and found.cut


def test_the_check_knows_no_table_by_chance(snapshots: Snapshots) -> None:
    known = known_tables(snapshots.current().view(ALICE))
    assert check("SELECT * FROM job JOIN finding USING (log)", known) == ["finding", "job"]
    with pytest.raises(IolensError, match="no table"):
        check("SELECT * FROM metric.nothing", known)


# ---- addresses ----


@pytest.mark.parametrize(
    "path",
    [
        "/static/../portal.py", "/static/..%2f..%2fportal.py", "/static/%2e%2e/site.py",
        "/static//etc/passwd",
        "/static/htmx.min.js/../../site.py",
        "/csv/../../etc/passwd", "/csv/..%2f..%2fetc%2fpasswd",
        "/q/measured", "/csv/jobs", "/q/%00", "/job/1e9", "/job/-1", "/job/99999999999999999999999999",
        "/job/../audit2",
    ],
)  # fmt: skip
def test_no_path_leads_out(path: str, visit: Visit) -> None:
    answer = visit("alice", path)
    assert answer.status_code in (404, 403, 400)
    assert "import" not in answer.text and "root:" not in answer.text


def test_hostile_parameters_get_a_clear_answer(visit: Visit) -> None:
    for address in (
        "/jobs?page=x", "/jobs?page=-5", "/jobs?since=yesterday", "/jobs?text=%00%ff", "/jobs?by=log);DROP",
        "/q/top_users?rows=1e400", "/q/top_users?rows=nan", "/q/top_users?rows=-1",
        "/q/top_users?by=%27", "/compare?log=x",
        "/compare?log=1&log=2&log=3", "/coverage?by=x",
        "/coverage?since=x", "/coverage?cluster=%27%20OR%201=1",
        "/application",
        "/job?id=x", "/csv/job_list?skip=-1",
        "/compare?" + "&".join(f"log={n}" for n in range(20)), "/q/screen?bytes=-1e308",
    ):  # fmt: skip
        answer = visit("alice", address)
        assert answer.status_code in (200, 400, 404), (address, answer.status_code)
        assert "Traceback" not in answer.text and "bob" not in answer.text


# ---- hostile names ----

HOSTILE = b"/scratch/<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{7*7}}\xe2\x80\xae"


def test_names_of_files_and_command_lines_are_text(tmp_path: Path, site: Site) -> None:
    record = {
        "id": 5,
        "rank": -1,
        "opens": 1,
        "writes": 10,
        "bytes_written": 10,
        "size_write": [10, *[0] * 9],
    }
    record |= {"max_byte_written": 9, "write_time": 1.0}
    folder = tmp_path / "logs"
    folder.mkdir()
    log = Make(tmp_path)(
        exe=b"</title><script>alert(2)</script> =cmd|'/c calc'!A0", job_id=7, uid=1000, start=1_795_000_000,
        end=1_795_000_060, nprocs=1, posix=[record], names={5: HOSTILE},
    )  # fmt: skip
    log.rename(folder / "eve_x_id7-1_1-1-7_1.darshan")
    lake = tmp_path / "lake"
    subprocess.run(
        [places.BIN, "fleet", "ingest", folder, "--lake", lake, "--jobs", "1"],
        check=True,
        capture_output=True,
    )
    snapshots = Snapshots(lake)
    snapshots.renew()
    client = TestClient(
        Portal(site, snapshots).app(), base_url="https://portal.example.org", client=("10.0.0.1", 1)
    )
    with snapshots.current().view(EVERYTHING).session() as data:
        number = data.rows("SELECT log FROM job")[0]["log"]
    for path in (
        "/jobs",
        f"/job/{number}",
        f"/job/{number}/details",
        f"/job/{number}/report",
        "/q/top_files",
        "/q/top_applications",
    ):
        answer = client.get(path, headers={"X-Remote-User": "eve"})
        assert answer.status_code == 200, path
        assert "<script>alert" not in answer.text and "<img src=x" not in answer.text, path
        assert "\u202e" not in answer.text and "onerror=alert(1)>" not in answer.text.replace("&gt;", ""), (
            path
        )
        policy = answer.headers["content-security-policy"]
        assert "unsafe" not in policy and "default-src 'none'" in policy, path
    assert (
        "sandbox allow-scripts"
        in client.get(f"/job/{number}/report", headers={"X-Remote-User": "eve"}).headers[
            "content-security-policy"
        ]
    )
    snapshots.stop()


def test_cells_that_a_spreadsheet_would_compute_are_text() -> None:
    from iolens.portal.web.widgets import to_csv

    assert to_csv(["a"], [["=1+1"], ["@x"], ["-x"], [-1.5], ["fine"]]).splitlines() == [
        "a",
        "'=1+1",
        "'@x",
        "'-x",
        "-1.5",
        "fine",
    ]


# ---- requests ----


def test_every_answer_has_its_headers(visit: Visit) -> None:
    for address in ("/jobs", "/nothing", "/static/portal.js", "/healthy"):
        headers = visit("alice", address).headers
        assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
        assert (
            "script-src 'self'" in headers["content-security-policy"]
            and "unsafe" not in headers["content-security-policy"]
        )
        assert headers["referrer-policy"] == "same-origin" and headers["strict-transport-security"]
    assert visit("alice", "/jobs").headers["cache-control"] == "no-store"


def test_answers_are_compressed_for_no_page_of_another_site(visit: Visit) -> None:
    """That page could guess what stands in an answer by how long it is when compressed."""

    def ask(address: str, site: str) -> Any:
        headers = {"accept-encoding": "gzip", **({"sec-fetch-site": site} if site else {})}
        return visit("alice", address, headers=headers)

    for address in ("/jobs", "/static/portal.js"):
        own = ask(address, "same-origin")
        plain = ask(address, "")
        assert own.headers["content-encoding"] == "gzip" and "content-encoding" not in plain.headers
        assert own.content == plain.content
        assert 2 * int(own.headers["content-length"]) < int(plain.headers["content-length"])
        assert ask(address, "none").headers["content-encoding"] == "gzip"
        for site in ("cross-site", "same-site"):
            assert "content-encoding" not in ask(address, site).headers
    for address in ("/healthy", "/csv/findings", "/api/v1/openapi.json"):
        assert "content-encoding" not in ask(address, "same-origin").headers


def test_files_of_a_version_are_kept(visit: Visit) -> None:
    from iolens.portal.web.assets import version

    def kept(address: str) -> str:
        return str(visit("alice", address).headers["cache-control"])

    assert kept(f"/static/portal.js?{version()}") == "public, max-age=31536000, immutable"
    assert kept("/static/portal.js") == kept("/static/portal.js?older") == "public, max-age=86400"
    assert f"/static/portal.js?{version()}" in visit("alice", "/jobs").text


def test_too_much_is_refused(visit: Visit, portal: Portal) -> None:
    assert visit("alice", "/sql", "POST", content=b"x" * 70_000).status_code == 413
    assert visit("alice", "/sql", "POST", content=b"x", headers={"content-length": "-1"}).status_code in (
        400,
        413,
    )
    assert visit("alice", "/jobs?" + "a" * 20_000).status_code == 414


def test_who_asks_too_often_waits(site: Site, snapshots: Snapshots) -> None:
    import dataclasses

    portal = Portal(
        dataclasses.replace(site, requests_per_second=0.001, burst=5, audit=None, state=None), snapshots
    )
    client = TestClient(portal.app(), base_url="https://portal.example.org", client=("10.0.0.1", 1))
    codes = [client.get("/healthy", headers={"X-Remote-User": "alice"}).status_code for _ in range(7)]
    assert codes == [200] * 5 + [429] * 2
    assert client.get("/healthy", headers={"X-Remote-User": "bob"}).status_code == 200


_PLACES = (
    "/jobs /job/ /q/ /csv/ /sql /coverage /compare /application /tokens /static/ /login /api/v1/".split()
)
_NOISE = """%00 %ff ' " < .. %2e = & [] 999999999999999999999999999999 -1 {{1}} user log rows by name ? / ; %""".split()
_METHODS = "GET GET GET POST PUT DELETE OPTIONS HEAD PATCH".split()
_KINDS = (
    "application/json",
    "multipart/form-data; boundary=x",
    "text/plain",
    "application/x-www-form-urlencoded",
)
_CLAIMS = ("Bearer x", "Basic eDp4", "Bearer", b"Bearer \xc3\xa9")


def malformed(count: int, visit: Visit) -> list[str]:
    """Requests of noise; those that were answered as if something were broken, or told too much."""
    dice = random.Random(count)
    wrong = []
    for _ in range(count):
        address = dice.choice([*_PLACES, "/"]) + "".join(dice.choices(_NOISE, k=dice.randrange(8)))
        method = dice.choice(_METHODS)
        headers: dict[str, Any] = {"Content-Type": dice.choice(_KINDS)}
        if dice.random() < 0.3:
            headers["Authorization"] = dice.choice(_CLAIMS)
        body = bytes(dice.randrange(256) for _ in range(dice.randrange(40))) if method != "GET" else None
        answer = visit(dice.choice(["alice", None]), address, method, headers=headers, content=body)
        if answer.status_code >= 500 or "Traceback" in answer.text or "train.py" in answer.text:
            wrong.append(f"{method} {address} {body!r}: {answer.status_code}")
    return wrong


def test_noise_is_answered_plainly(visit: Visit) -> None:
    count = int(os.environ.get("PORTAL_MALFORMED", "300"))
    assert malformed(count, visit) == []


# ---- settings ----


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("from = [\"10.0.0.1\"]", "from = []"), "from is missing"),
        (("from = [\"10.0.0.1\"]", "from = [\"proxy\"]"), "no address"),
        (("staff =", "stuff ="), '"stuff" is no setting: did you mean staff?'),
        (("staff = [\"sam\"]", "staff = \"sam\""), "expected a list"),
        (("port = 8420", "port = \"x\""), "expected a whole number"),
        (("[header]\nname = \"X-Remote-User\"\nfrom = [\"10.0.0.1\"]\n", ""), "cannot identify its users"),
        (("[server]", "[server"), "is no TOML"),
    ],
)  # fmt: skip
def test_settings_are_read_strictly(change: tuple[str, str], words: str, tmp_path: Path) -> None:
    written = settings(tmp_path)
    assert change[0] in written
    file = tmp_path / "site.toml"
    file.write_text(written.replace(*change))
    with pytest.raises(IolensError, match=words):
        read_site(file)
