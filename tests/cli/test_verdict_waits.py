"""Waits for a processor in calls on files are no I/O, where it is certain that they are such waits."""

from __future__ import annotations

from pathlib import Path

import pytest
from here import Run, in_this_process, level_of_report, verdict
from iolens.metrics import Dataset
from iolens.rules import find
from iolens.rules.instead import instead
from jobs import Job, of, used


@pytest.fixture
def run_iolens(run_iolens: Run) -> Run:
    return in_this_process(run_iolens)


QUEUED = {"user_time": 0.8, "system_time": 0.7, "processor_wait": 8.0, "processor_threads": 1}
SLEEPS = {**QUEUED, "processor_wait": 0.2}
AFTER_SLEEP = {**QUEUED, "processor_wait": 7.5, "system_time": 0.2}  # it sleeps for 1.5 s


@pytest.mark.parametrize(
    ("values", "io_time", "queued"),
    [
        (QUEUED, 1.2, 3.8),
        (SLEEPS, 5.0, 0.0),
        (AFTER_SLEEP, 5.0, 0.0),
        ({**QUEUED, "processor_threads": 3}, 5.0, 0.0),
    ],
    ids=["for a processor", "twin: for storage", "twin: after it", "twin: one of several threads"],
)
def test_calls_that_wait_for_a_processor_are_no_io(
    run_iolens: Run, tmp_path: Path, values: dict[str, float], io_time: float, queued: float
) -> None:
    """5 s of 10 in calls. Of the run, 0.8 s are in user mode and 8 s in the queue: 1.2 s are left for calls."""
    job = Job(nprocs=1, run_time=10).posix("/d/a", 0, write={10: 1_000_000}, write_time=4.9)
    times = {"io_time": 5.0, "write_time": 5.0, "read_time": 0.0}
    log = job.section("process", {**used(0, 0.0), **times, **values}).save(tmp_path / "job.darshan")
    found = verdict(run_iolens, log)
    assert found["io_share"] == pytest.approx(io_time / 10)
    assert found["level"] == level_of_report(run_iolens, log) == ("look" if queued else "problem")
    goes = "% of the run time goes into I/O, most of it writing: 1.0 million writes of 10 B to a"
    more = (
        "; more goes into the processor, busy for 15 % of the run; for 80 %, the program waited while others "
        "used it (38 % in I/O calls)"
    )
    assert found["text"] == (f"12 {goes}{more}" if queued else f"50 {goes}")
    with Dataset(log) as data:
        (row,) = data.metric("verdict_time")
        assert (row["value"], row["queued"]) == (pytest.approx(io_time), pytest.approx(queued))
        (instead_of,) = data.metric("instead")
        assert instead(instead_of, 10.0) in more or not queued
        (tiny,) = (f for f in find(data) if f.rule == "tiny_writes")
        assert tiny.time_lost is not None and tiny.time_lost <= io_time + 1e-9
    said = "for 38 % more, the program waited for a processor in I/O calls"
    assert (said in run_iolens(["report", "--json", log]).stdout) == bool(queued)


@pytest.mark.parametrize(("values", "kept"), [(QUEUED, 1.2 / 5), (SLEEPS, 1.0)], ids=["waits", "twin"])
def test_findings_do_not_cost_waits_for_a_processor(
    tmp_path: Path, values: dict[str, float], kept: float
) -> None:
    """A fifth of 4 s in unaligned accesses. What calls of stdio take of a processor each is no part of the waits."""
    job = Job(nprocs=1, run_time=10)
    blocks = {"file_alignment": 4096, "file_not_aligned": 4000, "consec_reads": 0}
    job.posix("/d/a", 0, read={1000: 4000}, read_time=4.0, **blocks)
    job.add("stdio", "/d/b", 0, opens=1, writes=2_000_000, bytes_written=40_000_000, write_time=1.0)
    times = {"io_time": 5.0, "write_time": 1.0, "read_time": 4.0}
    log = job.section("process", {**used(0, 0.0), **times, **values}).save(tmp_path / "job.darshan")
    with Dataset(log) as data:
        lost = {f.rule: f.time_lost for f in find(data)}
    assert lost["unaligned_accesses"] == pytest.approx(0.2 * 4.0 * kept)
    assert lost["small_stdio"] == pytest.approx(2_000_000 * 25e-9)


def test_of_ranks_the_one_longest_in_io_tells_what_waited_for_a_processor(
    run_iolens: Run, tmp_path: Path
) -> None:
    """Rank 1, which is longer in I/O, sleeps in it; rank 0 waits for a processor."""
    job = Job(nprocs=2, run_time=10)
    for rank in range(2):
        job.posix(f"/d/{rank}", rank, write={10: 1_000_000}, write_time=4.9)
    times = {"write_time": 5.0, "read_time": 0.0, "mpi": "MPICH"}
    queues, sleeps = (
        {**used(rank, 0.0), **times, **values, "io_time": io_time}
        for rank, values, io_time in ((0, QUEUED, 5.0), (1, SLEEPS, 5.5))
    )
    log = job.section("process", queues, sleeps).save(tmp_path / "job.darshan")
    assert verdict(run_iolens, log)["io_share"] == pytest.approx(0.55)
    with Dataset(log) as data:
        assert data.value("verdict_time") == pytest.approx(5.5)


@pytest.mark.parametrize(
    ("each", "instead"),
    [
        (0.03, "the processor, busy for 81 % of the run, most of it in cc1"),
        (0.015, "the start of 750 processes, 13.33 ms each"),
    ],
)
def test_a_compiler_is_no_start_of_processes(
    run_iolens: Run, tmp_path: Path, each: float, instead: str
) -> None:
    """450 shells use 3.6 s, cc1 4.5 s: in processes that are long, or as brief as those."""
    shells = [used(n, 0.008, exe="/bin/sh", start=n / 50, end=(n + 1) / 50) for n in range(450)]
    compilers = [used(n, each, start=9.0, end=9.5) for n in range(450, 450 + round(4.5 / each))]
    log = of(*shells, *compilers).save(tmp_path / "job.darshan")
    assert verdict(run_iolens, log)["text"].endswith(f"it is {instead}")
    with Dataset(log) as data:
        (row,) = data.metric("instead")
    assert row["kind"] == ("processor" if "cc1" in instead else "start of processes")


def test_of_a_command_that_only_the_kernels_observer_sees(run_iolens: Run, tmp_path: Path) -> None:
    """Its row has no processor time; what `iolens run` waited for has."""
    rest = {"rank": 0, "interface": "unobserved", "name": "processor", "count": 1, "errors": 0, "bytes": 0}
    job = of({**used(0, 0.0), "user_time": -1.0, "system_time": -1.0}).section(
        "operation", {**rest, "time": 7.0}
    )
    log = job.save(tmp_path / "job.darshan")
    assert verdict(run_iolens, log)["text"].endswith("it is the processor, busy for 70 % of the run")
    with Dataset(log) as data:
        (row,) = data.metric("instead")
    assert (row["kind"], row["processes"], row["unknown"], row["processor"]) == ("processor", 0, 1, 7.0)
