"""Traces of MPI jobs: every rank is in the log of its job, on one node and on several, and when ranks are killed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import traced
from mpi_job import Job
from mpis import MPI, MPIS

ON = {"IOLENS_TRACE": "1"}


def of_job(job: Job) -> traced.Accesses:
    """Accesses of the program's own files."""
    here = [s for s in traced.segments(job.log) if s.file.startswith(f"{job.cwd}/")]
    return traced.accesses(here)


def written(*ranks: int) -> traced.Accesses:
    """What ranks of programs/job.c write at the beginning."""
    wanted: traced.Accesses = {}
    for rank in ranks:
        wanted["POSIX", f"own.{rank}", rank, "write"] = [(0, 100 * (rank + 1))]
        wanted["POSIX", "shared", rank, "write"] = [(10000 * rank, 100 * (rank + 1))]
    return wanted


@pytest.mark.parametrize("form", ["on", "compact"])
@pytest.mark.parametrize("meeting", ["", "messages-apart", "messages-apart=2", "mpiio-apart=2"])
def test_all_ranks_are_traced(job: Job, meeting: str, form: str) -> None:
    ended = job.alone(job.command(5, "job"), IOLENS_FINALIZE=meeting, IOLENS_TRACE=form)
    assert (ended.code, ended.notes) == (0, []), ended.err
    assert of_job(job) == written(*range(5))
    assert not list(job.stores.iterdir())


def test_nodes_make_the_log_of_one(job: Job) -> None:
    logs = []
    for meeting in ("", "messages-apart=3"):
        ended = job.alone(job.command(4, "job", "many"), IOLENS_FINALIZE=meeting, **ON)
        assert (ended.code, ended.notes) == (0, []), ended.err
        logs.append(of_job(job))
        job.log.unlink()
    assert logs[0] == logs[1]
    assert len(logs[0]) > 4 * 300


def test_a_session_has_the_trace_of_a_job(job: Job) -> None:
    ended = job.session(job.command(3, "job"), **ON)
    assert ended.code == 0, ended.err
    assert of_job(job) == written(0, 1, 2)


def test_recover_brings_the_trace_of_killed_ranks(job: Job) -> None:
    job.alone(job.command(3, "job", "kill"), **ON)
    job.recover()
    assert of_job(job) == written(0, 1, 2)


def test_a_trace_without_room_leaves_all_else(job: Job) -> None:
    ended = job.alone(job.command(2, "job", "many"), IOLENS_TRACE_BUDGET="0.0625", **ON)
    assert (ended.code, ended.notes) == (0, []), ended.err
    assert int.from_bytes(job.log.read_bytes()[24:32], "little") == 1 << 10
    assert 0 < len(of_job(job)) < sum(job.counters("WRITES").values())


def through_mpiio(rank: int, size: int) -> traced.Accesses:
    """What a rank of programs/traced.c does: where the first byte of an access is, and how many it moves."""
    view = 1024 + 4 * rank
    return {
        ("MPIIO", "shared.dat", rank, "write"): [
            *[(1000 * (i * size + rank), 1000) for i in range(3)],
            (500 * rank, 100),
            (700 * rank + 80, 33),
            (700 * rank + 113, 7),
            (128 * rank, 128),
            (view, 80),
            (-1, 100),
            (0, 3),
        ],
        ("MPIIO", "shared.dat", rank, "read"): [
            (700 * rank, 80),
            (700 * rank + 80, 0),
            (64, 64),
            (view + 4 * size * 16, 32),
            (view + 4 * size * 20, 32),
        ],
    }


@pytest.mark.parametrize("form", ["on", "compact"])
@pytest.mark.parametrize("mpi", MPIS.values(), ids=str)
def test_mpiio_is_traced_in_bytes_of_the_file(job_of: Callable[[MPI], Job], mpi: MPI, form: str) -> None:
    job = job_of(mpi)
    ended = job.alone(job.command(3, "traced"), IOLENS_TRACE=form)
    assert (ended.code, ended.notes) == (0, []), ended.err
    found = of_job(job)
    wanted = through_mpiio(0, 3) | through_mpiio(1, 3) | through_mpiio(2, 3)
    assert {key: found[key] for key in found if key[0] == "MPIIO"} == wanted
    assert any(key[:2] == ("POSIX", "shared.dat") for key in found)


@pytest.mark.parametrize("interface", ["POSIX", "MPIIO"])
def test_one_interface_alone_is_traced(job: Job, interface: str) -> None:
    ended = job.alone(job.command(2, "traced"), DARSHAN_MOD_ENABLE=f"DXT_{interface}")
    assert (ended.code, ended.notes) == (0, []), ended.err
    assert {key[0] for key in of_job(job)} == {interface}
