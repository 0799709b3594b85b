"""Clients that send nothing, half a request, or keep many connections open: others are served all the same."""

from __future__ import annotations

import contextlib
import http.client
import resource
import socket
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Callable

import pytest
import uvicorn
from iolens.portal.access.connections import Bounds, Clients, Connection
from iolens.portal.access.site import Site
from portal_server import serving

SHORT = Bounds(connections=40, share=10, head=0.5, body=0.5)
LONG = SHORT._replace(head=60, body=60)
Serve = Callable[[Bounds], int]


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Reads a request and answers."""
    if scope["type"] != "http":
        return
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def serve(site: Site) -> Iterator[Serve]:
    with contextlib.ExitStack() as stack:

        def start(bounds: Bounds) -> int:
            listening = socket.create_server(("127.0.0.1", 0))
            config = uvicorn.Config(
                app,
                http=partial(Connection, Clients(site, bounds)),  # type: ignore[arg-type]
                log_level="error",
                lifespan="off",
                limit_concurrency=bounds.connections + 1,
            )
            server = uvicorn.Server(config)
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
            thread.start()

            def stop() -> None:
                server.should_exit = True
                thread.join()

            stack.callback(stop)
            return int(listening.getsockname()[1])

        yield start


def connect(port: int, source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), 20, (source, 0))


def is_served(port: int, source: str = "127.0.0.1") -> bool:
    link = http.client.HTTPConnection("127.0.0.1", port, 20, source_address=(source, 0))
    try:
        link.request("POST", "/", b"1" * 100)
        answer = link.getresponse()
        return (answer.status, answer.read()) == (200, b"ok")
    finally:
        link.close()


def seconds_until_it_ends(link: socket.socket, drop: bytes = b"") -> float:
    """drop: what is sent again and again meanwhile."""
    begin = time.monotonic()
    link.settimeout(0.1)
    while time.monotonic() < begin + 20:
        try:
            if drop:
                link.sendall(drop)
            if link.recv(1) == b"":
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - begin


HALF = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n"


@pytest.mark.parametrize(
    ("sent", "drop"), [(b"", b""), (b"GET / HT", b""), (HALF, b"a: b\r\n"), (HALF + b"\r\n", b"1")]
)
def test_a_request_has_its_time_to_arrive(serve: Serve, sent: bytes, drop: bytes) -> None:
    port = serve(SHORT)
    with connect(port) as link:
        link.sendall(sent)
        assert 0.3 < seconds_until_it_ends(link, drop) < 10
    assert is_served(port)


def test_half_a_request_after_an_answer_ends_too(serve: Serve) -> None:
    with connect(serve(SHORT)) as link:
        link.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        while b"ok" not in link.recv(1000):
            pass
        link.sendall(b"GET / HT")
        assert seconds_until_it_ends(link) < 10


def test_a_connection_is_kept_from_request_to_request(serve: Serve) -> None:
    link = http.client.HTTPConnection("127.0.0.1", serve(SHORT), 20)
    for _ in range(6):
        link.request("POST", "/", b"1" * 1000)
        assert link.getresponse().read() == b"ok"
        time.sleep(0.15)
    link.close()


def test_an_address_has_its_share(serve: Serve) -> None:
    port = serve(LONG)
    links = [connect(port) for _ in range(30)]
    assert is_served(port) and is_served(port, "127.0.0.2")
    closed = [seconds_until_it_ends(link) < 20 for link in links[:20]]
    assert all(closed), "those that have waited longest make room"
    links[-1].sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    assert links[-1].recv(15) == b"HTTP/1.1 200 OK"
    for link in links:
        link.close()


def test_many_addresses_keep_nobody_out(serve: Serve) -> None:
    port = serve(LONG)
    links = [connect(port, f"127.0.1.{n % 100 + 1}") for n in range(200)]
    assert is_served(port) and is_served(port, "127.0.0.2")
    for link in links:
        link.close()


def test_connections_with_a_request_under_way_are_not_closed_for_others(serve: Serve) -> None:
    port = serve(LONG)
    busy = [connect(port) for _ in range(10)]
    for link in busy:
        link.sendall(HALF + b"\r\n1")
    time.sleep(0.2)
    with connect(port) as one_too_many:
        assert seconds_until_it_ends(one_too_many) < 20
    for link in busy:
        link.sendall(b"1" * 99)
        assert link.recv(15) == b"HTTP/1.1 200 OK"
        link.close()


def test_a_thousand_idle_connections_leave_the_portal_to_others(lake: Path, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with serving(lake, tmp_path) as server:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
        links = [connect(server.port, f"127.0.2.{n % 4 + 1}") for n in range(1100)]
        try:
            for _ in range(5):
                status, text = server.get("/jobs?since=")
                assert status == 200 and "<b>9</b> jobs" in text
        finally:
            for link in links:
                link.close()
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
