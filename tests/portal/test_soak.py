"""A server under people of all roles while its lake grows, forgets, is compacted, damaged and mended, and it restarts.

`make portal-soak SECONDS=300` does it for longer.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from iolens.portal.access.sessions import State
from portal_server import Server, free_port, serving
from portal_soak import REMOVED, Lake, Soak

SECONDS = float(os.environ.get("PORTAL_SOAK", "20"))
PEOPLE = ("alice", "bob", "carol", "zoe", "sam", "root") * 4
RESTARTS = 4
MEMORY_MB = 1200
"""Of the server, at most."""


def _memory(server: Server) -> float:
    """MB resident, at most so far."""
    try:
        text = Path(f"/proc/{server.process.pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("VmHWM")), 0.0)


def _stop(server: Server, how: int) -> None:
    """By a signal that it obeys, or by one that nothing survives."""
    if how % 2:
        server.process.kill()
        server.process.wait(60)
    else:
        server.process.terminate()
        _, err = server.process.communicate(timeout=300)
        assert server.process.returncode == 0, err
        assert "Traceback" not in err, err


def test_soak(lake: Path, logs: dict[int, int], tmp_path: Path, make_log: Any, capsys: Any) -> None:
    own = tmp_path / "lake"
    shutil.copytree(lake, own)
    state = State(tmp_path / "state.db")
    tokens = {name: state.make_token(name, "soak", 1) for name in dict.fromkeys(PEOPLE)}
    state.close()
    soak = Soak(free_port(), tokens, logs)
    changed = Lake(own, make_log, soak.ended)
    memory: list[float] = []
    threads = [threading.Thread(target=work) for work in (changed.compact, changed.ingest, changed.damage)]
    threads.append(threading.Thread(target=changed.remove_days, args=(SECONDS,)))
    with ThreadPoolExecutor(len(PEOPLE)) as pool:
        try:
            for number in range(RESTARTS):
                with serving(own, tmp_path, soak.port) as server:
                    if not number:
                        for seed, name in enumerate(PEOPLE):
                            pool.submit(soak.visit, name, seed)
                        for thread in threads:
                            thread.start()
                    end = time.monotonic() + SECONDS / RESTARTS
                    while time.monotonic() < end and not (soak.wrong or changed.wrong):
                        time.sleep(0.2)
                    memory.append(_memory(server))
                    _stop(server, number)
        finally:
            soak.ended.set()
            for thread in threads:
                thread.join()
    with capsys.disabled():
        print(
            f"\nsoak, {SECONDS:g} s: answers {dict(soak.answers)}, lake {dict(changed.done)}, memory {memory} MB"
        )
    assert not soak.wrong, "\n".join(soak.wrong[:10])
    assert not changed.wrong, "\n".join(changed.wrong[:10])
    assert soak.answers["200"] > 10 * RESTARTS and max(memory) < MEMORY_MB
    assert {"compact", "ingest", "damage", "retention"} <= {name for name, n in changed.done.items() if n}
    assert changed.done["retention"] == len(REMOVED)
