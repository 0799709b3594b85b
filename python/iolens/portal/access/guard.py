"""Around every request: which clients may use this server, how often and how much; headers of every answer."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from iolens.portal.access.audit import Audit
from iolens.portal.access.site import Site

__all__ = ["POLICY", "Guard"]

BODY = 64 * 1024
"""Bytes of a request's body, at most."""

URL = 16 * 1024

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # without one, a browser sends our own forms without an origin
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


class _Buckets:
    """So many requests a second of each address, and some at once."""

    def __init__(self, rate: float, burst: int) -> None:
        self.rate, self.burst = rate, burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, who: str) -> bool:
        now = time.monotonic()
        left, at = self._left.pop(who, (float(self.burst), now))
        left = min(self.burst, left + (now - at) * self.rate)
        self._left[who] = (left - 1 if left >= 1 else left, now)
        if len(self._left) > 10_000:
            self._left.popitem(last=False)
        return left >= 1


class Guard:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp, site: Site, audit: Audit) -> None:
        self.app = app
        self.audit = audit
        self.site = site
        host = urlsplit(site.origin).netloc.lower()
        self.hosts = {host}
        if site.person:
            self.hosts |= {f"localhost:{site.port}", f"127.0.0.1:{site.port}", f"[::1]:{site.port}"}
        self._buckets = _Buckets(site.requests_per_second, site.burst)

    def _refused(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        """Why a request goes no further, if it does not."""
        if headers.get("host", "").lower() not in self.hosts:
            return 421, "this portal has another name"
        if len(scope.get("raw_path", b"")) + len(scope.get("query_string", b"")) > URL:
            return 414, "the address is too long"
        length = headers.get("content-length", "0")
        if not re.fullmatch("[0-9]{1,18}", length) or int(length) > BODY:
            return 413, "the request is too large"
        # Requests of one proxy are many people's: told apart by the header that it is trusted with.
        client = scope["client"][0] if scope.get("client") else ""
        header = self.site.header
        who = headers.get(header.name, "") if header is not None and header.trusts(client) else ""
        if not self._buckets.take(f"{client} {who}"):
            return 429, "too many requests: wait a moment"
        return None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        state: MutableMapping[str, Any] = scope.setdefault("state", {})
        start, told = time.monotonic(), {"status": 500}

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                told["status"] = message["status"]
                made = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    made.setdefault(name, value)
                if self.site.secure:
                    made["strict-transport-security"] = "max-age=31536000"
            await send(message)

        refused = self._refused(scope, headers)
        try:
            if refused:
                await PlainTextResponse(refused[1] + "\n", refused[0])(scope, receive, answer)
            else:
                await self.app(scope, _bounded(receive), answer)
        finally:
            self._tell(scope, state, told["status"], time.monotonic() - start)

    def _tell(self, scope: Scope, state: MutableMapping[str, Any], status: int, seconds: float) -> None:
        if scope["path"].startswith("/static/") and status < 400:
            return
        known = state.get("known")
        query = scope.get("query_string", b"").decode("latin-1")
        self.audit.write(
            user=known.viewer.name if known else None,
            role=known.viewer.role.title if known else None,
            by=known.by if known else None,
            address=scope["client"][0] if scope.get("client") else None,
            method=scope["method"],
            path=scope["path"],
            query="" if scope["path"] in ("/login", "/oidc/back") else query[:2000],
            status=status,
            milliseconds=round(seconds * 1000),
            **state.get("told", {}),
        )


def _bounded(receive: Receive) -> Callable[[], Awaitable[Message]]:
    """The body, which ends where it is longer than its header said or may be."""
    taken = 0

    async def take() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > BODY:
            return {"type": "http.disconnect"}
        return message

    return take
