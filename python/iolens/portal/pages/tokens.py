"""Tokens of the API, and the way out."""

from __future__ import annotations

from datetime import datetime, timezone

from starlette.responses import RedirectResponse, Response

from iolens.error import USAGE, IolensError
from iolens.portal.asking import Asking, NotFound, is_count

__all__ = ["leave", "listed", "make", "remove"]

DAYS = 90
MOST_DAYS = 366


def _page(asking: Asking, made: str = "") -> Response:
    known = [
        (
            t.id,
            t.label,
            *(datetime.fromtimestamp(s, timezone.utc).strftime("%Y-%m-%d") for s in (t.made, t.ends)),
        )
        for t in asking.portal.state.tokens(asking.viewer.name)
    ]
    return asking.page("tokens.html", known=known, made=made, days=DAYS)


def listed(asking: Asking) -> Response:
    return _page(asking)


def make(asking: Asking) -> Response:
    text = asking.form.get("days", str(DAYS))
    if not is_count(text) or not 1 <= int(text) <= MOST_DAYS:
        raise IolensError(f"days: a whole number from 1 to {MOST_DAYS}", exit_code=USAGE)
    label = asking.form.get("label", "").strip()[:100] or "without a name"
    try:
        made = asking.portal.state.make_token(asking.viewer.name, label, int(text))
    except ValueError as error:
        raise IolensError(str(error), exit_code=USAGE) from None
    asking.tell(made_token=label)
    return _page(asking, made)


def remove(asking: Asking) -> Response:
    if not asking.portal.state.remove_token(asking.viewer.name, asking.form.get("id", "")):
        raise NotFound("there is no such token of yours")
    return RedirectResponse("/tokens", 303)


def leave(asking: Asking) -> Response:
    """Ends the session, and leads to where the one with the site's provider is ended."""
    portal = asking.portal
    portal.state.close_session(asking.request.cookies.get(portal.identity.cookie, ""))
    farewell = portal.sign_in.provider.farewell() if portal.sign_in is not None else ""
    answer = asking.page("left.html", farewell=farewell)
    portal.set_cookie(answer, portal.identity.cookie, "", 0)
    return answer
