"""Staff's pages are asked before anybody comes; what all databases take is bounded."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from iolens.error import IolensError
from iolens.fleet import Lake
from iolens.fleet.ingest.batch import Options
from iolens.fleet.ingest.ingest import Ingest
from iolens.fleet.tables.data import LakeData
from iolens.portal.access.site import Site
from iolens.portal.data import snapshot as snapshot_module
from iolens.portal.data import view as view_module
from iolens.portal.data.scope import EVERYTHING, Scope
from iolens.portal.data.snapshot import FEW_VIEWS, MOST_RESIDENT, VIEWS, Snapshots
from iolens.portal.data.view import Session
from iolens.portal.web.application import Portal
from made_area import Here
from small_lake import Area, make_area
from starlette.testclient import TestClient

PREPARED = (
    *(
        "/jobs",
        "/q/findings",
        "/q/top_applications",
        "/q/top_users",
        "/q/projects",
        "/q/drift",
        "/storage",
        "/screens",
    ),
    *("/coverage", "/coverage?by=user", "/coverage?by=week", "/q/top_files", "/q/top_directories"),
)


@pytest.fixture
def own(lake: Path) -> Iterator[Snapshots]:
    made = Snapshots(lake, refresh=3600)
    made.renew()
    yield made
    made.stop()


def test_staffs_pages_are_answered_from_memory(
    own: Snapshots, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = TestClient(
        Portal(site, own).app(), base_url="https://portal.example.org", client=("10.0.0.1", 1)
    )
    assert client.get("/healthy").json() == {"healthy": True, "prepared": False}
    own.current().warm()
    assert client.get("/healthy").json() == {"healthy": True, "prepared": True}

    def query(*_: object) -> None:
        raise AssertionError("asked")

    monkeypatch.setattr(Session, "query", query)
    for path in PREPARED:
        assert client.get(path, headers={"X-Remote-User": "sam"}).status_code == 200, path
    assert client.get("/jobs?text=sim", headers={"X-Remote-User": "sam"}).status_code == 500


@pytest.mark.parametrize(("memory", "kept"), [(0, VIEWS), (MOST_RESIDENT, FEW_VIEWS)])
def test_databases_that_are_kept(
    memory: int, kept: int, own: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last ones that people asked, and that of everything."""
    monkeypatch.setattr(snapshot_module, "resident", lambda: memory)
    snapshot = own.current()
    everything = snapshot.view(EVERYTHING)
    scopes = [Scope(users=frozenset({f"user{n}"})) for n in range(VIEWS + 3)]
    views = [snapshot.view(scope) for scope in scopes]
    assert len(snapshot._views) == kept
    assert snapshot.view(EVERYTHING) is everything and snapshot.view(scopes[-1]) is views[-1]
    assert snapshot.view(scopes[0]) is not views[0]


def test_no_database_holds_files_of_the_lake(own: Snapshots) -> None:
    """The kernel has them: what a database holds does not grow with the lake."""
    snapshot = own.current()
    snapshot.warm()
    for scope in (EVERYTHING, Scope(users=frozenset({"alice"}))):
        view = snapshot.view(scope)
        with view.session() as data:
            assert data.ask("top_files").rows
        held = "SELECT sum(memory_usage_bytes)::BIGINT FROM duckdb_memory() WHERE tag = 'EXTERNAL_FILE_CACHE'"
        assert view.data.connection.execute(held).fetchall() == [(0,)]
        assert limit_of(view.data.connection) == ("488.2 MiB" if scope.everything else "244.1 MiB")


def limit_of(connection: duckdb.DuckDBPyConnection) -> str:
    return str(connection.execute("SELECT current_setting('memory_limit')").fetchall()[0][0])


