"""All pages that links lead to: a chart has its table there, a table its CSV and its SQL, and both have its rows."""

from __future__ import annotations

import csv
import dataclasses
import io
import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from iolens.portal.access.site import Site
from iolens.portal.data.snapshot import Snapshots
from iolens.portal.web.application import Portal
from starlette.testclient import TestClient

FIGURE = re.compile(r'<figure class="([\w -]+)" id="([\w.-]+)">(.*?)</figure>', re.DOTALL)
TOOL = re.compile(r'<a href="([^"]+)"(?: download)?>(CSV|SQL)</a>')
NOT_IN_THE_LAKE = {"running": "but not by SQL", "audit": "there is no SQL"}
"""Tables that no statement gives, and what they say of it."""


LYING = ("summary", "compare")
"""Tables whose rows are shown from top to bottom."""


class Visitor:
    """An administrator of a site whose nodes tell of running jobs."""

    def __init__(self, portal: Portal) -> None:
        self.mark = portal.identity.mark("root", "")
        self.client = TestClient(
            portal.app(),
            base_url="https://portal.example.org",
            client=("10.0.0.1", 1),
            headers={"X-Remote-User": "root"},
        )

    def page(self, address: str) -> str:
        answer = self.client.get(address)
        assert answer.status_code == 200, f"{address}: {answer.text}"
        return answer.text

    def csv(self, address: str) -> list[list[str]]:
        answer = self.client.get(address)
        assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/csv"), address
        return list(csv.reader(io.StringIO(answer.text)))

    def by_sql(self, address: str) -> list[list[str]]:
        statement = parse_qs(urlsplit(address).query)["statement"][0]
        answer = self.client.post("/sql.csv", data={"mark": self.mark, "statement": statement})
        assert answer.status_code == 200, f"{statement}: {answer.text}"
        return list(csv.reader(io.StringIO(answer.text)))

    def pages(self) -> Iterator[tuple[str, str]]:
        """Addresses and what is there; of addresses that differ in their values alone two."""
        waiting, seen, kinds = ["/"], {"/"}, dict[tuple[str, tuple[str, ...]], int]()
        while waiting:
            address = waiting.pop(0)
            page = self.page(address)
            yield address, page
            for found in map(unescape, re.findall(r'href="(/[^"]*)"', page)):
                parts = urlsplit(found)
                kind = re.sub(r"\d+", "N", parts.path), tuple(name for name, _ in parse_qsl(parts.query))
                if (
                    found in seen
                    or parts.path.endswith(".csv")
                    or parts.path.startswith(("/csv/", "/static/", "/api/"))
                ):
                    continue
                if parts.path.endswith("/report") or kinds.get(kind, 0) == 2:
                    continue
                kinds[kind] = kinds.get(kind, 0) + 1
                seen.add(found)
                waiting.append(found)


@pytest.fixture
def visitor(exporter: str, site: Site, snapshots: Snapshots, tmp_path: Any) -> Visitor:
    told = dataclasses.replace(site, exporters=(exporter,), state=None, audit=tmp_path / "audit.jsonl")
    return Visitor(Portal(told, snapshots))


def test_charts_have_tables_and_tables_have_their_csv_and_sql(visitor: Visitor) -> None:
    seen: dict[str, set[str]] = {}
    for address, page in visitor.pages():
        figures = [(kind.split()[0], id, inner) for kind, id, inner in FIGURE.findall(page)]
        assert "#metric-" not in page, f"{address}: leads to a definition that is not there"
        tables = {id: inner for kind, id, inner in figures if kind == "table"}
        assert tables or not any(kind == "chart-box" for kind, _, _ in figures), f"{address}: charts alone"
        for id, inner in tables.items():
            tools = {kind: unescape(url) for url, kind in TOOL.findall(inner)}
            shown = inner.partition("<tbody>")[2].count("<tr")
            where = f"{address}: table {id}"
            if id in NOT_IN_THE_LAKE:
                assert set(tools) == {"CSV"} and NOT_IN_THE_LAKE[id] in inner, where
            else:
                assert set(tools) == {"CSV", "SQL"}, where
                (_, *rows), (_, *others) = visitor.csv(tools["CSV"]), visitor.by_sql(tools["SQL"])
                assert len(rows) == len(others), where
                lines = rows[0] if id in LYING and rows else rows
                assert 0 < shown <= len(lines) + 1 or not lines, where
            seen.setdefault(re.sub(r"\d+", "N", urlsplit(address).path), set()).add(id)
    assert seen["/job/N"] == {"summary", "size-table"}
    assert {"file-table", "directories", "extensions"} <= seen["/job/N/details"]
    assert seen["/running"] == {"running"} and seen["/audit"] == {"audit"}
    assert {"/jobs", "/application", "/storage", "/screens", "/coverage", "/ingest", "/q/findings"} <= set(
        seen
    )
