"""Pages, styles and scripts, compressed for browsers where no other site can measure how long they are."""

from __future__ import annotations

import gzip

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Compressed"]

KINDS = ("text/html", "text/css", "text/javascript")

LEAST, MOST = 1000, 2 * 1024 * 1024
"""Bytes: less is not worth it, more would keep other requests waiting."""

OWN = ("same-origin", "none")
"""Requests of our own pages and of the user, as browsers name them. The page of another site can choose a part of an
answer, and could guess the rest by the length of many compressed ones (the attack BREACH)."""


def _wanted(headers: Headers) -> bool:
    return headers.get("sec-fetch-site") in OWN and "gzip" in headers.get("accept-encoding", "")


def _compress(start: Message, body: Message) -> Message:
    """The body, and its headers, if it is one that is compressed."""
    headers = MutableHeaders(scope=start)
    plain = body.get("body", b"")
    kind = headers.get("content-type", "").partition(";")[0]
    if kind not in KINDS or not LEAST <= len(plain) <= MOST or body.get("more_body"):
        return body
    packed = gzip.compress(plain, 4, mtime=0)
    headers["content-encoding"], headers["content-length"] = "gzip", str(len(packed))
    headers.add_vary_header("accept-encoding")
    return {**body, "body": packed}


class Compressed:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        held: list[Message] = []

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                held.append(message)
                return
            if held:
                start = held.pop()
                message = _compress(start, message)
                await send(start)
            await send(message)

        wanted = scope["type"] == "http" and _wanted(Headers(scope=scope))
        await self.app(scope, receive, answer if wanted else send)
