"""Staff's pages are asked before anybody comes; what all databases take is bounded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from iolens.portal import shelf as shelves
from iolens.portal.access import EVERYTHING, Scope
from iolens.portal.bounded import Session
from iolens.portal.portal import Portal
from iolens.portal.shelf import FEW_VIEWS, MOST_RESIDENT, VIEWS, Shelf
from iolens.portal.site import Site
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
def own(lake: Path) -> Iterator[Shelf]:
    made = Shelf(lake, refresh=3600)
    made.renew()
    yield made
    made.stop()


def test_staffs_pages_are_answered_from_memory(
    own: Shelf, site: Site, monkeypatch: pytest.MonkeyPatch
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
def test_databases_that_are_kept(memory: int, kept: int, own: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last ones that were asked, and that of everything."""
    monkeypatch.setattr(shelves, "resident", lambda: memory)
    edition = own.current()
    everything = edition.view(EVERYTHING)
    scopes = [Scope(users=frozenset({f"user{n}"})) for n in range(VIEWS + 3)]
    views = [edition.view(scope) for scope in scopes]
    assert len(edition._views) == kept
    assert edition.view(EVERYTHING) is everything and edition.view(scopes[-1]) is views[-1]
    assert edition.view(scopes[0]) is not views[0]
