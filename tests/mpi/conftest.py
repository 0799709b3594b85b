"""Programs built with, and jobs started by, each MPI that is here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from mpi_job import Job, Programs
from mpis import FAMILIES, MPI, MPIS

HERE = Path(__file__).resolve().parent / "programs"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return Programs(HERE, tmp_path_factory.mktemp)


@pytest.fixture
def job_of(built: Programs, iolens: Path, preload: Path, tmp_path: Path) -> Callable[[MPI], Job]:
    """A place for the jobs of one MPI."""
    return built.jobs(iolens, preload, tmp_path)


@pytest.fixture(params=FAMILIES)
def job(request: pytest.FixtureRequest, job_of: Callable[[MPI], Job]) -> Job:
    return job_of(MPIS[request.param])
