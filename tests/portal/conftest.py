"""A portal of a site over the lake of nine jobs: alice, bob and carol, a project lead, staff, an administrator."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable

import places
import pytest
from made_log import Make
from once import once
from portal_site import ACCOUNTING, settings
from small_lake import small_lake

pytest.importorskip("starlette")
pytest.importorskip("deltalake")

from iolens.portal.access.site import Site, read_site
from iolens.portal.data.snapshot import Snapshots
from iolens.portal.web.application import Portal
from starlette.testclient import TestClient

Visit = Callable[..., Any]


@pytest.fixture
def make_log(tmp_path: Path) -> Make:
    return Make(tmp_path)


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return (
        once(tmp_path_factory, "portal", lambda folder: fill(folder, small_lake(tmp_path_factory))) / "lake"
    )


def fill(folder: Path, small: Path) -> None:
    """The lake of nine jobs with accounting, and a log in quarantine."""
    lake = folder / "lake"
    shutil.copytree(small, lake)
    accounting = folder / "accounting.txt"
    accounting.write_text(ACCOUNTING)
    bad = folder / "bad"
    bad.mkdir()
    (bad / "zed_bad_id9_1.darshan").write_bytes(b"no log")
    for words in (
        ("accounting", str(accounting), "--zone", "UTC"),
        ("ingest", str(bad), "--jobs", "1", "--cluster", "hopper"),
    ):
        done = subprocess.run(
            [places.BIN, "fleet", *words, "--lake", lake], capture_output=True, text=True, check=False
        )
        assert done.returncode in (0, 4), done.stderr


@pytest.fixture(scope="session")
def snapshots(lake: Path) -> Iterator[Snapshots]:
    made = Snapshots(lake, refresh=3600)
    made.renew()
    assert made.problem == ""
    yield made
    made.stop()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("site")
    file = folder / "site.toml"
    file.write_text(settings(folder))
    return read_site(file)


@pytest.fixture(scope="session")
def portal(site: Site, snapshots: Snapshots) -> Portal:
    return Portal(site, snapshots)


@pytest.fixture(scope="session")
def visit(portal: Portal) -> Visit:
    """A request as the site's proxy sends it: visit("alice", "/jobs")."""
    app = portal.app()
    clients: dict[str, TestClient] = {}

    def send(name: str | None, url: str, method: str = "GET", **more: Any) -> Any:
        address = more.pop("address", "10.0.0.1")
        client = clients.setdefault(
            address,
            TestClient(
                app, base_url="https://portal.example.org", client=(address, 4711), follow_redirects=False
            ),
        )
        headers = {**({"X-Remote-User": name} if name is not None else {}), **more.pop("headers", {})}
        return client.request(method, url, headers=headers, **more)

    return send


@pytest.fixture
def post(portal: Portal, visit: Visit) -> Visit:
    """A form as a page of the portal sends it."""

    def send(name: str, url: str, **form: str) -> Any:
        mark = portal.identity.mark(name, "")
        if url.startswith("/api/"):
            return visit(name, url, "POST", json=form, headers={"X-Mark": mark})
        return visit(name, url, "POST", data={"mark": mark, **form})

    return send


@pytest.fixture(scope="session")
def logs(snapshots: Snapshots) -> dict[int, int]:
    """Number of a job -> its log's number in the lake."""
    from iolens.portal.data.scope import EVERYTHING

    with snapshots.current().view(EVERYTHING).session() as data:
        return {row["job_id"]: row["log"] for row in data.rows("SELECT job_id, log FROM job")}


TOLD = """# TYPE iolens_live_processes gauge
iolens_live_processes{{job="one \\"x\\" <b>",job_id="77",uid="{uid}"}} 4
iolens_live_run_time_seconds{{job="one \\"x\\" <b>",job_id="77",uid="{uid}"}} 12.500
iolens_live_read_bytes_total{{job="one \\"x\\" <b>",job_id="77",uid="{uid}",interface="posix"}} 1048576
iolens_live_read_bytes_total{{job="one \\"x\\" <b>",job_id="77",uid="{uid}",interface="stdio"}} 1048576
iolens_live_processes{{job="two",job_id="78",uid="4294900000"}} 1
# EOF
"""


@pytest.fixture
def exporter() -> Iterator[str]:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(TOLD.format(uid=os.getuid()).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/metrics"
    server.shutdown()
