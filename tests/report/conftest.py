"""A real browser for pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from iolens.report import Document
from opened import Opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Opens a document or an HTML file; the test fails if the page complains or calls out."""
    opened: list[Opened] = []

    def open_it(what: Document | Path, **context: Any) -> Opened:
        opened.append(Opened.open(browser, what, tmp_path / f"page-{len(opened)}.html", **context))
        return opened[-1]

    yield open_it
    for one in opened:
        one.page.close()
    assert [c for one in opened for c in one.complaints] == []
    assert [r for one in opened for r in one.requests] == []
