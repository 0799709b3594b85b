"""Programs built with, and jobs started by, each MPI that is here."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from mpi_job import OPTIONS, Job

HERE = Path(__file__).resolve().parent / "programs"
COMPILERS = {".c": "mpicc", ".f90": "mpif90", ".f": "mpif90"}


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    made: dict[tuple[str, str], Path] = {}

    def build(mpi: str, name: str) -> Path:
        if (mpi, name) not in made:
            source = next(path for path in sorted(HERE.glob(f"{name}.*")))
            to = tmp_path_factory.mktemp(f"{name}-{mpi}") / name
            compiler = f"{COMPILERS[source.suffix]}.{mpi}"
            if not shutil.which(compiler):
                pytest.skip(f"no {compiler}")
            subprocess.run([compiler, "-O1", source, "-o", to, "-lpthread"], check=True)
            made[mpi, name] = to
        return made[mpi, name]

    return build


@pytest.fixture(params=list(OPTIONS))
def job(
    request: pytest.FixtureRequest,
    built: Callable[[str, str], Path],
    iolens: Path,
    preload: Path,
    tmp_path: Path,
) -> Job:
    cwd, stores = tmp_path.resolve() / "cwd", tmp_path.resolve() / "stores"
    cwd.mkdir()
    stores.mkdir()
    mpi = request.param
    if not shutil.which(f"mpirun.{mpi}"):
        pytest.skip(f"no {mpi}")
    return Job(mpi, lambda name: built(mpi, name), iolens, preload, cwd, stores)
