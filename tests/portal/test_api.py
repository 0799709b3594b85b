"""The API: the same rows as the pages, in three forms, by tokens that are stored as hashes."""

from __future__ import annotations

import io
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable

import pyarrow.ipc
import pytest
import uvicorn
from iolens.error import IolensError
from iolens.portal.access.site import Site
from iolens.portal.client import CUT, Client
from iolens.portal.web.application import Portal
from iolens.portal.web.openapi import PATHS, document
from iolens.portal.web.routes import ROUTES
from jsonschema import Draft202012Validator

Visit = Callable[..., Any]
ARROW = "application/vnd.apache.arrow.stream"


@pytest.fixture
def token(portal: Portal) -> Iterator[Callable[[str], str]]:
    """Makes a token of a user; removed again."""
    made: list[str] = []

    def make(name: str) -> str:
        made.append(name)
        return portal.state.make_token(name, "test", 1)

    yield make
    for name in made:
        for one in portal.state.tokens(name):
            portal.state.remove_token(name, one.id)


def test_every_route_of_the_api_is_described() -> None:
    routes = {route.path.replace(":int", "") for route in ROUTES if route.api}
    assert routes == set(PATHS)
    described = document("https://portal.example.org")
    assert described["openapi"].startswith("3.1")
    for path in described["paths"].values():
        for operation in path.values():
            for answer in operation["responses"].values():
                for content in answer.get("content", {}).values():
                    Draft202012Validator.check_schema(content["schema"])


def test_a_token_is_its_user_on_the_api_alone(visit: Visit, token: Callable[[str], str], site: Site) -> None:
    text = token("alice")
    headers = {"Authorization": f"Bearer {text}"}
    answer = visit(None, "/api/v1/me", headers=headers)
    assert answer.json() == {"user": "alice", "role": "user"}
    assert visit(None, "/jobs", headers=headers).status_code == 401
    assert visit("root", "/api/v1/me", headers=headers).json()["user"] == "alice", (
        "a token is less than a header"
    )
    for wrong in ("Bearer x", f"Basic {text}", f"Bearer {text}x", "Bearer"):
        assert visit(None, "/api/v1/me", headers={"Authorization": wrong}).status_code == 401
    assert site.state is not None and text.encode() not in site.state.read_bytes()


def test_rows_are_ones_own_in_every_form(visit: Visit, token: Callable[[str], str]) -> None:
    headers = {"Authorization": f"Bearer {token('alice')}"}
    for path in ("/api/v1/jobs", "/api/v1/queries/job_list", "/api/v1/queries/history"):
        rows = visit(None, path, headers=headers).json()["rows"]
        assert {row["user"] for row in rows} == {"alice"} and len(rows) == 6
        csv = visit(None, path, headers={**headers, "Accept": "text/csv"}).text.splitlines()
        assert len(csv) == 7
        arrow = visit(None, path, headers={**headers, "Accept": ARROW})
        assert arrow.headers["content-type"] == ARROW
        table = pyarrow.ipc.open_stream(io.BytesIO(arrow.content)).read_all()
        assert table.column_names == list(rows[0])
        assert {row["start"][-1] for row in rows} == {"Z"} and table.schema.field("start").type.tz == "UTC"
        assert table.column("job_id").to_pylist() == [row["job_id"] for row in rows]


def test_sql_in_every_form(visit: Visit, token: Callable[[str], str]) -> None:
    headers = {"Authorization": f"Bearer {token('bob')}"}
    body = {"statement": 'SELECT "user", count(*) AS jobs FROM job GROUP BY 1'}
    answer = visit(None, "/api/v1/sql", "POST", headers=headers, json=body)
    assert answer.json()["rows"] == [{"user": "bob", "jobs": 2}]
    arrow = visit(None, "/api/v1/sql", "POST", headers={**headers, "Accept": ARROW}, json=body)
    assert pyarrow.ipc.open_stream(arrow.content).read_all().to_pylist() == [{"user": "bob", "jobs": 2}]
    for wrong in ("", "[]", "{", '{"statement": 1}', '{"statement": "DROP TABLE job"}', "[" * 9000):
        assert visit(None, "/api/v1/sql", "POST", headers=headers, content=wrong).status_code == 400, wrong[
            :20
        ]
    assert visit("bob", "/api/v1/sql", "POST", json=body).status_code == 403, (
        "a browser of a header's needs its mark"
    )


