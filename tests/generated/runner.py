"""Runs a program under `iolens run`, with the library alone, or without both."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .generator import FILES
from .logs import read_log
from .operations import Op, data
from .outcome import Ran, in_order

SOURCES = sorted(Path(__file__).resolve().parent.glob("*.c"))


def build(folder: Path) -> Path:
    """The interpreter, compiled into a folder."""
    program = folder / "interpreter"
    command = ["cc", "-O1", "-D_GNU_SOURCE", "-o", program, *SOURCES, "-pthread"]
    subprocess.run([str(word) for word in command], check=True)
    return program


def namespaces_allowed() -> bool:
    """Whether a process may make a user and a PID namespace here."""
    command = ["unshare", "--user", "--pid", "--fork", "true"]
    return (
        bool(shutil.which("unshare"))
        and subprocess.run(command, check=False, capture_output=True).returncode == 0
    )


def lay_out(home: Path) -> None:
    for path, size in FILES.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("/"):
            (home / path).mkdir(exist_ok=True)
        else:
            (home / path).write_bytes(data(0, size))


def files_in(home: Path) -> dict[str, bytes | None]:
    found: dict[str, bytes | None] = {}
    for path in home.rglob("*"):
        found[str(path.relative_to(home))] = None if path.is_dir() else path.read_bytes()
    return found


@dataclass
class Runner:
    """Runs programs in folders of their own below `folder`."""

    iolens: Path
    preload: Path
    interpreter: Path
    folder: Path

    def bare(self, program: Sequence[Op]) -> Ran:
        place = self._place()
        return self._finish(place, self._run(place, [self.interpreter, *program], {}))

    def observed(self, program: Sequence[Op]) -> Ran:
        """Under `iolens run`: one log, a rank for each program image."""
        place = self._place()
        log = place / "log.darshan"
        ran = self._run(
            place, [self.iolens, "run", "--quiet", "-o", log, "--", self.interpreter, *program], {}
        )
        if log.exists():
            read_log(self.iolens, log, place / "home", ran)
        return self._finish(place, ran)

    def alone(self, program: Sequence[Op]) -> Ran:
        """With the library alone: a log of each process, by itself or from the store that it has left."""
        place = self._place()
        logs, stores = place / "logs", place / "stores"
        logs.mkdir()
        stores.mkdir()
        settings = {
            "LD_PRELOAD": str(self.preload),
            "IOLENS_ENABLE_NONMPI": "1",
            "IOLENS_LOGPATH": str(logs),
            "IOLENS_TMPDIR": str(stores),
            "IOLENS_ABANDONED": "keep",
        }
        ran = self._run(place, [self.interpreter, *program], settings)
        for k, store in enumerate(sorted(path for path in stores.rglob("*") if path.is_file())):
            command = [self.iolens, "recover", "-o", logs / f"recovered-{k}.darshan", store]
            subprocess.run(command, check=False, capture_output=True)
        for log in sorted(logs.glob("*.darshan")):
            read_log(self.iolens, log, place / "home", ran)
        return self._finish(place, ran)

    def _place(self) -> Path:
        place = Path(tempfile.mkdtemp(dir=self.folder))
        (place / "home").mkdir()
        lay_out(place / "home")
        return place

    def _run(self, place: Path, command: Sequence[object], settings: Mapping[str, str]) -> Ran:
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
        line, environment = [str(word) for word in command], {**os.environ, **settings}
        with Path(os.devnull).open("rb") as null:
            streams = {"stdin": null, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
            done = subprocess.run(
                line, check=False, cwd=place / "home", env=environment, timeout=120, **streams
            )
        lines = done.stdout.decode(errors="replace").splitlines()
        status = done.returncode if done.returncode >= 0 else 1000 - done.returncode
        return Ran(in_order(lines), status, files_in(place / "home"))

    def _finish(self, place: Path, ran: Ran) -> Ran:
        shutil.rmtree(place)
        return ran
