"""A server that is stopped, or killed: its questions end, its folder goes, and nothing aborts."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from iolens.portal.access.sessions import State
from portal_server import Server, ask, serving

ENDLESS = "SELECT sum(a.range * b.range) FROM range(10000000) AS a, range(10000000) AS b"


def _folders(scratch: Path) -> set[str]:
    return {one.name for one in scratch.glob("iolens-*")}


def _sql(server: Server, token: str, statement: str) -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    return ask(server.port, "POST", "/api/v1/sql", headers, json.dumps({"statement": statement}))


def _endless(server: Server, token: str) -> tuple[int, str]:
    """Asked again while the one that looks whether it runs is in its way."""
    while "still runs" in (answer := _sql(server, token, ENDLESS))[1]:
        time.sleep(0.01)
    return answer


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for of_thread in found for child in of_thread.read_text().split()]


def _until(true: Callable[[], Any]) -> Any:
    by = time.monotonic() + 60
    while not (found := true()):
        assert time.monotonic() < by
        time.sleep(0.05)
    return found


def _is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _halted_report(server: Server, pool: ThreadPoolExecutor) -> tuple[int, Future[tuple[int, str]]]:
    """The process that makes a job's report, which stays as it is; and who waits for the report."""
    (log,) = re.findall(r'href="/job/(\d+)"', server.get("/jobs?text=100")[1])[:1]
    asked = pool.submit(server.get, f"/job/{log}/report")
    (child,) = _until(lambda: _children(server.process.pid))
    # Until it has its own command the child has the server's memory; with DuckDB it is past its first lines.
    _until(lambda: "report.html" in Path(f"/proc/{child}/cmdline").read_text())
    _until(lambda: "duckdb" in Path(f"/proc/{child}/maps").read_text())
    os.kill(child, signal.SIGSTOP)
    return child, asked


def test_a_stop_ends_the_process_that_makes_a_report(lake: Path, tmp_path: Path) -> None:
    with serving(lake, tmp_path) as server, ThreadPoolExecutor(1) as pool:
        child, asked = _halted_report(server, pool)
        server.process.terminate()
        _, err = server.process.communicate(timeout=300)
        assert (server.process.returncode, err) == (0, f"reading {lake} ...\n")
        status, text = asked.result()
        assert status == 503 and "The portal is being stopped" in text
        assert _is_gone(child) and not _folders(tmp_path)


def test_no_report_is_made_for_a_server_that_was_killed(lake: Path, tmp_path: Path) -> None:
    with serving(lake, tmp_path) as server, ThreadPoolExecutor(1) as pool:
        child, asked = _halted_report(server, pool)
        server.process.kill()
        _until(lambda: _is_gone(child))
        assert isinstance(asked.exception(), (OSError, http.client.HTTPException))


def test_what_a_killed_server_left_is_removed_by_the_next(lake: Path, tmp_path: Path) -> None:
    others = tmp_path / "iolens-portals"
    others.mkdir()
    with serving(lake, tmp_path) as killed:
        of_killed = _folders(tmp_path) - {others.name}
        assert len(of_killed) == 1, "all that a server has is in one folder"
        assert list((tmp_path / next(iter(of_killed))).rglob("*.parquet"))
        killed.process.kill()
        killed.process.wait()
    assert of_killed <= _folders(tmp_path)
    with serving(lake, tmp_path) as living:
        of_living = _folders(tmp_path) - {others.name}
        assert len(of_living) == 1 and not of_living & of_killed
        with serving(lake, tmp_path):
            assert len(_folders(tmp_path)) == 3
        assert of_living <= _folders(tmp_path), "it lives"
        assert "<b>9</b> jobs" in living.get("/jobs?since=")[1]
        living.process.terminate()
        assert living.process.wait(30) == 0
        assert not of_living & _folders(tmp_path)


def test_sigterm_ends_a_statement_that_runs(lake: Path, tmp_path: Path) -> None:
    """DuckDB is in it when the signal comes; the interpreter must not end before."""
    with serving(lake, tmp_path) as server, ThreadPoolExecutor(1) as pool:
        state = State(tmp_path / "state.db")
        token = state.make_token("sam", "test", 1)
        state.close()
        asked = pool.submit(_endless, server, token)
        by = time.monotonic() + 30
        while "still runs" not in _sql(server, token, "SELECT 1")[1]:
            assert time.monotonic() < by and not asked.done()
            time.sleep(0.1)
        os.kill(server.process.pid, signal.SIGTERM)
        _, err = server.process.communicate(timeout=300)
        assert (server.process.returncode, err) == (0, f"reading {lake} ...\n")
        status, text = asked.result()
        assert status == 503 and json.loads(text)["error"]["title"] == "The portal is being stopped"
        assert not _folders(tmp_path)
