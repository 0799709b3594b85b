"""Running jobs, by what nodes' exporters tell: each viewer's own."""

from __future__ import annotations

import dataclasses
import getpass
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from iolens.portal.portal import Portal
from iolens.portal.shelf import Shelf
from iolens.portal.site import Site
from starlette.testclient import TestClient

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


def test_running_jobs_are_ones_own(exporter: str, site: Site, shelf: Shelf) -> None:
    told = dataclasses.replace(
        site, exporters=(exporter, "http://127.0.0.1:1/metrics"), state=None, audit=None
    )
    client = TestClient(
        Portal(told, shelf).app(), base_url="https://portal.example.org", client=("10.0.0.1", 1)
    )
    own = client.get("/running", headers={"X-Remote-User": getpass.getuser()}).text
    assert "one &#34;x&#34; &lt;b&gt;" in own and "2 MiB" in own and "12.5 s" in own
    assert "Not reached" in own
    alice = client.get("/running", headers={"X-Remote-User": "alice"}).text
    assert "one &#34;" not in alice and ">two<" not in alice
    staff = client.get("/running", headers={"X-Remote-User": "sam"}).text
    assert "one &#34;" in staff and ">two<" in staff
