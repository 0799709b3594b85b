"""`iolens serve` as a process of its own, for a site that believes this machine's header."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import places
from portal_site import local_settings

START_SECONDS = 60


class Server(NamedTuple):
    process: subprocess.Popen[str]
    port: int

    def get(self, path: str, name: str = "sam", **headers: str) -> tuple[int, str]:
        """Status and body. Raises OSError or HTTPException if nobody answers."""
        return ask(self.port, "GET", path, {"X-Remote-User": name, **headers})


def ask(
    port: int, method: str, path: str, headers: dict[str, str], body: str | None = None
) -> tuple[int, str]:
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    try:
        link.request(method, path, body, headers)
        answer = link.getresponse()
        return answer.status, answer.read().decode()
    finally:
        link.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as made:
        return int(made.getsockname()[1])


@contextlib.contextmanager
def serving(lake: Path, folder: Path, port: int = 0, more: str = "") -> Iterator[Server]:
    """One that answers, with its settings and its scratch folders in a folder; what is left of it is killed."""
    port = port or free_port()
    site = folder / f"site-{port}.toml"
    site.write_text(local_settings(folder, port) + more)
    command = [places.BIN, "serve", "--lake", lake, "--site", site, "--refresh", "0.2"]
    process = subprocess.Popen(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    server = Server(process, port)
    try:
        by = time.monotonic() + START_SECONDS
        while process.poll() is None and time.monotonic() < by:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if server.get("/healthy")[0] == 200:
                    break
            time.sleep(0.05)
        else:
            raise AssertionError(f"no server: {process.communicate(timeout=10)}")
        yield server
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
