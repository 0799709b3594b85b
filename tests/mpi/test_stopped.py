"""A rank is stopped, before or inside MPI_Finalize, and goes on later: the others have left, and there is one log."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from mpi_job import Ended, Job

RANKS = 3
MEETINGS = ["", "messages-apart"]
EXPECTED = {("own.0", 0): 100, ("own.1", 1): 200, ("own.2", 2): 300, ("shared", -1): 600}


@dataclass(frozen=True)
class Scene:
    """Where a rank stops: at a call of its own, or, if `at` says so, at a system call of iolens."""

    rank: int
    habit: tuple[str, ...]
    at: tuple[str, ...] = ()
    seconds: int = 1  # until its deadline


def in_finalize(rank: int, *at: str) -> Scene:
    """The rank comes last."""
    return Scene(rank, ("late", str(rank), "2"), at, seconds=4)


BEFORE = {rank: Scene(rank, ("stop", str(rank))) for rank in range(RANKS)}
# It has told its node where its store is: two writes of its own come before, and that of the page.
REGISTERED = in_finalize(1, "-e", "inject=pwrite64:signal=SIGSTOP:when=4")
# It has begun to write the log; it has written all of it, and removed no store.
PARTIAL = ("-P", "log.darshan_partial", "-e")
MAKING = (*PARTIAL, "inject=flock:signal=SIGSTOP:when=1")
LOGGED = ("-e", "inject=unlinkat:signal=SIGSTOP:when=1")


def stopped(job: Job) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_rank = (entry / "cwd").readlink() == job.cwd and (entry / "exe").readlink().name == "job"
            if is_rank and re.search(r"\nState:\t[Tt]", (entry / "status").read_text()):
                found.append(int(entry.name))
    return found


@pytest.fixture(autouse=True)
def nobody_is_left_behind(job: Job) -> Iterator[None]:
    """A test that has failed leaves a stopped rank, which nothing but this ends."""
    yield
    for pid in stopped(job):
        os.kill(pid, signal.SIGKILL)


class Stop:
    """The job, its rank stopped and all others beyond iolens."""

    def __init__(self, job: Job, scene: Scene, meeting: str) -> None:
        self.job = job
        self.marks = job.cwd.parent / "marks"
        self.marks.mkdir()
        launcher = job.command(RANKS, "job")[: -len(["-n", RANKS, "job"])]
        command = launcher
        for rank in range(RANKS):
            one = ["-n", "1", *self.tracer(scene, rank), str(job.build("job")), *scene.habit]
            command += [":", *one] if rank else one
        settings = {"IOLENS_FINALIZE_TIMEOUT": str(scene.seconds), "IOLENS_FINALIZE": meeting}
        self.process = job.start(command, **{**job.observed, **settings, "MARKS": str(self.marks)})
        others = {str(rank) for rank in range(RANKS)} - {str(scene.rank)}
        while {mark.name for mark in self.marks.iterdir()} != others:
            if self.process.poll() is not None:
                pytest.fail(f"the job is over: {job.end(self.process)}")
            time.sleep(0.05)
        assert len(stopped(job)) == 1

    def tracer(self, scene: Scene, rank: int) -> list[str]:
        if rank != scene.rank or not scene.at:
            return []
        if not shutil.which("strace"):
            pytest.skip("no strace")
        at = [str(self.job.cwd.parent / word) if word == PARTIAL[1] else word for word in scene.at]
        return ["strace", "-f", "-o", str(self.job.cwd.parent / "trace"), *at]

    def recover(self, *options: str) -> subprocess.CompletedProcess[str]:
        directories = sorted({str(store.parent) for store in self.job.kept()})
        command = [str(self.job.iolens), "recover", *options, "-o", str(self.job.log), *directories]
        return subprocess.run(command, check=False, capture_output=True, text=True)

    def go_on(self) -> Ended:
        for pid in stopped(self.job):
            os.kill(pid, signal.SIGCONT)
        ended = self.job.end(self.process)
        assert ended.code == 0, ended.err
        assert ended.out == "done\n"
        assert {mark.name for mark in self.marks.iterdir()} == {str(rank) for rank in range(RANKS)}
        return ended


def the_log_is_whole(job: Job) -> None:
    assert job.counters("BYTES_WRITTEN") == EXPECTED
    assert f"# nprocs: {RANKS}\n" in job.show()
    assert list(job.cwd.parent.glob("log*")) == [job.log]


# ---- before MPI_Finalize ----


@pytest.mark.parametrize("meeting", [*MEETINGS, "messages-apart=2"])
@pytest.mark.parametrize("rank", BEFORE)
def test_a_rank_stopped_before_finalize(job: Job, rank: int, meeting: str) -> None:
    stop = Stop(job, BEFORE[rank], meeting)
    ended = stop.go_on()
    assert len(ended.notes) == 1
    assert not job.log.exists()
    job.recover()
    the_log_is_whole(job)


@pytest.mark.parametrize("meeting", MEETINGS)
@pytest.mark.parametrize("rank", [0, 1])
def test_the_log_is_recovered_before_the_rank_goes_on(job: Job, rank: int, meeting: str) -> None:
    stop = Stop(job, BEFORE[rank], meeting)
    recovered = stop.recover("--remove")
    assert recovered.returncode == 4, recovered.stderr
    assert "1 process still runs" in recovered.stderr
    the_log_is_whole(job)
    made = job.log.read_bytes()
    assert len(stop.go_on().notes) == 1
    assert job.log.read_bytes() == made
    the_log_is_whole(job)


# ---- inside it ----


def test_a_rank_stopped_after_it_has_come(job: Job) -> None:
    ended = Stop(job, REGISTERED, "").go_on()
    assert len(ended.notes) == 1
    job.recover()
    the_log_is_whole(job)


def test_its_store_is_taken_away_meanwhile(job: Job) -> None:
    stop = Stop(job, REGISTERED, "")
    assert stop.recover("--remove").returncode == 0
    the_log_is_whole(job)
    assert len(stop.go_on().notes) == 1
    the_log_is_whole(job)
    assert not list(job.stores.iterdir())


@pytest.mark.parametrize("rank", range(RANKS))
def test_a_rank_stopped_while_the_communicator_is_made(job: Job, rank: int) -> None:
    """Of what is left half done there Open MPI's MPI_Finalize dies in two of three jobs, in any of their ranks."""
    stop = Stop(job, Scene(rank, ("late", str(rank), "1"), REGISTERED.at, seconds=2), "messages-apart")
    time.sleep(1.5)  # its own deadline has passed, too
    assert len(stop.go_on().notes) == 1
    job.recover()
    the_log_is_whole(job)


