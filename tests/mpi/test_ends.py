"""Jobs that do not end by themselves: MPI_Abort, the batch system, no memory. What was finished is in the log."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import time
from collections import Counter
from pathlib import Path

import pytest
import shown
from memory_group import memory_group
from mpi_job import Job

RANKS, PAGE = 3, 4096


def accounts(job: Job) -> list[Counter[str]]:
    data = (job.cwd / "account").read_bytes()
    names = ("OPENS", "WRITES", "BYTES_WRITTEN")
    return [Counter(dict(zip(names, struct.unpack_from("3Q", data, PAGE * n)))) for n in range(RANKS)]


def logged(job: Job) -> list[Counter[str]]:
    """By rank, of the log that this job left, wherever that was made."""
    found = [Counter[str]() for _ in range(RANKS)]
    for (module, name, rank), row in shown.records(job.show()).items():
        if module == "POSIX" and "/work-" in name:
            assert f"/work-{rank}-" in name
            for counter in ("OPENS", "WRITES", "BYTES_WRITTEN"):
                found[rank][counter] += int(row[f"POSIX_{counter}"])
    return found


def still_running(job: Job) -> set[int]:
    """Ranks that outlived mpiexec, which does not wait for those that it kills: what they had done by then is there."""
    return {int(row["rank"]) for row in job.processes() if row["ended"] == "running"}


def nothing_is_lost(job: Job) -> None:
    running = still_running(job)
    assert len(running) < RANKS
    for rank, (done, found) in enumerate(zip(accounts(job), logged(job), strict=True)):
        if rank in running:
            assert 0 < found["WRITES"] <= done["WRITES"] + 1
            continue
        assert done["WRITES"] > 1000
        for counter, slack in (("OPENS", 1), ("WRITES", 1), ("BYTES_WRITTEN", 10)):
            assert done[counter] <= found[counter] <= done[counter] + slack


@pytest.fixture
def accounted(job: Job) -> Job:
    (job.cwd / "account").write_bytes(bytes(PAGE * RANKS))
    return job


def processes(job: Job) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (entry / "cwd").readlink() == job.cwd:
                found.append(int(entry.name))
    return found


def signal_all(job: Job, number: int) -> None:
    """As a batch system does it: every process of the job, iolens run included."""
    for process in processes(job):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


@pytest.mark.parametrize("way", ["alone", "session"])
def test_one_rank_aborts(accounted: Job, way: str) -> None:
    command = accounted.command(RANKS, "account", "abort")
    ended = accounted.alone(command) if way == "alone" else accounted.session(command)
    assert ended.code == 7
    if way == "alone":
        accounted.recover()
    nothing_is_lost(accounted)


LAUNCH_AND_LEAVE = '"$@" >out 2>&1 & while [ ! -e may-end ]; do sleep 0.01; done; exit 7'


def test_a_rank_outlives_its_launcher_for_a_moment(job: Job) -> None:
    """`iolens run` waits for it: what it does at its end is in the log."""
    rank = [str(job.build("job")), "outlive"]
    ended = job.session(["sh", "-c", LAUNCH_AND_LEAVE, "sh", *rank])
    assert ended.code == 7
    assert job.counters("BYTES_WRITTEN")["outlived.0", -1] == 50
    ends = [(row["ended"], row["exit_code"]) for row in job.processes() if row["rank"] == "0"]
    assert ends == [("exit", "5")]


def test_a_rank_outlives_its_launcher_for_long(job: Job) -> None:
    """Half a second is all that `iolens run` waits."""
    rank = [str(job.build("job")), "stop"]
    script = LAUNCH_AND_LEAVE.replace("may-end", "shared")
    ended = job.session(["sh", "-c", script, "sh", *rank])
    for process in processes(job):
        os.kill(process, signal.SIGKILL)
    assert ended.code == 7
    assert [row["ended"] for row in job.processes() if row["rank"] == "0"] == ["running"]


@pytest.mark.parametrize("way", ["alone", "session"])
def test_the_wall_time_is_over(accounted: Job, way: str) -> None:
    """SIGTERM to all, SIGKILL to what is left of them."""
    command = accounted.command(RANKS, "account", "on")
    if way == "session":
        command = [str(accounted.iolens), "run", "-q", "-o", str(accounted.log), "--", *command]
    environment = accounted.observed if way == "alone" else {}
    process = accounted.start(command, **environment)
    while any(done["WRITES"] < 2000 for done in accounts(accounted)):
        time.sleep(0.01)
    signal_all(accounted, signal.SIGTERM)
    time.sleep(0.02)
    while processes(accounted):
        signal_all(accounted, signal.SIGKILL)
        time.sleep(0.01)
    accounted.end(process)
    if not accounted.log.exists():
        accounted.recover()
    nothing_is_lost(accounted)


def test_killed_while_the_others_wait(job: Job) -> None:
    """In MPI_Finalize, for one that does not come: nothing is lost, and nothing stays behind."""
    process = job.start(
        job.command(RANKS, "job", "late", "2", "60"), **{**job.observed, "IOLENS_FINALIZE_TIMEOUT": "60"}
    )
    meetings: set[Path] = set()
    while not any(struct.unpack("I", meeting.read_bytes()[:4])[0] == RANKS - 1 for meeting in meetings):
        time.sleep(0.01)
        worlds = {path.name for path in job.stores.glob("iolens-*")}
        meetings = {path for path in Path("/dev/shm").glob("iolens-*.meeting") if path.stem in worlds}
    while not (job.cwd / "late").exists():
        time.sleep(0.01)
    signal_all(job, signal.SIGKILL)
    job.end(process)
    job.recover()
    assert job.counters("BYTES_WRITTEN") == {
        ("own.0", 0): 100,
        ("own.1", 1): 200,
        ("own.2", 2): 300,
        ("shared", -1): 600,
    }
    assert not any(meeting.exists() for meeting in meetings)


@pytest.mark.parametrize("way", ["alone", "session"])
def test_one_rank_takes_all_memory(accounted: Job, way: str) -> None:
    *launcher, program, habit = accounted.command(RANKS, "account", "memory")
    with memory_group(64 << 20) as members:
        script = (
            f"[ ${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}} != 1 ] || echo $$ >{members}; exec {program} {habit}"
        )
        command = [*launcher, "sh", "-c", script]
        ended = accounted.alone(command) if way == "alone" else accounted.session(command)
        assert ended.code != 0
        if way == "alone":
            accounted.recover()
        nothing_is_lost(accounted)


@pytest.mark.parametrize("ranks", [2, 1])
def test_no_file_of_iolens_is_open_while_threads_run(job: Job, ranks: int) -> None:
    """Its number would be the program's: a thread may close it, or look for the lowest free one."""
    for _ in range(5):
        job.log.unlink(missing_ok=True)
        ended = job.alone(job.command(ranks, "numbers"))
        # The launcher may put one rank's line between another's and its end.
        said = ended.out.replace("\n", "")
        assert (ended.code, said) == (0, "none" * ranks), ended.err
        assert f"# nprocs: {ranks}\n" in job.show()
