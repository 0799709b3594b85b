"""What docs/guide/portal.md says of links and of panels over the API is what the portal answers."""

from __future__ import annotations

import re
from typing import Any, Callable

import places
import pytest
from iolens.portal.portal import Portal

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
    assert visit("alice", url.replace("ID", "4711_3")).status_code == 400


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
