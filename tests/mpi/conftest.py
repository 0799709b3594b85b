"""Programs built with, and jobs started by, each MPI that is here."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from mpi_job import Job
from mpis import FAMILIES, MPI, MPIS

HERE = Path(__file__).resolve().parent / "programs"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[MPI, str], Path]:
    made: dict[tuple[str, str], Path] = {}

    def build(mpi: MPI, name: str) -> Path:
        if (mpi.name, name) not in made:
            source = next(path for path in sorted(HERE.glob(f"{name}.*")))
            to = tmp_path_factory.mktemp(f"{name}-{mpi.name}") / name
            subprocess.run([mpi.compiler(source.suffix), "-O1", source, "-o", to, "-lpthread"], check=True)
            made[mpi.name, name] = to
        return made[mpi.name, name]

    return build


@pytest.fixture
def job_of(
    built: Callable[[MPI, str], Path], iolens: Path, preload: Path, tmp_path: Path
) -> Callable[[MPI], Job]:
    """A place for the jobs of one MPI."""

    def make(mpi: MPI) -> Job:
        mpi.require()
        cwd, stores = tmp_path.resolve() / "cwd", tmp_path.resolve() / "stores"
        cwd.mkdir()
        stores.mkdir()
        return Job(mpi, lambda name: built(mpi, name), iolens, preload, cwd, stores)

    return make


@pytest.fixture(params=FAMILIES)
def job(request: pytest.FixtureRequest, job_of: Callable[[MPI], Job]) -> Job:
    return job_of(MPIS[request.param])
