"""Reports as a reader has them: built from a log, opened in a browser."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iolens.metrics import Dataset
from iolens.report import Document, build
from iolens.report.html import to_html
from iolens.rules import find
from logmaker import LogMaker

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DXT_POSIX = 10

# How many different colours are drawn on a canvas.
_COLOURS = """canvas => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
}"""


def document_of(*logs: Path) -> Document:
    with Dataset(logs) as data:
        return build(data, find(data))


@dataclass
class Opened:
    """A page in the browser, with everything it complained about or asked the network for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @classmethod
    def open(
        cls,
        browser: Browser,
        what: Document | Path,
        path: Path,
        *,
        at: str = "",
        unfold: bool = True,
        **context: Any,
    ) -> Opened:
        """at: where in the page, as "#files". unfold: opens the sections that few readers want."""
        if isinstance(what, Document):
            path.write_text(to_html(what), encoding="utf-8")
        else:
            path = what
        one = cls(browser.new_page(**{"viewport": {"width": 1280, "height": 900}, **context}))
        one.page.on("console", one._console)
        one.page.on("pageerror", lambda error: one.complaints.append(str(error)))
        one.page.on("request", one._request)
        one.page.goto(path.resolve().as_uri() + at)
        one.page.wait_for_selector("html[data-ready]")
        if unfold:
            one.page.evaluate("document.querySelectorAll('.part').forEach((part) => { part.open = true; })")
        return one

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _request(self, request: Any) -> None:
        if not request.url.startswith(("file:", "data:")):
            self.requests.append(request.url)

    def colours(self, selector: str) -> int:
        """Of a drawing, scrolled to."""
        self.page.locator(selector).scroll_into_view_if_needed()
        self.page.wait_for_timeout(50)
        count: int = self.page.eval_on_selector(selector, _COLOURS)
        return count

    def column(self, table: str, number: int) -> list[str]:
        """What a column shows."""
        return self.page.locator(f"#{table} tbody tr td:nth-child({number})").all_inner_texts()


Segment = tuple[int, int, float, float]


def dxt_record(file: int, rank: int, writes: list[Segment], reads: list[Segment], thread: int = 1) -> bytes:
    """A record of a trace: segments are offset, length, start, end."""
    head = struct.pack("<Qqq64sqq", file, rank, 0, b"node", len(writes), len(reads))
    return head + b"".join(struct.pack("<qqddQ", *segment, thread) for segment in [*writes, *reads])


def dxt_log(path: Path, records: list[bytes], names: dict[int, bytes], **more: Any) -> Path:
    """A log with a trace of POSIX accesses and nothing else."""
    path.write_bytes(bytes(LogMaker(names=names, regions={DXT_POSIX: (2, b"".join(records))}, **more)))
    return path
