"""Every route, asked by every role: what is somebody else's is on no page, in no file and in no count."""

from __future__ import annotations

import json
import re
from typing import Any, Callable

import pytest
from iolens.portal.access.site import Site
from iolens.portal.data.scope import Role
from iolens.portal.web.routes import ROUTES

Visit = Callable[..., Any]

# Route -> addresses that are asked for. LOG is a log of the viewer's own. Every route has a row.
ADDRESSES: dict[tuple[str, str], list[str]] = {
    ("GET", "/"): ["/", "/?until=2026-11-02"],
    ("GET", "/jobs"): [
        "/jobs", "/jobs?by=user&down=0", "/jobs?found=1", "/jobs?page=2", "/jobs?since=2026-11-02&until=2026-11-30",
    ],
    ("GET", "/job"): ["/job?id=100"],
    ("GET", "/job/{log:int}"): ["/job/LOG"],
    ("GET", "/job/{log:int}/details"): ["/job/LOG/details"],
    ("GET", "/job/{log:int}/tables.csv"): [
        f"/job/LOG/tables.csv?table={table}" for table in ("summary", "findings", "size-table", "file-table")
    ],
    ("GET", "/job/{log:int}/report"): ["/job/LOG/report"],
    ("GET", "/application"): ["/application?name=sim"],
    ("GET", "/compare"): ["/compare", "/compare?log=LOG"],
    ("GET", "/compare.csv"): ["/compare.csv?log=LOG"],
    ("GET", "/screens"): ["/screens"],
    ("GET", "/storage"): ["/storage"],
    ("GET", "/q"): ["/q"],
    ("GET", "/q/{name}"): ["/q/NAME"],
    ("GET", "/csv/{name}"): ["/csv/NAME"],
    ("GET", "/coverage"): ["/coverage", "/coverage?by=user", "/coverage?by=account"],
    ("GET", "/coverage.csv"): ["/coverage.csv?by=user", "/coverage.csv?by=account", "/coverage.csv?table=no-log"],
    ("GET", "/sql"): ["/sql"],
    ("POST", "/sql"): ["/sql"],
    ("POST", "/sql.csv"): ["/sql.csv"],
    ("GET", "/running"): ["/running"],
    ("GET", "/running.csv"): ["/running.csv"],
    ("GET", "/api/v1/running"): ["/api/v1/running"],
    ("GET", "/api/v1/openapi.json"): ["/api/v1/openapi.json"],
    ("GET", "/api/v1/me"): ["/api/v1/me"],
    ("GET", "/api/v1/jobs"): ["/api/v1/jobs"],
    ("GET", "/api/v1/jobs/{log:int}"): ["/api/v1/jobs/LOG"],
    ("GET", "/api/v1/jobs/{log:int}/findings"): ["/api/v1/jobs/LOG/findings"],
    ("GET", "/api/v1/queries"): ["/api/v1/queries"],
    ("GET", "/api/v1/queries/{name}"): ["/api/v1/queries/NAME"],
    ("POST", "/api/v1/sql"): ["/api/v1/sql"],
    ("GET", "/tokens"): ["/tokens"],
    ("POST", "/tokens"): ["/tokens"],
    ("POST", "/tokens/remove"): ["/tokens/remove"],
    ("POST", "/logout"): ["/logout"],
    ("GET", "/ingest"): ["/ingest"],
    ("GET", "/ingest.csv"): ["/ingest.csv", "/ingest.csv?table=days", "/ingest.csv?table=reasons"],
    ("GET", "/audit"): ["/audit"],
    ("GET", "/audit.csv"): ["/audit.csv"],
}  # fmt: skip

# Whoever asks -> words that are of jobs this one may not see.
FOREIGN = {
    "alice": r"bob|carol|train\.py|/data/set|meta_id|m200|m999|m300",
    "bob": r"alice|carol|/scratch/alice|m100|m300",
    "lea": r"alice|carol|/scratch/alice|m100|m300|m999|\b201\b",
    "nobody": r"alice|bob|carol|train\.py|/data/set|/scratch/alice|m100|m200|m300",
}
ROLES = {
    "alice": Role.USER,
    "bob": Role.USER,
    "lea": Role.LEAD,
    "sam": Role.STAFF,
    "root": Role.ADMINISTRATOR,
}
OWN_JOB = {"alice": 100, "bob": 201, "lea": 200, "nobody": 100, "sam": 300, "root": 300}

STATEMENT = (
    'SELECT j."user", j.application, j.path, f.message, n.name, a.account FROM job AS j '
    "LEFT JOIN finding AS f USING (log) LEFT JOIN name AS n USING (log) "
    "FULL JOIN accounting AS a ON a.job_id = j.job_id"
)


def _names() -> list[str]:
    from iolens.fleet.saved_queries import queries
    from iolens.portal.web.pages.lists import INNER

    return [name for name in queries() if name not in INNER]


def _addresses(name: str, logs: dict[int, int]) -> list[tuple[str, str]]:
    found = []
    for (method, _), addresses in ADDRESSES.items():
        for address in addresses:
            filled = address.replace("LOG", str(logs[OWN_JOB[name]]))
            found += [(method, filled.replace("NAME", n)) for n in (_names() if "NAME" in filled else [""])]
    return found


def test_every_route_is_asked() -> None:
    routes = {(method, route.path) for route in ROUTES for method in route.methods}
    assert routes == set(ADDRESSES)


