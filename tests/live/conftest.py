"""Places for programs that are looked at while they run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mpi_job import Programs
from mpis import FAMILIES, MPI, MPIS

sys.path.insert(0, str(Path(__file__).parent))

from looked_at import Place

HERE = Path(__file__).resolve().parent / "programs"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return Programs(HERE, tmp_path_factory.mktemp)


@pytest.fixture(scope="session")
def steady(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """programs/steady.c without MPI."""
    program = tmp_path_factory.mktemp("steady") / "steady"
    command = ["cc", "-O1", "-D_GNU_SOURCE", "-DALONE", HERE / "steady.c", "-o", program]
    subprocess.run(command, check=True)
    return program


@pytest.fixture
def place(iolens: Path, preload: Path, tmp_path: Path) -> Iterator[Place]:
    work, stores = tmp_path.resolve() / "work", tmp_path.resolve() / "stores"
    work.mkdir()
    stores.mkdir()
    made = Place(iolens, work, stores)
    yield made
    made.end()


@pytest.fixture(params=FAMILIES)
def mpi(request: pytest.FixtureRequest) -> MPI:
    MPIS[request.param].require()
    return MPIS[request.param]


@pytest.fixture
def steady_of(built: Programs) -> Callable[[MPI], Path]:
    """programs/steady.c of an MPI."""
    return lambda mpi: built(mpi, "steady")
