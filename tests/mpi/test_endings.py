"""Odd ends of MPI programs: the same with and without iolens, and the log has what was done."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest
from mpi_job import Job, own

WAYS = ["session", "alone"]
RANKS = 3
OWN = own(*range(RANKS))


def each(stem: str, size: int) -> dict[tuple[str, int], int]:
    return {(f"{stem}.{rank}", rank): size for rank in range(RANKS)}


# What is in the log beside `own`: with the library alone, and under `iolens run`.
ENDINGS = {
    "by_atexit": (each("before", 10), each("before", 10)),
    "after": ({}, each("after", 70)),
    "elsewhere": ({}, {}),
    "no_environment": ({}, {}),
    "finalize": ({}, {}),
}


@pytest.mark.parametrize("meeting", ["", "messages-apart"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_an_odd_end_with_the_library_alone(job: Job, ending: str, meeting: str) -> None:
    ended = job.alone(job.command(RANKS, "endings", ending), IOLENS_FINALIZE=meeting)
    assert (ended.code, ended.out, ended.notes) == (0, "", []), ended.err
    assert job.counters("BYTES_WRITTEN") == OWN | ENDINGS[ending][0]
    assert not list(job.stores.iterdir())


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_odd_end_in_a_session(job: Job, ending: str) -> None:
    ended = job.session(job.command(RANKS, "endings", ending))
    assert (ended.code, ended.out, ended.notes) == (0, "", []), ended.err
    assert job.counters("BYTES_WRITTEN") == OWN | ENDINGS[ending][1]


@pytest.mark.parametrize("way", WAYS)
def test_threads_that_write_during_finalize(job: Job, way: str) -> None:
    ended = getattr(job, way)(job.command(RANKS, "endings", "threads"))
    assert (ended.code, ended.notes) == (0, []), ended.err
    found = job.counters("WRITES")
    for rank in range(RANKS):
        for thread in range(4):
            number = 10 * rank + thread
            begun = (job.cwd / f"written.{number}").stat().st_size
            written = (job.cwd / f"thread.{number}").stat().st_size // 10
            if way == "session":
                assert found[f"thread.{number}", rank] == written
            else:
                assert begun <= found[f"thread.{number}", rank] <= written


@pytest.mark.parametrize("way", WAYS)
def test_a_child_that_outlives_its_rank(job: Job, way: str) -> None:
    ended = getattr(job, way)(job.command(RANKS, "endings", "child"))
    assert (ended.code, ended.notes) == (0, []), ended.err
    assert job.counters("BYTES_WRITTEN").items() >= OWN.items()
    until = time.monotonic() + 30
    while len(list(job.cwd.glob("child.*"))) < RANKS and time.monotonic() < until:
        time.sleep(0.02)
    assert [(job.cwd / f"child.{rank}").stat().st_size for rank in range(RANKS)] == [50] * RANKS


@pytest.mark.parametrize("way", WAYS)
def test_ranks_that_end_at_once(job: Job, way: str) -> None:
    """MPICH's launcher kills the others of those that leave without MPI_Finalize, when it is fast enough to."""
    bare = job.end(job.start(job.command(RANKS, "endings", "at_once")))
    ended = getattr(job, way)(job.command(RANKS, "endings", "at_once"))
    killed = [run for run in (bare, ended) if "BAD TERMINATION" in run.out]
    assert killed or (ended.code == 0, ended.out) == (bare.code == 0, bare.out)
    assert job.mpi == "mpich" or not killed
    if way == "alone":
        job.recover()
    assert job.counters("BYTES_WRITTEN") == OWN | each("at_once", 10)


@pytest.mark.parametrize("way", WAYS)
def test_initialized_twice(job: Job, way: str) -> None:
    """An error, which the MPI tells or ends the job for."""
    bare = job.end(job.start(job.command(RANKS, "endings", "again")))
    ended = getattr(job, way)(job.command(RANKS, "endings", "again"))
    assert (ended.code, sorted(ended.out)) == (bare.code, sorted(bare.out))
    if not job.log.exists():
        job.recover()
    assert job.counters("BYTES_WRITTEN") == OWN


def test_a_rank_that_loses_its_root(job: Job) -> None:
    """It finds no store any more, and cannot tell the others."""
    tried = subprocess.run(["chroot", "/", "true"], check=False)
    if tried.returncode:
        pytest.skip("this user may not chroot")
    ended = job.alone(job.command(RANKS, "endings", "in_a_root"))
    assert ended.code == 0, ended.err
    assert len(ended.notes) == 1
    job.recover()
    assert job.counters("BYTES_WRITTEN") == OWN


@pytest.mark.parametrize("meeting", ["", "messages-apart"])
def test_the_log_goes_where_the_program_began(job: Job, meeting: str) -> None:
    """Its name is relative, and the ranks are in other directories by the end."""
    command = job.command(RANKS, "endings", "elsewhere")
    ended = job.alone(command, IOLENS_LOGFILE="here.darshan", IOLENS_FINALIZE=meeting)
    assert (ended.code, ended.notes) == (0, []), ended.err
    assert job.counters("BYTES_WRITTEN", job.cwd / "here.darshan") == OWN


@pytest.mark.parametrize("way", WAYS)
def test_two_programs_in_one_world(job: Job, way: str) -> None:
    one, two = job.command(2, "endings", "by_atexit"), job.command(1, "job")
    ended = getattr(job, way)([*one, ":", *two[two.index("-n") :]])
    assert (ended.code, ended.notes) == (0, []), ended.err
    found = {key: size for key, size in job.counters("BYTES_WRITTEN").items() if key[0] != "shared"}
    assert found == OWN | {("before.0", 0): 10, ("before.1", 1): 10}
    programs = {int(row["rank"]): Path(row["exe"]).name for row in job.processes() if int(row["rank"]) >= 0}
    assert programs == {0: "endings", 1: "endings", 2: "job"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("job", ["openmpi", "mpich5"], indirect=True)
def test_worlds_that_are_spawned_at_once(job: Job, way: str) -> None:
    """A log for each; Debian's MPICH cannot spawn. Hydra says to no rank which of the two is its own."""
    shutil.copy(job.build("endings"), job.cwd / "endings")
    logs = job.cwd.parent / "logs"
    logs.mkdir()
    command = job.command(RANKS, "endings", "spawns")
    ended = getattr(job, way)(command, IOLENS_LOGFILE="", IOLENS_LOGPATH=str(logs))
    assert (ended.code, ended.notes) == (0, []), ended.err
    written = (logs if way == "alone" else job.cwd.parent).glob("*.darshan")
    found = {log: job.counters("BYTES_WRITTEN", log) for log in written if "-serial" not in log.name}
    child = own(0, 1) | {(f"spawned.{rank}", rank): 30 for rank in range(2)}
    assert sorted(map(sorted, found.values())) == [sorted(OWN), sorted(child), sorted(child)]
    for log, counters in found.items():
        assert counters in (OWN, child)
        assert f"# nprocs: {RANKS if counters == OWN else 2}\n" in job.show(log)
