"""The menu: groups of pages, without those that this lake or site has nothing for."""

from __future__ import annotations

from typing import NamedTuple

from iolens.portal.access.site import Site
from iolens.portal.data.scope import Role, Viewer
from iolens.portal.data.snapshot import PortalSnapshot

__all__ = ["Group", "menu"]


class _Page(NamedTuple):
    url: str
    words: str
    least: Role = Role.USER
    needs: str = ""
    """What the lake or the site must have: accounting, exporters."""


class Group(NamedTuple):
    title: str
    pages: tuple[_Page, ...]


_MENU = (
    Group(
        "Jobs",
        (
            _Page("/jobs", "Job list"),
            _Page("/compare", "Compare"),
            _Page("/running", "Running", needs="exporters"),
        ),
    ),
    Group(
        "Problems",
        (
            _Page("/q/findings", "Findings"),
            _Page("/q/top_applications", "Applications"),
            _Page("/q/top_users", "Users", Role.LEAD),
            _Page("/q/projects", "Projects", Role.LEAD, "accounting"),
            _Page("/q/drift", "Slower applications"),
            _Page("/screens", "Screens"),
        ),
    ),
    Group(
        "Machine",
        (
            _Page("/storage", "Storage"),
            _Page("/coverage", "Coverage", needs="accounting"),
            _Page("/ingest", "Ingest", Role.ADMINISTRATOR),
        ),
    ),
    Group(
        "More", (_Page("/q", "All lists"), _Page("/sql", "SQL"), _Page("/audit", "Audit", Role.ADMINISTRATOR))
    ),
)


def menu(viewer: Viewer, site: Site, snapshot: PortalSnapshot | None) -> list[Group]:
    """What this viewer may open. Where the lake is not known, nothing of it is missing."""
    there = {
        "": True,
        "accounting": snapshot is None or bool(snapshot.of_lake.files.get("accounting")),
        "exporters": bool(site.exporters),
    }
    found = (
        Group(title, tuple(p for p in pages if viewer.role >= p.least and there[p.needs]))
        for title, pages in _MENU
    )
    return [group for group in found if group.pages]
