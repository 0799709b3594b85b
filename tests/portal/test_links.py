"""What docs/guide/portal.md says of links and of panels over the API is what the portal answers."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Callable

import places
import pytest
from iolens.portal.access.site import Site
from iolens.portal.data.snapshot import Snapshots
from iolens.portal.web.application import Portal
from starlette.testclient import TestClient

Visit = Callable[..., Any]

GUIDE = (places.ROOT / "docs" / "guide" / "portal.md").read_text()
PANELS = re.findall(r"^\| [\w ]+ \| `(/api/v1/[^`]+)` +\| ([\w, ]+?) +\|$", GUIDE, re.MULTILINE)


def test_a_link_by_the_schedulers_number(visit: Visit, logs: dict[int, int]) -> None:
    template = re.search(r"`https://iolens.example.org(/job\?id=ID&cluster=CLUSTER)`", GUIDE)
    assert template
    url = template[1].replace("CLUSTER", "hopper")
    answer = visit("alice", url.replace("ID", "100"))
    assert (answer.status_code, answer.headers["location"]) == (303, f"/job/{logs[100]}")
    assert visit("alice", "/job?id=100").headers["location"] == f"/job/{logs[100]}"
    unknown, of_bob = visit("alice", url.replace("ID", "4711")), visit("alice", url.replace("ID", "200"))
    assert (unknown.status_code, of_bob.status_code) == (404, 404)
    assert "there is no job 4711" in unknown.text
    assert unknown.text.replace("4711", "200") == of_bob.text
    assert visit("alice", "/job?id=100&cluster=edison").status_code == 404
    missing = visit("alice", "/job")
    assert missing.status_code == 404 and "which job? /job?id=NUMBER" in missing.text
    assert visit("alice", url.replace("ID", "4711.batch")).status_code == 400


TASKS = """JobID|JobIDRaw|User|Account|Partition|JobName|State|Submit|Start|End|AllocCPUS|AllocNodes|Cluster
90_3|100|alice|m100|p|sim|COMPLETED|2026-11-01T10:30:00|2026-11-01T10:30:00|2026-11-01T10:31:40|4|1|hopper
90_4|200|bob|m200|p|train|COMPLETED|2026-11-01T10:30:00|2026-11-01T10:30:00|2026-11-01T10:31:00|2|1|hopper
"""


def test_a_link_by_the_task_of_an_array(lake: Path, site: Site, tmp_path: Path) -> None:
    """As Slurm and as Open XDMoD write it; the log knows the number that the task has for itself."""
    own = tmp_path / "lake"
    shutil.copytree(lake, own)
    (tmp_path / "sacct").write_text(TASKS)
    command = [places.BIN, "fleet", "accounting", tmp_path / "sacct", "--zone", "UTC", "--lake", own]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    snapshots = Snapshots(own, refresh=3600)
    snapshots.renew()
    client = TestClient(
        Portal(site, snapshots).app(),
        base_url="https://portal.example.org",
        client=("10.0.0.1", 1),
        follow_redirects=False,
    )

    def got(name: str, number: str) -> tuple[int, str]:
        answer = client.get(f"/job?id={number}&cluster=hopper", headers={"X-Remote-User": name})
        return answer.status_code, answer.headers.get("location", "")

    assert got("alice", "90_3") == got("alice", "90[3]") == got("alice", "100")
    assert got("alice", "90_3")[0] == 303
    assert got("sam", "90_4") == got("sam", "200") and got("sam", "90_4")[0] == 303
    assert got("alice", "90_4") == got("alice", "90_5") == got("sam", "91_3") == (404, "")
    snapshots.stop()


def test_the_guide_has_three_panels() -> None:
    assert len(PANELS) == 3


@pytest.mark.parametrize(("url", "columns"), PANELS)
def test_a_panel_gets_its_columns(url: str, columns: str, portal: Portal, visit: Visit) -> None:
    token = portal.state.make_token("sam", "grafana", 1)
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
    answer = visit(None, url, headers=headers)
    assert answer.status_code == 200 and answer.headers["content-type"] == "application/json"
    rows = answer.json()["rows"]
    assert rows and all(list(row) == columns.split(", ") for row in rows)
    by_csv = visit(None, url, headers={**headers, "Accept": "text/csv"})
    assert by_csv.text.splitlines()[0] == columns.replace(", ", ",")
    assert visit(None, url, headers={**headers, "Authorization": "Bearer iolens_ended"}).status_code == 401