def test_what_does_not_fit_has_more_memory_once(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot, and a question about all jobs; a user's question is refused."""
    limits: list[str] = []
    write = snapshot_module._write

    def fail_first(data: LakeData, folder: Path) -> None:
        limits.append(limit_of(data.connection))
        write(data, folder)
        if len(limits) == 1:
            raise duckdb.OutOfMemoryException("no room")

    monkeypatch.setattr(snapshot_module, "_write", fail_first)
    made = Snapshots(lake, refresh=3600)
    made.renew()
    assert (made.problem, made.current().logs, limits) == ("", 9, ["244.1 MiB", "1.8 GiB"])
    large = "SELECT len(list(range)) FROM range(2000000)"
    for scope, fits in ((EVERYTHING, True), (EVERYTHING, False), (Scope(users=frozenset({"alice"})), False)):
        view = made.current().view(scope)
        view.data.connection.execute("SET memory_limit = '8MB'")
        with view.session() as data:
            if fits:
                assert data.query(large).fetchall() == [(2_000_000,)]
                assert limit_of(view.data.connection) == "1.8 GiB"
            else:
                with pytest.raises(IolensError, match="too many files for this page"):
                    data.query(large)
    made.stop()


def test_answers_that_are_kept(own: Snapshots) -> None:
    """So many, with so many rows together; the one that was asked for last stays."""
    view = own.current().view(EVERYTHING)
    for number in range(100):
        assert len(view.remembered(number, lambda: [()] * 4000)) == 4000
    assert [key for key in view._answers if isinstance(key, int)] == list(range(93, 100))
    view.remembered(93, list)
    view.remembered("more", lambda: [()] * 4000)
    assert 93 in view._answers and 94 not in view._answers
    for number in range(1000):
        view.remembered((number,), lambda: "text")
    assert len(view._answers) == 256
    assert len(view.remembered("large", lambda: [()] * 5001)) == 5001 and "large" not in view._answers


@pytest.mark.parametrize("name", ["alice", "bob", "nobody", "o'neill"])
def test_many_logs_and_few_have_the_same_answers(
    name: str, own: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few are copied, many are read where they are."""
    snapshot = own.current()
    kind_of = "SELECT table_type FROM information_schema.tables WHERE table_name = 'measured_made'"
    answers = []
    for few, kind in ((0, "VIEW"), (1000, "BASE TABLE")):
        monkeypatch.setattr(view_module, "_FEW_LOGS", few)
        snapshot.forget()
        with snapshot.view(Scope(users=frozenset({name}))).session() as data:
            answers.append(
                [data.ask(query).rows for query in ("job_list", "findings", "screen", "top_users")]
            )
            rows = data.rows(kind_of)
            users = [row["user"] for row in data.ask("top_users").dicts()]
        assert users == ([name] if name in ("alice", "bob") else [])
        assert [row["table_type"] for row in rows] == [kind if users else "BASE TABLE"]
    assert answers[0] == answers[1]


def test_a_database_of_one_log(own: Snapshots, logs: dict[int, int]) -> None:
    """It has that log's records and no other's, for who may see it; it is kept, and one request has it at a time."""
    snapshot = own.current()
    with snapshot.view(EVERYTHING).session() as data:
        owner = {row["log"]: row["user"] for row in data.rows('SELECT log, "user" FROM job')}
    log = next(log for log, user in owner.items() if user == "alice")
    alice = Scope(users=frozenset({"alice"}))
    for scope, held in ((alice, [log]), (EVERYTHING, [log]), (Scope(users=frozenset({"bob"})), [])):
        with snapshot.of_log(scope, log) as view, view.session() as data:
            for table in ("job", "record", "module", "mount", "finding", "metric"):
                found = data.rows(f"SELECT DISTINCT log FROM {table}")
                assert [row["log"] for row in found] == held, table
    with snapshot.of_log(alice, log) as view:
        threading.Timer(0.05, lambda: order.append("first")).start()
        order: list[str] = []

        def second() -> None:
            with snapshot.of_log(alice, log) as other:
                order.append("second" if other is view else "another")

        waiting = threading.Thread(target=second)
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive() and order == ["first"]
    waiting.join(30)
    assert order == ["first", "second"]


def test_files_of_logs_without_stored_sums_are_shown(tmp_path: Path) -> None:
    """A lake that was filled with --no-rules: staff and a user see what the records say."""
    area = make_area(tmp_path)
    for rules in (True, False):
        lake = Lake.create(tmp_path / f"lake-{rules}")
        Ingest(lake, Options(str(lake.path), rules=rules), jobs=1, pool=Here()).run([area])
    shown = []
    for rules in (True, False):
        made = Snapshots(tmp_path / f"lake-{rules}", refresh=3600)
        made.renew()
        for scope in (EVERYTHING, Scope(users=frozenset({"alice"}))):
            with made.current().view(scope).session() as data:
                shown.append([data.ask(name).rows for name in ("top_files", "file_systems")])
        made.stop()
    assert shown[:2] == shown[2:]
    (staff_files, staff_systems), (files, systems) = shown[:2]
    assert [row[0] for row in files] == ["/scratch/alice/run/out"] and len(staff_files) > 1
    assert [row[:4] for row in systems] == [("/scratch", "lustre", 6, 1)] and sum(
        row[2] for row in staff_systems
    ) > 6


def test_what_people_asked_is_asked_again_before_a_newer_edition_is_shown(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "lake"
    shutil.copytree(lake, own)
    snapshots = Snapshots(own, refresh=3600)
    snapshots.renew()
    alice = Scope(users=frozenset({"alice"}))
    with snapshots.current().view(alice).session() as data:
        first = data.ask("job_list", text="sim")
    more = tmp_path / "more"
    more.mkdir()
    Area(more).add("alice", "/opt/bin/sim", 990, 7, 100)
    Ingest(Lake(own), Options(str(own)), jobs=1, pool=Here()).run([more])
    snapshots.renew()

    def query(*_: object) -> None:
        raise AssertionError("asked")

    monkeypatch.setattr(Session, "query", query)
    with snapshots.current().view(alice).session() as data:
        assert len(data.ask("job_list", text="sim").rows) == len(first.rows) + 1
        with pytest.raises(AssertionError, match="asked"):
            data.ask("job_list", text="other")
    snapshots.stop()