@pytest.mark.parametrize("name", FOREIGN)
def test_nothing_of_others_is_on_any_page(name: str, visit: Visit, post: Visit, logs: dict[int, int]) -> None:
    leaks, empty = [], []
    for method, address in _addresses(name, logs):
        if method == "POST":
            answer = post(name, address, statement=STATEMENT, label="x", days="1")
        else:
            answer = visit(name, address)
        text = answer.text
        found = re.search(FOREIGN[name], text)
        if found:
            leaks.append(
                f"{method} {address}: {answer.status_code} {text[max(0, found.start() - 80) : found.end() + 20]}"
            )
        if answer.status_code not in (200, 303, 403, 404, 400):
            empty.append(f"{method} {address}: {answer.status_code}")
    assert not leaks, "\n".join(leaks)
    assert not empty, "\n".join(empty)


def test_what_is_ones_own_is_there(visit: Visit, post: Visit, logs: dict[int, int]) -> None:
    """So that a page which shows nothing at all does not pass for a safe one."""
    for name, address, words in (
        ("alice", "/jobs", "<b>6</b> jobs"),
        ("alice", f"/job/{logs[100]}", "sim"),
        ("alice", f"/job/{logs[100]}/details", "/scratch/alice/run/out"),
        ("alice", f"/job/{logs[100]}/tables.csv?table=file-table", "/scratch/alice/run/out"),
        ("alice", f"/job/{logs[100]}/report", "I/O report"),
        ("alice", "/application?name=sim", "6 runs"),
        ("alice", "/q/top_files", "/scratch/alice/run/out"),
        ("alice", "/q/top_users", "alice"),
        ("alice", "/coverage?by=account", "m100"),
        ("bob", "/jobs", "<b>2</b> jobs"),
        ("lea", "/jobs", "<b>1</b> job"),
        ("lea", f"/job/{logs[200]}", "train.py"),
        ("sam", "/jobs", "<b>5</b> jobs of <b>2</b> users"),
        ("sam", "/jobs?since=", "<b>9</b> jobs of <b>3</b> users"),
        ("nobody", "/jobs", "<b>0</b> jobs"),
        ("root", "/ingest", "zed_bad_id9_1.darshan"),
        ("root", "/audit", "/jobs"),
    ):
        answer = visit(name, address)
        assert answer.status_code == 200, (name, address, answer.text)
        assert words in answer.text, (name, address)
    assert "/scratch/alice/run/out" in post("alice", "/sql", statement=STATEMENT).text


@pytest.mark.parametrize("route", ROUTES, ids=lambda r: f"{r.methods[0]} {r.path}")
def test_a_route_is_for_its_role_and_those_above(
    route: Any, visit: Visit, post: Visit, logs: dict[int, int]
) -> None:
    address = (
        ADDRESSES[(route.methods[0], route.path)][0]
        .replace("NAME", "top_users")
        .replace("LOG", str(logs[100]))
    )
    if route.methods == ("GET",):
        assert visit(None, address).status_code == 401
    else:
        assert visit(None, address, "POST", data={}).status_code == 401
    for name, role in ROLES.items():
        if route.methods == ("GET",):
            status = visit(name, address).status_code
        else:
            status = post(name, address, statement="SELECT 1", label="x", days="1").status_code
        assert (status == 403) == (role < route.least), (name, status)


def test_a_job_of_others_is_as_unknown_as_none_at_all(visit: Visit, logs: dict[int, int]) -> None:
    paths = ("/job/{}", "/job/{}/details", "/job/{}/report", "/compare?log={}", "/compare.csv?log={}")
    for path in (*paths, "/api/v1/jobs/{}", "/api/v1/jobs/{}/findings"):
        theirs = visit("alice", path.format(logs[200]))
        none = visit("alice", path.format(logs[200] + 7))
        assert (theirs.status_code, none.status_code) == (404, 404), path
        assert theirs.text.replace(str(logs[200]), "N") == none.text.replace(str(logs[200] + 7), "N"), path
    assert visit("alice", "/job?id=200").status_code == 404
    assert visit("bob", "/job?id=200").headers["location"] == f"/job/{logs[200]}"


def test_a_lead_sees_what_was_charged_to_the_project_and_no_more(visit: Visit, logs: dict[int, int]) -> None:
    """bob's other job was charged to another account."""
    assert visit("lea", f"/job/{logs[200]}").status_code == 200
    assert visit("lea", f"/job/{logs[201]}").status_code == 404


def test_peers_of_a_run_are_ones_own(visit: Visit) -> None:
    rows = visit("alice", "/csv/history?application=sim").text.splitlines()
    assert len(rows) == 7
    assert visit("alice", "/application?name=train.py").status_code == 404
    assert len(visit("alice", "/csv/history?application=train.py").text.splitlines()) == 1


def test_the_audit_tells_who_asked_what(site: Site, visit: Visit, post: Visit) -> None:
    visit("alice", "/jobs?text=needle")
    post("alice", "/sql", statement="SELECT 42")
    visit(None, "/jobs")
    lines = [json.loads(line) for line in site.audit.read_text().splitlines()][-3:]  # type: ignore[union-attr]
    assert [(one["user"], one["path"], one["status"]) for one in lines] == [
        ("alice", "/jobs", 200), ("alice", "/sql", 200), (None, "/jobs", 401),
    ]  # fmt: skip
    assert lines[0]["query"] == "text=needle" and lines[1]["statement"] == "SELECT 42"
