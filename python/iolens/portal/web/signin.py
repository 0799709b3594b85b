"""Sign-in by the site's OpenID provider, and sign-out: three addresses that need no identity."""

from __future__ import annotations

import secrets
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from iolens.portal.access.identity import Known
from iolens.portal.access.provider import Provider, Refused, Unreachable
from iolens.portal.access.sessions import SignIn
from iolens.portal.web.page_request import Application

__all__ = ["SignInPages", "onward"]

SECONDS = 600
"""For signing in, at the provider's page."""

AT_ONCE = 4
"""Requests that wait for the provider: a slow one leaves the portal's other threads alone."""

_OWN = ("/login", "/logout", "/left", "/oidc/")


def onward(text: str) -> str:
    """A page of the portal to go on to; "/" for what is none, and for whatever leads elsewhere."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return "/"
    local = text.startswith("/") and not text.startswith("//") and not parts.netloc and not parts.scheme
    plain = text.isascii() and text.isprintable() and "\\" not in text and " " not in text
    return text if local and plain and len(text) <= 4000 and not parts.path.startswith(_OWN) else "/"


class SignInPages:
    """Of a portal with [oidc]."""

    def __init__(self, portal: Application, provider: Provider) -> None:
        self.portal = portal
        self.provider = provider
        self._limiter = anyio.CapacityLimiter(AT_ONCE)

    def routes(self) -> list[Route]:
        pages = (("/login", self._begin), ("/oidc/back", self._finish), ("/left", self._left))
        return [Route(path, partial(self._apart, page)) for path, page in pages]

    async def _apart(self, page: Any, request: Request) -> Response:
        """A page in a thread of these few."""
        answer: Response = await anyio.to_thread.run_sync(page, request, limiter=self._limiter)
        return answer

    def _cookie(self, state: str) -> str:
        """One for each sign-in, so that several tabs can sign in at once."""
        return f"{self.portal.identity.cookie}-{state[:12]}"

    def _failed(self, request: Request, error: Exception) -> HTTPException:
        request.state.told = {"error": str(error)[:500]}
        if isinstance(error, Unreachable):
            text = "The site's sign-in service does not answer. Try again in a moment."
            return HTTPException(503, detail=f"Sign-in does not work now\n{text}")
        return HTTPException(403, detail="You are not signed in\nThe sign-in did not work. Try it again.")

    def _begin(self, request: Request) -> Response:
        try:
            begun = self.provider.begin()
        except Unreachable as error:
            raise self._failed(request, error) from None
        browser = secrets.token_urlsafe(32)
        wanted = onward(request.query_params.get("next", "/"))
        kept = SignIn(begun.nonce, begun.verifier, wanted)
        self.portal.state.begin_sign_in(f"{begun.state}\0{browser}", kept, SECONDS)
        answer = RedirectResponse(begun.url, 303)
        self.portal.set_cookie(answer, self._cookie(begun.state), browser, SECONDS)
        return answer

    def _finish(self, request: Request) -> Response:
        """A browser counts only with the state of a sign-in that it has begun itself, and once."""
        given = request.query_params
        state = given.get("state", "")
        browser = request.cookies.get(self._cookie(state), "") if state else ""
        begun = self.portal.state.end_sign_in(f"{state}\0{browser}") if browser else None
        try:
            if begun is None:
                raise Refused("no sign-in of this browser has that state")
            if "error" in given or not given.get("code"):
                raise Refused(f"the provider says: {given.get('error', 'nothing')}")
            name = self.provider.finish(given["code"], given.get("iss", ""), begun.nonce, begun.verifier)
        except (Refused, Unreachable) as error:
            raise self._failed(request, error) from None
        identity = self.portal.identity
        self.portal.state.close_session(request.cookies.get(identity.cookie, ""))
        request.state.known = Known(self.portal.site.viewer(name), "sign-in")
        answer = self.portal.welcome(identity.open(name), begun.onward)
        self.portal.set_cookie(answer, self._cookie(state), "", 0)
        return answer

    def _left(self, request: Request) -> Response:
        return self.portal.anybodys_page(request, "left.html", farewell="")
