"""Styles and scripts: the report's own, htmx as it was published, and a little of the portal's."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from iolens.report.html import drawing_script, style

__all__ = ["serve", "version"]


def _own(name: str) -> str:
    return files("iolens.portal").joinpath("static").joinpath(name).read_text(encoding="utf-8")


@cache
def _assets() -> dict[str, tuple[str, bytes]]:
    made = {
        "report.css": ("text/css", style()),
        "portal.css": ("text/css", _own("portal.css")),
        "portal.js": ("text/javascript", drawing_script(_own("portal.js"))),
        "htmx.min.js": ("text/javascript", _own("htmx.min.js")),
        "htmx.LICENSE": ("text/plain", _own("htmx.LICENSE")),
    }
    return {name: (kind, text.encode()) for name, (kind, text) in made.items()}


@cache
def version() -> str:
    """Changes with what is served, so that browsers may keep it."""
    content = b"".join(content for _, content in _assets().values())
    return hashlib.sha256(content).hexdigest()[:12]


def serve(request: Request) -> Response:
    found = _assets().get(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    # A page names a file with its version: under that address it never changes.
    kept = f"{365 * 86400}, immutable" if request.url.query == version() else "86400"
    return Response(found[1], media_type=found[0], headers={"cache-control": f"public, max-age={kept}"})
