"""Tokens of the API, and the way out."""

from __future__ import annotations

from datetime import datetime, timezone

from starlette.responses import RedirectResponse, Response

from iolens.error import USAGE, IolensError
from iolens.portal.web.page_request import NotFound, PageRequest, is_count

__all__ = ["leave", "listed", "make", "remove"]

DAYS = 90
MOST_DAYS = 366


def _page(request: PageRequest, made: str = "") -> Response:
    known = [
        (
            t.id,
            t.label,
            *(datetime.fromtimestamp(s, timezone.utc).strftime("%Y-%m-%d") for s in (t.made, t.ends)),
        )
        for t in request.portal.state.tokens(request.viewer.name)
    ]
    return request.page("tokens.html", known=known, made=made, days=DAYS)


def listed(request: PageRequest) -> Response:
    return _page(request)


def make(request: PageRequest) -> Response:
    text = request.form.get("days", str(DAYS))
    if not is_count(text) or not 1 <= int(text) <= MOST_DAYS:
        raise IolensError(f"days: a whole number from 1 to {MOST_DAYS}", exit_code=USAGE)
    label = request.form.get("label", "").strip()[:100] or "without a name"
    try:
        made = request.portal.state.make_token(request.viewer.name, label, int(text))
    except ValueError as error:
        raise IolensError(str(error), exit_code=USAGE) from None
    request.tell(made_token=label)
    return _page(request, made)


def remove(request: PageRequest) -> Response:
    if not request.portal.state.remove_token(request.viewer.name, request.form.get("id", "")):
        raise NotFound("there is no such token of yours")
    return RedirectResponse("/tokens", 303)


def leave(request: PageRequest) -> Response:
    """Ends the session, and leads to where the one with the site's provider is ended."""
    portal = request.portal
    portal.state.close_session(request.http.cookies.get(portal.identity.cookie, ""))
    farewell = portal.farewell()
    answer = request.page("left.html", farewell=farewell)
    portal.set_cookie(answer, portal.identity.cookie, "", 0)
    return answer
