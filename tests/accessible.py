"""What axe-core finds wrong in a page: what users of keyboards, screen readers and weak eyes would miss."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["violations"]


def violations(page: Page) -> list[str]:
    """A line for each rule that is broken, with the places; everything folded is opened before."""
    from axe_playwright_python.sync_playwright import Axe  # of the full tier: a run without it fails

    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.wait_for_timeout(100)
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {[str(node['target']) for node in one['nodes']][:5]}" for one in found]
