"""MPI jobs as the tests start them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import shown
from mpis import MPI

Counters = dict[tuple[str, int], int]


def own(*ranks: int) -> Counters:
    """What ranks of programs/job.c write to files of their own."""
    return {(f"own.{rank}", rank): 100 * (rank + 1) for rank in ranks}


def shared(ranks: int) -> Counters:
    """What all of them together write to the one that they share."""
    return {("shared", -1): 50 * ranks * (ranks + 1)}


def all_written(ranks: int) -> Counters:
    return own(*range(ranks)) | shared(ranks)


@dataclass
class Ended:
    """A job that is over."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def notes(self) -> list[str]:
        """What iolens said."""
        return [line for line in self.err.splitlines() if line.startswith("iolens: ")]


@dataclass
class Job:
    """How jobs of one MPI are started: their programs, directory, stores and log."""

    which: MPI
    build: Callable[[str], Path]
    iolens: Path
    preload: Path
    cwd: Path
    stores: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def mpi(self) -> str:
        """Whose launcher and habits it has."""
        return self.which.family

    @property
    def log(self) -> Path:
        return self.cwd.parent / "log.darshan"

    def command(self, ranks: int, *program: str) -> list[str]:
        build, *arguments = program
        return [*self.which.launcher(ranks), str(self.build(build)), *arguments]

    def start(self, command: list[str], **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            cwd=self.cwd,
            env={
                **os.environ,
                "IOLENS_TMPDIR": str(self.stores),
                **self.which.environment,
                **self.env,
                **env,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def end(self, process: subprocess.Popen[str], timeout: float = 100) -> Ended:
        begun = time.monotonic()
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            pytest.fail(f"the job hangs:\n{out}\n{err}")
        return Ended(process.returncode, out, err, time.monotonic() - begun)

    def alone(self, command: list[str], **env: str) -> Ended:
        """The library alone, without `iolens run`."""
        return self.end(self.start(command, **{**self.observed, **env}))

    @property
    def observed(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(self.preload),
            "IOLENS_LOGFILE": str(self.log),
            "IOLENS_FINALIZE_TIMEOUT": "3",
        }

    def session(self, command: list[str], **env: str) -> Ended:
        run = [str(self.iolens), "run", "--quiet", "-o", str(self.log), "--", *command]
        return self.end(self.start(run, **env))

    def kept(self) -> list[Path]:
        return sorted(self.stores.rglob("*.store"))

    def recover(self) -> None:
        directories = {str(store.parent) for store in self.kept()}
        names = [store.name.removesuffix(".store") for store in self.kept()]
        pids = {name.split(".")[-2] for name in names if "." in name}  # a copy at the root has no process
        until = time.monotonic() + 5
        while any(Path("/proc", pid).exists() for pid in pids) and time.monotonic() < until:
            time.sleep(0.05)  # killed ranks may take a moment to die
        command = [self.iolens, "recover", "--remove", "-o", self.log, *directories]
        recovered = subprocess.run(command, check=False, capture_output=True, text=True)
        assert recovered.returncode == 0, recovered.stderr
        assert not list(self.stores.iterdir())

    def show(self, log: Path | None = None) -> str:
        command = [self.iolens, "show", "--base", "--ext", log or self.log]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def counters(self, name: str, log: Path | None = None, module: str = "POSIX") -> Counters:
        """A counter of the program's own files, by name and rank."""
        found = shown.records(self.show(log))
        return {
            (Path(path).name, rank): int(float(row[f"{module}_{name}"]))
            for (of, path, rank), row in found.items()
            if of == module and Path(path).parent == self.cwd
        }

    def processes(self, log: Path | None = None) -> list[shown.Row]:
        return shown.sections(self.show(log))["process"]

    def hosts(self, log: Path | None = None) -> dict[int, str]:
        """Where each rank ran."""
        return {int(row["rank"]): row["host"] for row in self.processes(log) if int(row["rank"]) >= 0}


class Programs:
    """The programs of a folder, each built once by each MPI, into folders that `place` makes."""

    def __init__(self, sources: Path, place: Callable[[str], Path]) -> None:
        self.sources, self.place = sources, place
        self.made: dict[tuple[str, str], Path] = {}

    def __call__(self, mpi: MPI, name: str) -> Path:
        if (mpi.name, name) not in self.made:
            source = next(path for path in sorted(self.sources.glob(f"{name}.[cf]*")))
            to = self.place(f"{name}-{mpi.name}") / name
            subprocess.run([mpi.compiler(source.suffix), "-O1", source, "-o", to, "-lpthread"], check=True)
            self.made[mpi.name, name] = to
        return self.made[mpi.name, name]

    def jobs(self, iolens: Path, library: Path, place: Path) -> Callable[[MPI], Job]:
        """Jobs of these programs under the library, one below `place`."""

        def make(mpi: MPI) -> Job:
            mpi.require()
            cwd, stores = place.resolve() / "cwd", place.resolve() / "stores"
            cwd.mkdir()
            stores.mkdir()
            return Job(mpi, lambda name: self(mpi, name), iolens, library, cwd, stores)

        return make
