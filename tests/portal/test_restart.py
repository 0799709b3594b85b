"""A server that is restarted while people ask it and the lake is compacted: refused, or a whole right page."""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import places
from portal_server import Server, ask, free_port, serving

NOBODY_THERE = (ConnectionRefusedError, ConnectionResetError, BrokenPipeError, http.client.RemoteDisconnected)


def _is_right(path: str, status: int, text: str) -> bool:
    if path.startswith("/api/"):
        return status == 200 and len(json.loads(text)["rows"]) == 9
    return status == 200 and "<b>9</b> jobs of <b>3</b> users" in text and text.rstrip().endswith("</html>")


class _Clients:
    """Ask a port again and again until they are told to end."""

    def __init__(self, port: int) -> None:
        self.port, self.ended = port, threading.Event()
        self.wrong: list[str] = []
        self.right = self.refused = 0

    def ask(self, path: str) -> None:
        while not self.ended.is_set():
            try:
                status, text = ask(self.port, "GET", path, {"X-Remote-User": "sam"})
            except NOBODY_THERE:
                self.refused += 1
                time.sleep(0.02)
                continue
            except (OSError, http.client.HTTPException) as error:
                self.wrong.append(f"{path}: {error!r}")
                continue
            if _is_right(path, status, text):
                self.right += 1
            else:
                self.wrong.append(f"{path}: {status} {text[:300]}")


def _compact(lake: Path, ended: threading.Event) -> list[int]:
    """Exit codes, one for each time."""
    codes = []
    while not ended.is_set():
        command = [places.BIN, "fleet", "compact", "--lake", lake, "--keep", "0"]
        codes.append(subprocess.run(command, capture_output=True, check=False).returncode)
    return codes


def _stopped(server: Server) -> tuple[int, str]:
    server.process.terminate()
    _, err = server.process.communicate(timeout=300)
    return server.process.returncode, err


def _more(clients: _Clients, count: int) -> None:
    """Waits until so many more right pages came."""
    by, wanted = time.monotonic() + 60, clients.right + count
    while clients.right < wanted and not clients.wrong:
        assert time.monotonic() < by
        time.sleep(0.02)


def test_a_restart_during_requests(lake: Path, tmp_path: Path) -> None:
    own = tmp_path / "lake"
    shutil.copytree(lake, own)
    port = free_port()
    clients = _Clients(port)
    with ThreadPoolExecutor(4) as pool:
        try:
            compacting = pool.submit(_compact, own, clients.ended)
            for _ in range(2):
                with serving(own, tmp_path, port) as server:
                    if not clients.right:
                        for path in ("/jobs?since=", "/jobs?by=user&since=", "/api/v1/jobs"):
                            pool.submit(clients.ask, path)
                    _more(clients, 20)
                    assert _stopped(server) == (0, f"reading {own} ...\n")
        finally:
            clients.ended.set()
    assert not clients.wrong, "\n".join(clients.wrong)
    assert clients.right >= 40 and clients.refused
    assert set(compacting.result()) == {0}
