"""Programs that run, and what `iolens top` says of them meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WRITTEN, READ = 4096, 512  # bytes of a block, programs/steady.c


def until(true: Callable[[], Any], what: str, seconds: float = 60) -> Any:
    """Waits for what a test needs to see."""
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end, f"never seen: {what}"
        time.sleep(0.02)
    return found


@dataclass
class Place:
    """Where jobs of a test work and have their stores."""

    iolens: Path
    work: Path
    stores: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def env(self) -> dict[str, str]:
        return {**os.environ, "IOLENS_TMPDIR": str(self.stores)}

    def start(self, command: Sequence[object], **env: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [str(part) for part in command],
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def run(self, *command: object, **env: str) -> subprocess.Popen[str]:
        log = self.work / f"log{len(self.started)}.darshan"
        return self.start([self.iolens, "run", "-q", "-o", log, "--", *command], **env)

    def ready(self, ranks: int = 1) -> None:
        until(
            lambda: sum((self.work / f"ready.{rank}").exists() for rank in range(ranks)) == ranks,
            f"{ranks} ranks that have done their blocks",
        )

    def leave(self) -> None:
        (self.work / "leave").touch()

    def session(self) -> Path:
        """The only one there is."""
        (found,) = until(lambda: list(self.stores.glob("iolens-*")), "a session")
        return Path(found)

    def call(self, *args: object, **env: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.iolens), *map(str, args)]
        return subprocess.run(
            command, env={**self.env, **env}, capture_output=True, text=True, check=False, timeout=100
        )

    def look(self, *args: object) -> dict[str, Any]:
        done = self.call("top", "--json", "--every", "0.1", *args)
        assert done.returncode == 0, done.stderr
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    def job(self, wanted: object) -> dict[str, Any]:
        (job,) = self.look(wanted)["jobs"]
        found: dict[str, Any] = job
        return found

    def end(self) -> None:
        """Whatever has happened: nothing of it stays."""
        self.leave()
        for process in self.started:
            try:
                process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()


def file_of(job: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (file for file in job["files"] if Path(file["name"]).name == name)
    told: dict[str, Any] = found
    return told