def test_rows_that_are_left_out_are_told_in_every_form(
    visit: Visit, token: Callable[[str], str], portal: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portal, "site", replace(portal.site, limits=replace(portal.site.limits, rows=3)))
    headers = {"Authorization": f"Bearer {token('alice')}"}
    described = document("https://portal.example.org")["paths"]["/api/v1/sql"]["post"]["responses"]["200"]
    for most, there in ((3, 3), (4, 3)):
        body = {"statement": f"SELECT log FROM job LIMIT {most}"}
        cut = "3" if most > there else None
        answer = visit(None, "/api/v1/sql", "POST", headers=headers, json=body)
        assert (len(answer.json()["rows"]), answer.json()["cut"]) == (there, most > there)
        Draft202012Validator(described["content"]["application/json"]["schema"]).validate(answer.json())
        csv = visit(None, "/api/v1/sql", "POST", headers={**headers, "Accept": "text/csv"}, json=body)
        assert len(csv.text.splitlines()) == there + 1
        arrow = visit(None, "/api/v1/sql", "POST", headers={**headers, "Accept": ARROW}, json=body)
        assert pyarrow.ipc.open_stream(arrow.content).read_all().num_rows == there
        assert [one.headers.get(CUT) for one in (answer, csv, arrow)] == [cut] * 3
    assert set(described["headers"]) == {CUT}


def test_tokens_by_page(visit: Visit, post: Visit, portal: Portal) -> None:
    page = post("carol", "/tokens", label="<b>mine</b>", days="1").text
    assert "&lt;b&gt;mine&lt;/b&gt;" in page and "<b>mine</b>" not in page
    (one,) = portal.state.tokens("carol")
    assert post("bob", "/tokens/remove", id=one.id).status_code == 404
    assert post("carol", "/tokens/remove", id=one.id).status_code == 303
    assert portal.state.tokens("carol") == []
    assert post("carol", "/tokens", label="x", days="0").status_code == 400


@pytest.fixture(scope="module")
def address(portal: Portal) -> Iterator[str]:
    """The portal on a port."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    port = listening.getsockname()[1]
    app = portal.app()
    app.hosts.add(f"127.0.0.1:{port}")  # type: ignore[attr-defined]
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", proxy_headers=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()
    listening.close()


def test_the_client(address: str, token: Callable[[str], str], logs: dict[int, int]) -> None:
    client = Client(address, token("alice"))
    assert client.me()["user"] == "alice"
    assert [row["job_id"] for row in client.jobs(by="job_id", down=0, rows=2)] == [100, 101]
    assert client.job(logs[100])["application"] == "sim"
    assert {"rule", "message"} <= set(client.findings(logs[105])[0])
    assert client.query("top_users")[0]["jobs"] == 6
    assert client.sql("SELECT count(*) AS n FROM job") == [{"n": 6}]
    assert pyarrow.ipc.open_stream(client.arrow("SELECT 1 AS one")).read_all().to_pylist() == [{"one": 1}]
    with pytest.raises(IolensError, match="there is no job"):
        client.job(logs[200])
    with pytest.raises(IolensError, match="no table"):
        client.sql("SELECT * FROM secret")
    with pytest.raises(IolensError, match="not signed in"):
        Client(address, "guess").me()


def test_the_client_warns_of_rows_that_are_left_out(
    address: str, token: Callable[[str], str], portal: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portal, "site", replace(portal.site, limits=replace(portal.site.limits, rows=3)))
    client = Client(address, token("alice"))
    for ask in (client.sql, client.arrow):
        with pytest.warns(UserWarning, match="only the first 3 rows"):
            ask("SELECT log FROM job")


def test_answers_are_as_described(address: str, token: Callable[[str], str], tmp_path: Path) -> None:
    """Schemathesis makes requests from the description, sound and unsound ones."""
    import hypothesis
    import schemathesis

    text = token("alice")
    described = document(address)
    schema = schemathesis.openapi.from_dict(json.loads(json.dumps(described)))
    schema.config.base_url = address
    checks = (schemathesis.checks.not_a_server_error,)
    count = 0
    for result in schema.get_all_operations():
        operation = result.ok()

        def ask(case: Any) -> None:
            nonlocal count
            answer = case.call(headers={"Authorization": f"Bearer {text}"})
            count += 1
            case.validate_response(answer, checks=checks)
            assert "bob" not in answer.text or "bob" in answer.request.url + str(answer.request.body)

        hypothesis.settings(
            max_examples=8, deadline=None, derandomize=True, database=None,
            suppress_health_check=list(hypothesis.HealthCheck), phases=[hypothesis.Phase.generate],
        )(hypothesis.given(operation.as_strategy())(ask))()  # fmt: skip
    assert count >= 8 * len(PATHS) // 2