@pytest.mark.parametrize("meeting", MEETINGS)
def test_a_rank_stopped_while_it_makes_the_log(job: Job, meeting: str) -> None:
    stop = Stop(job, in_finalize(2 if not meeting else 0, *MAKING), meeting)
    time.sleep(4)  # its own deadline has passed, too
    ended = stop.go_on()
    assert len(ended.notes) == 1
    assert ("not all ranks came" if meeting else "there was not enough time") in ended.notes[0]
    assert not list(job.cwd.parent.glob("log*"))
    job.recover()
    the_log_is_whole(job)


@pytest.mark.parametrize("meeting", MEETINGS)
def test_the_log_is_made_by_others_meanwhile(job: Job, meeting: str) -> None:
    stop = Stop(job, in_finalize(2 if not meeting else 0, *MAKING), meeting)
    locked = stop.recover()
    assert locked.returncode == 3
    assert "another process is writing it" in locked.stderr
    (job.cwd.parent / "log.darshan_partial").unlink()
    assert stop.recover("--remove").returncode == 0
    the_log_is_whole(job)
    made = job.log.read_bytes()
    assert not stop.go_on().notes
    assert job.log.read_bytes() == made
    the_log_is_whole(job)
    assert not list(job.stores.iterdir())


@pytest.mark.parametrize("meeting", MEETINGS)
def test_a_rank_stopped_when_the_log_is_written(job: Job, meeting: str) -> None:
    ended = Stop(job, in_finalize(2 if not meeting else 0, *LOGGED), meeting).go_on()
    assert not ended.notes
    the_log_is_whole(job)
    if not meeting:
        assert not list(job.stores.iterdir())


