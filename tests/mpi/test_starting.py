"""What an MPI opens while it starts and ends is counted, and has no records; the program's files have all of theirs."""

from __future__ import annotations

import shutil
import subprocess

import pytest
import shown
from mpi_job import Job
from mpis import every_mpi

PARAMETERS = "# read by Open MPI in MPI_Init\n"


def files(job: Job) -> set[str]:
    """All that has a record but standard streams, which some MPIs flush."""
    found = {path for (module, path, _) in shown.records(job.show()) if module != "HEATMAP"}
    return {path.removeprefix(f"{job.cwd}/") for path in found if not path.startswith("<")}


def opened_by_mpi(job: Job) -> dict[int, int]:
    rows = shown.sections(job.show())["excluded"]
    return {int(row["rank"]): int(row["opens"]) for row in rows if row["class"] == "mpi"}


@every_mpi
def test_records_are_of_the_programs_files_alone(job: Job) -> None:
    (job.cwd / ".openmpi").mkdir()
    (job.cwd / ".openmpi" / "mca-params.conf").write_text(PARAMETERS)
    ended = job.session(job.command(2, "starting"), HOME=str(job.cwd))
    assert ended.code == 0, ended.err
    written = {"own": 5, "early": 20, "beside": 50}
    expected = {(f"{stem}.{rank}", rank): bytes_ for stem, bytes_ in written.items() for rank in (0, 1)}
    assert job.counters("BYTES_WRITTEN") == expected
    opens = {"own": 1, "early": 1, "beside": 50}
    assert job.counters("OPENS") == {key: opens[key[0].split(".")[0]] for key in expected}
    assert files(job) == {name for name, _ in expected} | {".openmpi/mca-params.conf"}
    record = shown.records(job.show())["POSIX", str(job.cwd / ".openmpi" / "mca-params.conf"), -1]
    assert (int(record["POSIX_OPENS"]), int(record["POSIX_BYTES_READ"])) == (2, 2 * len(PARAMETERS))
    # Some MPICHs open nothing but what is excluded for every program: /sys and its like.
    of_mpi = opened_by_mpi(job)
    assert job.which.family == "mpich" or all(of_mpi[rank] > 0 for rank in (0, 1))


@every_mpi
def test_the_library_alone(job: Job) -> None:
    ended = job.alone(job.command(2, "starting"))
    assert ended.code == 0, ended.err
    assert {name for name in files(job) if not name.startswith("beside.")} == {
        f"{stem}.{rank}" for stem in ("own", "early") for rank in (0, 1)
    }
    assert job.counters("BYTES_WRITTEN")["own.0", 0] == 5


@pytest.mark.parametrize("way", ["session", "alone"])
def test_a_name_filter_brings_the_mpis_files_back(job: Job, way: str) -> None:
    """Session directories of Open MPI; MPICH opens `/` and /sys."""
    ended = getattr(job, way)(job.command(2, "starting"), IOLENS_NAME_INCLUDE="^/$,/pmix")
    assert ended.code == 0, ended.err
    others = {name for name in files(job) if name.startswith("/")}
    assert bool(others) == (way == "session")


@pytest.mark.parametrize("backend", [False, True])
def test_an_mpi_without_its_backend_is_named(job: Job, backend: bool) -> None:
    library = shutil.copy(job.preload.resolve(), job.cwd.parent)
    if backend:
        for file in job.preload.resolve().parent.glob("libiolens-mpi-*.so"):
            shutil.copy(file, job.cwd.parent)
    job.env["IOLENS_PRELOAD"] = str(library)
    command = [str(job.iolens), "run", "-o", str(job.log), "--", *job.command(2, "starting")]
    ended = job.end(job.start(command))
    assert ended.code == 0, ended.err
    says = "is not recorded: iolens has no back end for its MPI (see iolens doctor "
    for about in ("info", "findings"):
        done = subprocess.run([job.iolens, about, job.log], check=True, capture_output=True, text=True)
        assert (says in " ".join(done.stdout.split())) != backend, done.stdout
    assert (says in " ".join(ended.err.split())) != backend
