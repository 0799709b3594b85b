"""Running jobs, by what nodes' exporters tell: each viewer's own."""

from __future__ import annotations

import dataclasses
import getpass
import socket
import threading
import time

from iolens.portal.access.site import Site
from iolens.portal.data.snapshot import Snapshots
from iolens.portal.web.application import Portal
from starlette.testclient import TestClient


def test_running_jobs_are_ones_own(exporter: str, site: Site, snapshots: Snapshots) -> None:
    told = dataclasses.replace(
        site, exporters=(exporter, "http://127.0.0.1:1/metrics"), state=None, audit=None
    )
    client = TestClient(
        Portal(told, snapshots).app(), base_url="https://portal.example.org", client=("10.0.0.1", 1)
    )
    own = client.get("/running", headers={"X-Remote-User": getpass.getuser()}).text
    assert "one &#34;x&#34; &lt;b&gt;" in own and "2 MiB" in own and "12.5 s" in own
    assert "Not reached" in own
    alice = client.get("/running", headers={"X-Remote-User": "alice"}).text
    assert "one &#34;" not in alice and ">two<" not in alice
    staff = client.get("/running", headers={"X-Remote-User": "sam"}).text
    assert "one &#34;" in staff and ">two<" in staff


def test_running_jobs_as_csv_and_by_the_api(exporter: str, site: Site, snapshots: Snapshots) -> None:
    told = dataclasses.replace(site, exporters=(exporter,), state=None, audit=None)
    client = TestClient(
        Portal(told, snapshots).app(), base_url="https://portal.example.org", client=("10.0.0.1", 1)
    )
    own = {"X-Remote-User": getpass.getuser()}
    rows = {row["job_id"]: row for row in client.get("/api/v1/running", headers=own).json()["rows"]}
    assert (rows["77"]["bytes_read"], rows["77"]["processes"]) == (2097152.0, 4.0)
    lines = client.get("/running.csv", headers=own).text.splitlines()
    assert len(lines) == 1 + len(rows) and lines[0].startswith("job,job_id,user,nodes,bytes_read")
    assert client.get("/api/v1/running", headers={"X-Remote-User": "alice"}).json() == {"rows": []}
    assert len(client.get("/running.csv", headers={"X-Remote-User": "alice"}).text.splitlines()) == 1


def test_an_exporter_that_tells_drop_by_drop_is_not_waited_for(site: Site, snapshots: Snapshots) -> None:
    """Each drop comes in time, the whole never: others' answers are shown, and nobody waits longer."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            link, _ = listening.accept()
            with link:
                link.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
                try:
                    while True:
                        link.sendall(b"#")
                        time.sleep(0.1)
                except OSError:
                    return

        threading.Thread(target=drip, daemon=True).start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        told = dataclasses.replace(site, exporters=(url,), state=None, audit=None)
        client = TestClient(
            Portal(told, snapshots).app(), base_url="https://portal.example.org", client=("10.0.0.1", 1)
        )
        page = client.get("/running", headers={"X-Remote-User": "sam"}).text
        assert "the answer was not complete after 3 s" in page