def test_there_is_no_second_log(job: Job) -> None:
    stop = Stop(job, in_finalize(2, *LOGGED), "")
    the_log_is_whole(job)
    found = stop.recover("--remove")
    assert (found.returncode, found.stdout) == (0, "")
    assert "3 stores of an MPI job whose ranks have written its log: removed" in found.stderr
    assert not stop.go_on().notes
    the_log_is_whole(job)
    assert not list(job.stores.iterdir())


# ---- at any moment ----

STOPS = int(os.environ.get("STOPS", "1"))
MANY = {(f"many.{1000 * rank + n}", rank): 10 + n for rank in range(RANKS) for n in range(300)}


def rank_pid(job: Job, rank: int) -> int:
    """Once it has begun its work."""
    until = time.monotonic() + 60
    while not (job.cwd / f"own.{rank}").exists():
        assert time.monotonic() < until
        time.sleep(0.0002)
    number = re.compile(rb"(?:PMI_RANK|OMPI_COMM_WORLD_RANK)=%d\0" % rank)
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_rank = (entry / "cwd").readlink() == job.cwd and (entry / "exe").readlink().name == "job"
            if is_rank and number.search((entry / "environ").read_bytes() + b"\0"):
                return int(entry.name)
    return 0  # it is over


def stop_somewhere(job: Job, meeting: str, chance: random.Random) -> None:
    marks = job.cwd.parent / "marks"
    marks.mkdir()
    rank = chance.randrange(RANKS)
    settings = {"IOLENS_FINALIZE_TIMEOUT": "1", "IOLENS_FINALIZE": meeting, "MARKS": str(marks)}
    process = job.start(job.command(RANKS, "job", "many"), **{**job.observed, **settings})
    pid = rank_pid(job, rank)
    time.sleep(chance.choice([0.02, 0.1, 0.4]) * chance.random())
    with contextlib.suppress(ProcessLookupError):
        if pid:
            os.kill(pid, signal.SIGSTOP)
    others = {str(other) for other in range(RANKS)} - {str(rank)}
    until = time.monotonic() + 60
    while not {mark.name for mark in marks.iterdir()} >= others:
        assert time.monotonic() < until, "the others are held up"
        time.sleep(0.01)
    recovered = None
    if job.kept() and chance.random() < 0.5:
        options = ["--remove"] if chance.random() < 0.5 else []
        directories = sorted({str(store.parent) for store in job.kept()})
        command = [str(job.iolens), "recover", *options, "-o", str(job.log), *directories]
        recovered = subprocess.run(command, check=False, capture_output=True, text=True)
    with contextlib.suppress(ProcessLookupError):
        if pid:
            os.kill(pid, signal.SIGCONT)
    ended = job.end(process)
    assert (ended.code, ended.out) == (0, "done\n"), ended.err
    assert len(ended.notes) <= 1, ended.notes
    if not job.log.exists():
        job.recover()
    assert list(job.cwd.parent.glob("log*")) == [job.log]
    found = job.counters("BYTES_WRITTEN")
    if not (recovered and "still run" in recovered.stderr):
        assert found.items() >= (MANY | EXPECTED).items()


@pytest.mark.parametrize("meeting", MEETINGS)
def test_a_rank_stopped_at_any_moment(job: Job, meeting: str) -> None:
    for seed in range(STOPS):
        stop_somewhere(job, meeting, random.Random(f"{job.mpi} {meeting} {seed}"))
        for name in ("marks", "cwd", "stores"):
            shutil.rmtree(job.cwd.parent / name)
        job.cwd.mkdir()
        job.stores.mkdir()
        job.log.unlink()
