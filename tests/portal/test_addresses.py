"""Numbers in addresses are read strictly: what is none is a clear 400, and never another number."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any, Callable

import iolens
import pytest
from portal_server import serving

Visit = Callable[..., Any]


@pytest.mark.parametrize(
    "text", ["1_0", "nan", "inf", "-Infinity", " 5", "5 ", "0x10", "1e", "²", "٣", "1e9999", "."]
)
def test_a_parameter_that_is_no_number(text: str, visit: Visit) -> None:
    for path in ("/q/top_files", "/csv/top_files", "/api/v1/queries/top_files", "/api/v1/jobs"):
        answer = visit("sam", path, params={"rows": text})
        assert answer.status_code == 400, path
        assert "is no number" in answer.text or "the number is too large" in answer.text, answer.text


@pytest.mark.parametrize(("text", "rows"), [("2", 2), ("2.0", 2), ("+2", 2), ("2e0", 2), ("2.", 2)])
def test_a_parameter_that_is_a_number(text: str, rows: int, visit: Visit) -> None:
    answer = visit("sam", "/api/v1/jobs", params={"rows": text})
    assert (answer.status_code, len(answer.json()["rows"])) == (200, rows)


@pytest.mark.parametrize("text", ["²", "٣", "1_0", "-1", "9" * 19])
def test_a_log_that_is_no_number(text: str, visit: Visit) -> None:
    answer = visit("sam", "/compare", params={"log": text})
    assert answer.status_code == 400 and "expected numbers of logs" in answer.text
    assert visit("sam", f"/job/{text}").status_code == 404


def test_days_of_a_token_that_are_no_number(post: Visit) -> None:
    answer = post("sam", "/tokens", label="x", days="²")
    assert answer.status_code == 400 and "a whole number from 1 to 366" in answer.text


def test_a_length_that_is_no_number(visit: Visit) -> None:
    answer = visit("sam", "/sql", "POST", headers={"Content-Length": "\u00b2".encode("latin-1")})
    assert answer.status_code == 413


def _with_row(table: Path, behind: str, row: str) -> None:
    before, found, after = table.read_text().partition(behind)
    assert found, (table, behind)
    table.write_text(before + found + row + after)


def test_a_page_is_one_file_and_a_row_of_each_table(
    root: Path, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page of CONTRIBUTING, in a copy of the package: it is in the menu, and each viewer has his own jobs."""
    text = (root / "CONTRIBUTING.md").read_text().partition("\n## Adding a page of the portal\n")[2]
    code, route, place = re.findall(r"^```python\n(.*?)^```$", text.partition("\n## ")[0], re.M | re.S)
    web = tmp_path / "iolens" / "portal" / "web"
    shutil.copytree(Path(iolens.__file__).parent, tmp_path / "iolens")
    (web / "pages" / "longest.py").write_text(code)
    _with_row(web / "routes.py", "    lists,\n", "    longest,\n")
    _with_row(web / "routes.py", 'Route("/jobs", jobs.listed),\n', route)
    _with_row(web / "menu.py", '_Page("/compare", "Compare"),\n', place)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with serving(lake, tmp_path) as server:
        staff, user = (server.get("/longest", name) for name in ("sam", "alice"))
    assert staff[0] == user[0] == 200, staff
    assert '<a href="/longest"' in staff[1]
    programs = [len(re.findall(r"<tr", page)) for _, page in (staff, user)]
    assert programs[0] > programs[1] > 1, programs
