"""The portal as a running server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import tempfile
from functools import partial
from pathlib import Path

import uvicorn

from iolens.error import OK, USAGE, IolensError
from iolens.portal.access.connections import Clients, Connection
from iolens.portal.access.site import Site
from iolens.portal.data.snapshot import Snapshots, trusted_lake
from iolens.portal.web.application import Portal
from iolens.shown import say

__all__ = ["listen", "serve"]

GRACE = 5.0
"""Seconds that requests have when the server is stopped; then their queries are ended, and they say so."""


class _Server(uvicorn.Server):
    """uvicorn's, which gives up on requests only after their queries were ended."""

    def __init__(self, config: uvicorn.Config, portal: Portal) -> None:
        super().__init__(config)
        self._portal = portal

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        ending = asyncio.create_task(self._end_queries())
        await super().shutdown(sockets)
        ending.cancel()

    async def _end_queries(self) -> None:
        await asyncio.sleep(GRACE)
        while True:
            self._portal.end_queries()
            await asyncio.sleep(0.1)


def listen(host: str, port: int) -> socket.socket:
    """Raises IolensError if the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named: asyncio turns Nagle's algorithm off for sockets only that say that they are TCP's.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen(128)
    except OSError as error:
        made.close()
        raise IolensError(
            f"cannot listen on {host}:{port}: {error.strerror}; --port has another one", exit_code=USAGE
        ) from None
    return made


def serve(site: Site, lake: Path, refresh: float, memory: str) -> int:
    """Until SIGINT or SIGTERM."""
    opened = trusted_lake(lake)
    if site.person == "" and opened.settings.get("pseudonyms"):
        raise IolensError(
            "its users are pseudonyms, which cannot see their own jobs: serve it to one user, without --site",
            str(lake),
            exit_code=USAGE,
        )
    listening = listen(site.host, site.port)
    snapshots = Snapshots(lake, refresh, memory)
    tempfile.tempdir = str(
        snapshots.root
    )  # what DuckDB spills, too, is removed with the server or by the next one
    portal = Portal(site, snapshots)
    clients = Clients(site)
    # Proxies' headers about addresses are not believed: [header] from is about who really connects.
    server = _Server(
        uvicorn.Config(
            portal.app(),
            http=partial(Connection, clients),  # type: ignore[arg-type] # called as a class is
            ws="none",
            log_level="warning",
            proxy_headers=False,
            server_header=False,
            access_log=False,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=10,
            h11_max_incomplete_event_size=32 * 1024,
            limit_concurrency=clients.bounds.connections + 1,
        ),
        portal,
    )
    say(f"reading {lake} ...", sys.stderr)
    snapshots.start()
    if snapshots.problem:
        say(f"iolens: {lake}: {snapshots.problem}; it is tried again", sys.stderr)
    print(portal.identity.entry if site.person else site.origin, flush=True)
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGTERM, lambda *_: setattr(server, "should_exit", True))
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        quiet = portal.close()
        listening.close()
    if (
        not quiet
    ):  # on a machine that is too busy: a thread that is in DuckDB must not meet the interpreter's end
        sys.stdout.flush()
        os._exit(OK)
    return OK
