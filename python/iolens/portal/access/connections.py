"""Connections of clients: how many an address has, and how long a request may take to arrive.

uvicorn bounds neither: some hundred connections that send nothing, or half a request, would keep all others out. An
address that has its share, and a server that has all it takes, close the connection that has waited longest for a
request.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Callable
from typing import Any, NamedTuple

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from iolens.portal.access.site import Site

__all__ = ["Bounds", "Clients", "Connection"]


class Bounds(NamedTuple):
    """Connections, and seconds."""

    connections: int = 512
    share: int = 128
    """Of them an address may have, unless it is a proxy's, whose connections are many users'."""
    head: float = 15
    """Until the header of a request is there, from the connection or the last answer on."""
    body: float = 30
    """Until the rest is there."""


class Clients:
    """Which connections each address has, the oldest first."""

    def __init__(self, site: Site, bounds: Bounds = Bounds()) -> None:  # noqa: B008
        self.bounds = bounds
        self._is_proxy: Callable[[str], bool] = site.header.trusts if site.header else lambda address: False
        self._open: dict[Connection, str] = {}

    def enter(self, one: Connection, address: str) -> None:
        """Makes room for a connection, or ends it."""
        network = _network(address)
        self._open[one] = network
        own = [other for other, of in self._open.items() if of == network and other is not one]
        if len(own) >= self.bounds.share and not self._is_proxy(address):
            (_longest_idle(own) or one).end()
        elif len(self._open) > self.bounds.connections and (idle := _longest_idle([*self._open])):
            idle.end()

    def leave(self, one: Connection) -> None:
        self._open.pop(one, None)


def _longest_idle(listed: list[Connection]) -> Connection | None:
    return min((one for one in listed if one.is_idle), key=lambda one: one.since, default=None)


def _network(address: str) -> str:
    """Of IPv6 the part that a client cannot choose."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else str(found)


class Connection(H11Protocol):
    """uvicorn's, which ends where a request does not arrive in time."""

    def __init__(self, clients: Clients, **uvicorns: Any) -> None:
        super().__init__(**uvicorns)
        self._clients = clients
        self._arriving = ""
        self._timer: asyncio.TimerHandle | None = None
        self.since = 0.0
        """When it began to wait for a request."""

    @property
    def is_idle(self) -> bool:
        """Is nothing asked that is not answered?"""
        return self._arriving == "head"

    def end(self) -> None:
        self._clients.leave(self)
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        super().connection_made(transport)
        self._watch()
        self._clients.enter(self, self.client[0] if self.client else "")

    def connection_lost(self, exc: Exception | None) -> None:
        self._clients.leave(self)
        self._await("")
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def _watch(self) -> None:
        arriving = {h11.IDLE: "head", h11.SEND_BODY: "body"}.get(self.conn.their_state, "")
        if arriving != self._arriving:
            self._await(arriving)

    def _await(self, arriving: str) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._arriving, self.since = arriving, self.loop.time()
        if arriving and not self.transport.is_closing():
            bounds = self._clients.bounds
            seconds = bounds.head if arriving == "head" else bounds.body
            self._timer = self.loop.call_later(seconds, self.end)
