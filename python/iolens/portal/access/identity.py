"""Who is asking: a session's cookie, a trusted proxy's header, or a token of the API."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from dataclasses import dataclass

from starlette.requests import HTTPConnection

from iolens.portal.access.sessions import State
from iolens.portal.access.site import Site
from iolens.portal.data.scope import Viewer

__all__ = ["Identity", "Known", "user_name"]

LONGEST_NAME = 128


@dataclass(frozen=True)
class Known:
    """A viewer, and how the portal knows. mark: what a form must send back; "" where no form is believed."""

    viewer: Viewer
    by: str
    mark: str = ""


def user_name(text: str) -> str | None:
    """A user's name as a header or provider tells it, if it can be one."""
    text = text.strip()
    return text if text and len(text) <= LONGEST_NAME and text.isprintable() else None


class Identity:
    """Finds the user of each request."""

    def __init__(self, site: Site, state: State) -> None:
        self.site = site
        self.state = state
        self.cookie = f"iolens-{site.port}" if site.person else "iolens"
        if site.secure:
            self.cookie = f"__Host-{self.cookie}"
        self._entry = secrets.token_urlsafe(32) if site.person else ""
        self._lock = threading.Lock()

    @property
    def entry(self) -> str:
        """The URL that lets the one person in, once."""
        return f"{self.site.origin}/login?token={self._entry}"

    def enter(self, token: str) -> str | None:
        """A session for the one-time token; None for any other, and the second time."""
        with self._lock:
            if not self._entry or not hmac.compare_digest(token.encode(), self._entry.encode()):
                return None
            self._entry = ""
        return self.open(self.site.person)

    def open(self, user: str) -> str:
        return self.state.open_session(user, self.site.session_hours * 3600)

    def mark(self, name: str, session: str) -> str:
        """What forms of this session carry."""
        return hmac.new(self.state.secret, f"{name}\0{session}".encode(), hashlib.sha256).hexdigest()

    def known(self, request: HTTPConnection, api: bool) -> Known | None:
        """The user of the request; None if unknown. A token counts for the API alone."""
        given = request.headers.get("authorization", "")
        if given:
            return self._by_token(given) if api else None
        if self.site.header is not None:
            found = self._by_header(request)
            if found is not None:
                return found
        session = request.cookies.get(self.cookie, "")
        name = self.state.session(session) if session else None
        if name is None:
            return None
        return Known(self.site.viewer(name), "session", self.mark(name, session))

    def _by_token(self, given: str) -> Known | None:
        kind, _, text = given.partition(" ")
        name = self.state.token(text.strip()) if kind.lower() == "bearer" else None
        return None if name is None else Known(self.site.viewer(name), "token")

    def _by_header(self, request: HTTPConnection) -> Known | None:
        header = self.site.header
        assert header is not None
        told = request.headers.getlist(header.name)
        if not told or request.client is None or not header.trusts(request.client.host):
            return None
        name = user_name(told[0]) if len(told) == 1 else None
        return None if name is None else Known(self.site.viewer(name), "header", self.mark(name, ""))
