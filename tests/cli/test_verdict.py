"""The verdict: one line that is true of the program, and says what the report says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from here import Run, in_this_process, level_of_report, verdict
from iolens.metrics import Dataset
from iolens.rules import find
from iolens.rules.instead import instead
from jobs import Job, MiB, of, process, used


@pytest.fixture
def run_iolens(run_iolens: Run) -> Run:
    return in_this_process(run_iolens)


def operation(name: str, count: int, time: float) -> dict[str, Any]:
    return {"interface": "posix", "name": name, "count": count, "time": time, "bytes": 0}


def timeline(*busy: tuple[float, float, str]) -> list[dict[str, Any]]:
    """Stretches of time from .. to, wholly in I/O of one kind."""
    return [
        {"start": a, "end": b, **{k: (b - a) * (k == kind) for k in ("read", "write", "meta")}}
        for a, b, kind in busy
    ]


def report_text(run_iolens: Run, log: Path) -> str:
    (job,) = json.loads(run_iolens(["report", "--json", log]).stdout)["jobs"]
    return json.dumps(job)


def small_reads() -> Job:
    job = Job(nprocs=1, run_time=100).posix("/d/data.bin", 0, read={512: 48_000_000}, read_time=60.0)
    return job.section("process", process(0, 62.0, read=61.0, meta=1.0))


def two_files() -> Job:
    job = Job(nprocs=1, run_time=100).posix("/d/a", 0, write={MiB: 3}, write_time=4.0)
    job.posix("/d/b", 0, write={MiB + 1: 4}, write_time=4.0)
    return job.section("process", process(0, 8.0, write=8.0))


def renamed() -> Job:
    job = Job(nprocs=1, run_time=10)
    job.posix("/d/ck.bin.tmp", 0, write={MiB: 40}, write_time=4.0, opens=1, rename_sources=1)
    job.posix("/d/ck.bin", 0, opens=0, rename_targets=1, renamed_from=job.name("/d/ck.bin.tmp"))
    return job.section("process", process(0, 4.0, write=4.0))


def forced() -> Job:
    job = Job(nprocs=1, run_time=100).posix("/d/a", 0, write={100: 500}, write_time=30.0)
    job.section("operation", operation("fsync", 500, 29.0), operation("stat", 5, 0.1))
    return job.section("process", process(0, 30.5, write=30.0, meta=0.5))


def looked_up() -> Job:
    job = Job(nprocs=1, run_time=10).posix("/d/a", 0, meta_time=3.0)
    job.section("operation", operation("stat", 1_200_000, 2.9), operation("open", 10, 0.2))
    return job.section("process", process(0, 3.1, meta=3.1))


def asked_once() -> Job:
    job = Job(nprocs=1, run_time=10).posix("/d/a", 0, meta_time=3.0)
    job.section("operation", operation("stat", 1, 2.9), operation("open", 10, 0.2))
    return job.section("process", process(0, 3.1, meta=3.1))


def characters() -> Job:
    """Two programs read 12 million characters by getc, in no time; what takes the time is four files of large reads."""
    job = Job(nprocs=6, run_time=10)
    for rank in range(4):
        job.posix(f"/d/{rank}", rank, read={MiB: 10}, read_time=1.0)
    for rank in (4, 5):
        job.add(
            "stdio", f"/d/text{rank}", rank, opens=1, reads=6_000_000, bytes_read=6_000_000, read_time=0.03
        )
    return job.section("process", *(process(rank, 1.0, "MPICH", read=1.0) for rank in range(6)))


def opened_by_mpi() -> Job:
    """MPI_Init opens 1,300 files; what takes the time is four opens by MPI-IO, which wait for each other."""
    job = Job(nprocs=4, run_time=10).mpiio("/d/out", -1, write={1000: 4}, meta_time=10.0, kind="coll")
    job.posix("/d/out", -1, write={1000: 4}, meta_time=0.1)
    job.section("operation", operation("open", 1318, 0.4), operation("close", 1300, 0.1))
    return job.section("process", *(process(rank, 2.6, "MPICH", meta=2.6) for rank in range(4)))


def layers() -> Job:
    """Data sieving: a second each in MPI-IO holds half a second each in POSIX; shares are not added."""
    job = Job(nprocs=4, run_time=10)
    job.mpiio("/d/out", -1, write={1000: 4000}, write_time=16.0)
    job.posix("/d/out", -1, write={4 * MiB: 20}, read={4 * MiB: 20}, write_time=4.0, read_time=4.0)
    return job.section(
        "process", *(process(rank, 4.0 - rank / 2, "MPICH", write=4.0 - rank / 2) for rank in range(4))
    )


def threads() -> Job:
    """Eight readers at once for two seconds of ten: sixteen seconds in calls."""
    job = Job(nprocs=1, run_time=10).posix("/d/a", 0, read={MiB: 800}, read_time=16.0)
    job.section("timeline", *timeline((1.0, 3.0, "read")))
    return job.section("process", process(0, 2.0, read=2.0))


def side_by_side() -> Job:
    """Two programs, one after the other half the time each, side by side for two seconds more."""
    job = Job(nprocs=2, run_time=10).posix("/d/a", 0, read={MiB: 5}, read_time=3.0)
    job.posix("/d/b", 1, read={MiB: 5}, read_time=3.0)
    job.section("timeline", *timeline((0.0, 3.0, "read"), (2.0, 5.0, "read")))
    return job.section("process", process(0, 3.0, read=3.0), process(1, 3.0, read=3.0))


def idle() -> Job:
    job = Job(nprocs=1, run_time=1000).posix("/d/a", 0, read={MiB: 5}, read_time=3.0)
    return job.section("process", process(0, 3.0, read=3.0))


def little() -> Job:
    job = Job(nprocs=1, run_time=100).posix("/d/a", 0, read={MiB: 5}, read_time=3.0)
    return job.section("process", process(0, 3.0, read=3.0))


def brief() -> Job:
    job = Job(nprocs=1, run_time=1).posix("/d/a", 0, read={MiB: 5}, read_time=0.3)
    return job.section("process", process(0, 0.3, read=0.3))


def long_run() -> Job:
    job = Job(nprocs=1, run_time=15).posix("/d/a", 0, read={MiB: 5}, read_time=0.9)
    return job.section("process", process(0, 0.9, read=0.9))


def copied() -> Job:
    """copy_file_range counts as reading and as writing."""
    job = Job(nprocs=1, run_time=10).posix("/d/a", 0, read={MiB: 4}, read_time=4.5)
    job.posix("/d/b", 0, write={MiB: 4}, write_time=4.5)
    job.section("operation", operation("copy_file_range", 4, 9.0), operation("stat", 9, 0.1))
    return job.section("process", process(0, 9.4, read=4.6, write=4.5, meta=0.3))


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (small_reads, ("problem", 0.62, "62~reading: 48 million reads of 512 B from data.bin")),
        (two_files, ("look", 0.08, "8.0~writing: 7 writes of 1.0 MiB on average")),
        (renamed, ("problem", 0.4, "40~writing: 40 writes of 1.0 MiB to ck.bin")),
        (forced, ("problem", 0.305, "30~writing: 500 fsync calls")),
        (looked_up, ("problem", 0.31, "31~metadata: 1.2 million stat calls")),
        (asked_once, ("problem", 0.31, "31~metadata: 1 stat call")),
        (characters, ("look", 0.1, "10~reading: 40 reads of 1.0 MiB")),
        (opened_by_mpi, ("problem", 0.26, "26~metadata: 4 opens by MPI-IO")),
        (layers, ("problem", 0.4, "40~writing: 4,000 writes by MPI-IO of 1000 B to out")),
        (threads, ("look", 0.2, "20~reading: 800 reads of 1.0 MiB from a")),
        (side_by_side, ("problem", 0.5, "50~reading: 10 reads of 1.0 MiB")),
        (idle, ("good", 0.003, "I/O is not the cause here: 0.3 % of the run time")),
        (little, ("good", 0.03, "3.0~reading: little to gain")),
        (brief, ("look", 0.3, "30~reading: 5 reads of 1.0 MiB from a; a run too short to matter")),
        (long_run, ("look", 0.06, "6.0~reading: 5 reads of 1.0 MiB from a; I/O takes only 0.9 of 15.0 s")),
        (copied, ("problem", 0.94, "94~reading and writing: 4 copy_file_range calls")),
    ],
)  # fmt: skip
def test_the_line(
    run_iolens: Run, tmp_path: Path, job: Callable[[], Job], expected: tuple[str, float, str]
) -> None:
    level, share, text = expected
    text = text.replace("~", " % of the run time goes into I/O, most of it ")
    log = job().save(tmp_path / "job.darshan")
    found = verdict(run_iolens, log)
    assert (found["level"], found["text"]) == (level, text)
    assert found["io_share"] == pytest.approx(share)
    assert level_of_report(run_iolens, log) == level


def test_a_finding_of_weight_is_not_denied(run_iolens: Run, tmp_path: Path) -> None:
    """What is called not the cause has no finding that is more than of low severity."""
    for job in (idle, little, brief, two_files, small_reads):
        log = job().save(tmp_path / f"{job.__name__}.darshan")
        found = json.loads(run_iolens(["findings", "--json", log]).stdout)["findings"]
        serious = [f for f in found if f["severity"] in ("high", "medium")]
        assert not (serious and "not the cause" in verdict(run_iolens, log)["text"]), job.__name__


def test_what_has_no_measured_time_is_estimated(run_iolens: Run, tmp_path: Path) -> None:
    """The slowest rank's own files and the slowest ranks of shared ones; what MPI-IO called counts there."""
    job = Job(nprocs=4, run_time=100)
    job.posix("/d/own", 0, read={MiB: 5}, read_time=3.0).posix("/d/own", 1, read={MiB: 5}, read_time=20.0)
    job.posix("/d/other", 1, write={MiB: 5}, write_time=10.0)
    job.mpiio("/d/shared", write={MiB: 5}, write_time=20.0, slowest_rank_time=9.0)
    job.posix("/d/shared", write={MiB: 5}, write_time=19.0, slowest_rank_time=8.5)
    log = job.save(tmp_path / "darshan.darshan")
    found = verdict(run_iolens, log)
    assert found == {
        "level": "problem",
        "io_share": pytest.approx(0.39),
        "estimated": True,
        "text": "about 39 % of the run time goes into I/O, most of it writing: 5 writes by MPI-IO of 1.0 MiB to shared",
    }
    assert level_of_report(run_iolens, log) == "problem"


def test_without_records_it_is_not_known(run_iolens: Run, tmp_path: Path) -> None:
    log = Job().lustre("/scratch/a", MiB, [1, 2]).save(tmp_path / "darshan.darshan")
    assert verdict(run_iolens, log) == {
        "level": "unknown",
        "text": "not known: the log has no records of I/O that tell its time",
    }


def test_bytes_without_a_time_leave_it_open(run_iolens: Run, tmp_path: Path) -> None:
    job = idle().section(
        "operation", {**operation("read", 100, 0.0), "interface": "mapped", "bytes": 5000 * MiB}
    )
    found = verdict(run_iolens, job.save(tmp_path / "job.darshan"))
    assert found["level"] == "unknown"
    assert found["text"] == (
        "not known: 0.3 % of the run time goes into I/O, and 4.9 GiB moved in ways whose time is not known"
    )
    job = Job(nprocs=1, run_time=1000).posix("/d/a", 0, read={MiB: 5}, read_time=3.0)
    job.section("process", {**used(0, 400.0, end=1000.0), "io_time": 3.0, "read_time": 3.0})
    job.section("operation", {**operation("read", 100, 0.0), "interface": "mapped", "bytes": 1_000_000 * MiB})
    log = job.save(tmp_path / "busy.darshan")
    ending = "; the largest known part is waiting, 60 % of the run, most likely for a timer, a lock or another process"
    assert verdict(run_iolens, log)["text"].endswith(f"whose time is not known{ending}")
    assert "The largest known part is waiting, 60 % of the run." in report_text(run_iolens, log)


def a_processor() -> Job:
    return of(used(0, 9.4))


def two_processors() -> Job:
    job = of(used(0, 9.0), used(1, 8.0), used(2, 1.0, exe="/usr/bin/ld"))
    return job.section(
        "platform", {"host": "a", "name": "cpus_allowed", "value": "", "number": 2.0, "unit": "cpu"}
    )


def cold() -> Job:
    """20,000 faults, 20,100 waits, and 8 s that it neither ran nor was in I/O: 0.39 ms each."""
    return of(used(0, 2.0, major_faults=20_000, waits=20_100, storage_read=500 * MiB))


def cold_by_others() -> Job:
    """Another process, or a file system that the kernel does not count as storage, brought the same pages."""
    return of(used(0, 2.0, major_faults=20_000, waits=20_100, storage_read=0))


def cold_ahead() -> Job:
    """`git --version`: what is read ahead makes no fault, but each wait brought 200 KiB. It waited for little else."""
    return of(used(0, 1.25, start=4.0, major_faults=0, waits=1000, storage_read=200 * MiB))


def cold_between_sleeps() -> Job:
    """As much from storage, and as many waits for a timer: each is taken for 10 ms at most."""
    return of(used(0, 0.1, major_faults=0, waits=100, storage_read=200 * MiB))


def brought() -> Job:
    """Its libraries came ahead of their use, or from storage that keeps the processor busy: it hardly slept."""
    return of(used(0, 9.4, major_faults=300, waits=40, storage_read=1000 * MiB))


def queued() -> Job:
    """A cold start on a busy node: most of what it did not run it waited for a processor."""
    return of(used(0, 2.0, major_faults=50, waits=60, storage_read=20 * MiB, processor_wait=7.5))


def by_the_first() -> Job:
    """One waits for storage only: 100 MiB in 1.95 s. The other one's 150 MiB took as long each, not 100 MB/s."""
    first = used(0, 8.0, major_faults=0, waits=1000, storage_read=100 * MiB)
    return of(first, used(1, 0.1, major_faults=0, waits=90_000, storage_read=150 * MiB))


COLD_LIBRARIES = {"major_faults": 12_500, "waits": 1_000_000, "storage_read": 100 * MiB}  # 2.5 s


def cold_ranks() -> Job:
    """They page in the same libraries at the same time: the run is held up once, not four times."""
    return of(*(used(n, 0.1, mpi="MPICH", **COLD_LIBRARIES) for n in range(4)))


def cold_in_turn() -> Job:
    """Twin: each is started by a shell when the one before has ended."""
    return of(*(used(n, 0.05, start=2.55 * n, end=2.55 * (n + 1), **COLD_LIBRARIES) for n in range(4)))


def queued_together() -> Job:
    """Four wait 4 s each for a processor at the same time: the run is held up for 4 s of 10, not for the rest of it."""
    return of(*(used(n, 0.75, processor_wait=4.0) for n in range(4)))


def queued_in_turn() -> Job:
    """Twin: one after the other."""
    return of(*(used(n, 0.75, start=2.5 * n, end=2.5 * (n + 1), processor_wait=1.5) for n in range(4)))


def by_cold_reads() -> Job:
    """Its calls read 50 MiB from storage at 50 MiB/s: what was paged in is taken to have come as fast."""
    times = {"read_time": 1.0, "io_time": 0.05, "seen_read": 50 * MiB}
    return of(used(0, 0.1, major_faults=10, waits=90_000, storage_read=200 * MiB, **times))


def many_starts() -> Job:
    return of(*(used(n, 0.01, start=n / 100, end=(n + 1) / 100) for n in range(1000)))


def a_socket() -> Job:
    row = {"rank": 0, "class": "socket_public", "description": "", "opens": 1, "reads": 90, "writes": 5}
    return of(used(0, 0.1)).section("excluded", {**row, "bytes_read": 1000, "bytes_written": 10})


def asleep() -> Job:
    """Some faults of the start do not make a sleep a wait for storage: each is taken for 0.2 ms."""
    return of(used(0, 0.1, major_faults=100, waits=101))


def a_slow_server() -> Job:
    """A cold start of 10 MB, then it waits for an answer: 44 waits of 0.22 s on average were not all for pages."""
    job = of(used(0, 0.1, major_faults=20, waits=44, storage_read=10_000_000))
    row = {"rank": 0, "description": "", "opens": 1, "writes": 0, "bytes_written": 0}
    pipe = {**row, "class": "pipe", "reads": 9, "bytes_read": 6}
    return job.section("excluded", pipe, {**row, "class": "socket_loopback", "reads": 2, "bytes_read": 150})


def cold_and_busy() -> Job:
    """A cold program of 155 MiB that computes: 2.95 s for its pages, 7 s of a processor."""
    return of(used(0, 7.0, major_faults=90, waits=500, storage_read=155 * MiB))


def few_long() -> Job:
    """make -j2: 400 processes of 2 ms, and 100 of 80 ms, which are nine tenths of the processor time."""
    starts = [used(n, 0.002, exe="/bin/sh", start=n / 50, end=(n + 1) / 50) for n in range(400)]
    work = [used(n, 0.08, start=n / 50, end=(n + 5) / 50) for n in range(400, 500)]
    return of(*starts, *work)


def mapped_from_storage() -> Job:
    """400 MiB of a mapped file by page faults: their time is estimated, so it is known."""
    way = {**operation("read", 100, 0.0), "interface": "mapped", "bytes": 400 * MiB}
    return of(used(0, 6.0, major_faults=50, waits=500, storage_read=400 * MiB)).section("operation", way)


def contended() -> Job:
    return of(used(0, 2.0, processor_wait=6.0))


def joined() -> Job:
    """pigz: its threads, which used most of the time, have ended; what they waited for is not known."""
    return of(used(0, 3.0, processor_wait=-1.0))


def compiled() -> Job:
    """Warm maps of inputs and libraries: their bytes cannot have cost what would matter."""
    way = {**operation("read", 100, 0.0), "interface": "mapped", "bytes": 18 * MiB}
    return of(used(0, 9.4)).section("operation", way)


PAGES = "of programs, libraries and mapped files from storage"
BUSY_AND_FAULTS = (
    f"the processor, busy for {{}} % of the run, and page faults, about {{}} % of the run: {{}}.0 MiB {PAGES}"
)


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (a_processor, "the processor, busy for 94 % of the run"),
        (two_processors, "the processors, 1.8 of 2 busy on average, most of it in cc1"),
        (cold, "page faults, about 79 % of the run: 500.0 MiB of programs, libraries and mapped files from storage"),
        (cold_by_others, "page faults, about 79 % of the run on programs, libraries and mapped files"),
        (cold_ahead, "page faults, about 87 % of the run: 200.0 MiB " + PAGES),
        (cold_between_sleeps, "waiting, 88 % of the run, most likely for a timer, a lock or another process"),
        (brought, "the processor, busy for 94 % of the run; meanwhile 1000.0 MiB of programs, libraries and mapped "
         "files came from storage"),
        (queued, "the processor, busy for 20 % of the run; for 75 %, the program waited while others used it"),
        (by_the_first, BUSY_AND_FAULTS.format(81, 29, 250)),
        (by_cold_reads, "waiting, 68 % of the run, most likely for a timer, a lock or another process, and "
         "page faults, about 30 % of the run: 150.0 MiB " + PAGES),
        (cold_ranks, "waiting, 70 % of the run, most likely for a timer, a lock or another process, and "
         "page faults, about 25 % of the run: 400.0 MiB " + PAGES),
        (cold_in_turn, "page faults, about 98 % of the run: 400.0 MiB " + PAGES),
        (queued_together, "the processor, busy for 30 % of the run; for 40 %, the program waited while others used it"),
        (queued_in_turn, "the processor, busy for 30 % of the run; for 60 %, the program waited while others used it"),
        (many_starts, "the start of 1,000 processes, 10.00 ms each"),
        (a_socket, "waiting, 98 % of the run, most likely for a socket"),
        (asleep, "waiting, 98 % of the run, most likely for a timer, a lock or another process"),
        (a_slow_server, "waiting, 98 % of the run, most likely for a socket"),
        (cold_and_busy, BUSY_AND_FAULTS.format(70, 30, 155)),
        (few_long, "the processor, busy for 88 % of the run, most of it in cc1"),
        (mapped_from_storage, BUSY_AND_FAULTS.format(60, 40, 400)),
        (compiled, "the processor, busy for 94 % of the run"),
        (joined, "waiting, 70 % of the run, most likely for a processor, a timer, a lock or another process"),
        (contended, "the processor, busy for 20 % of the run; for 60 %, the program waited while others used it"),
    ],
)  # fmt: skip
def test_the_line_says_what_it_is_instead(
    run_iolens: Run, tmp_path: Path, job: Callable[[], Job], expected: str
) -> None:
    log = job().save(tmp_path / "job.darshan")
    found = verdict(run_iolens, log)
    assert found["text"] == f"I/O is not the cause here: 0.5 % of the run time; it is {expected}"
    assert found["level"] == level_of_report(run_iolens, log) == "good"
    with Dataset(log) as data:
        (row,) = data.metric("instead")
    words = {"the processor": "processor", "the processors": "processor", "page faults": "page faults"}
    kind = words.get(
        expected.partition(",")[0], "waiting" if expected.startswith("waiting") else "start of processes"
    )
    assert row["kind"] == kind
    assert kind != "page faults" or instead(row, 10.0).partition(":")[0] == expected.partition(":")[0]
    assert (
        instead(row, 10.0).endswith(expected[expected.rfind("page faults") :].replace(".0 MiB", " MiB"))
        or PAGES not in expected
    )


@pytest.mark.parametrize(("below", "level"), [(0.05, "good"), (4.5, "problem"), (None, "problem")])
def test_waiting_for_a_late_rank_is_no_io(
    run_iolens: Run, tmp_path: Path, below: float | None, level: str
) -> None:
    """Three ranks wait in MPI-IO for rank 2. Not where the file system took most of it, or its part is not known."""
    job = Job(nprocs=4, run_time=10)
    job.mpiio(
        "/d/out",
        write={1000: 4},
        meta_time=18.2,
        slowest_rank_time=6.05,
        fastest_rank=2,
        fastest_rank_time=0.1,
    )
    if below is not None:
        job.posix("/d/out", write={1000: 4}, write_time=below, slowest_rank_time=below)
    times = {"user_time": 9.0, "mpi": "MPICH"}
    ranks = [{**used(n, 9.0), **times, "io_time": 6.1, "meta_time": 6.1} for n in (0, 1, 3)]
    job.section("process", *ranks, {**used(2, 9.0), **times, "io_time": 0.15, "meta_time": 0.15})
    log = job.save(tmp_path / "job.darshan")
    found = verdict(run_iolens, log)
    assert found["level"] == level_of_report(run_iolens, log) == level
    if below == 0.05:
        assert found["io_share"] == pytest.approx(0.02)
        late = "waiting, 59 % of the run: 3 ranks in MPI-IO for rank 2, which comes late"
        assert found["text"] == f"I/O is not the cause here: 2.0 % of the run time; it is {late}"
        with Dataset(log) as data:
            assert instead(data.metric("instead")[0], 10.0) == late
            assert data.value("verdict_time") == pytest.approx(0.2)
            assert {f.rule for f in find(data)} & {"io_is_small", "io_is_large"} == {"io_is_small"}
    else:
        assert "comes late" not in found["text"]


def test_nothing_is_said_of_unobserved_programs(run_iolens: Run, tmp_path: Path) -> None:
    """A shell that became a static program: how that passed the time is not known, least of all that it waited."""
    row = {"rank": 0, "program": "/usr/bin/go", "reason": "static", "count": 1}
    log = of(used(0, 0.1, ended="exec")).section("unobserved", row).save(tmp_path / "job.darshan")
    assert verdict(run_iolens, log)["text"] == "I/O is not the cause here: 0.5 % of the run time"
    with Dataset(log) as data:
        assert data.metric("instead")[0]["kind"] is None


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        (6.0, "it is the processor, busy for 61 % of the run, most of it in programs that were not observed"),
        (2.95, "a program that was not observed waited for 69 % of the run, perhaps for I/O"),
        (0.1, "a program that was not observed waited for 98 % of the run, perhaps for I/O"),
    ],
)
def test_what_unobserved_programs_computed_is_known_of_all_together(
    run_iolens: Run, tmp_path: Path, rest: float, expected: str
) -> None:
    """Where they wait, it may be for I/O: that I/O is not the cause is only said where they compute."""
    row = {"rank": 0, "program": "/usr/bin/go", "reason": "static", "count": 1}
    job = of(used(0, 0.1, ended="exec"), used(1, -1.0, system_time=-1.0, ended="signal")).section(
        "unobserved", row
    )
    job.section("operation", {**operation("processor", 1, rest), "interface": "unobserved"})
    log = job.save(tmp_path / "job.darshan")
    found = verdict(run_iolens, log)
    waits = "perhaps" in expected
    said = (
        "not known: 0.5 % of the run time goes into I/O"
        if waits
        else "I/O is not the cause here: 0.5 % of the run time"
    )
    assert found["text"] == f"{said}; {expected}"
    assert found["level"] == level_of_report(run_iolens, log) == ("unknown" if waits else "good")
    assert (f"but {expected}." in report_text(run_iolens, log)) == waits
    with Dataset(log) as data:
        assert ("io_is_small" in {f.rule for f in find(data)}) != waits


@pytest.mark.parametrize(
    ("size", "level", "text"),
    [
        (
            90,
            "good",
            "I/O is not the cause here: 0.5 % of the run time, at most 19 % with 90.0 MiB whose time is not known;",
        ),
        (
            150,
            "unknown",
            "not known: 0.5 % of the run time goes into I/O, and 150.0 MiB moved in ways whose time is not",
        ),
    ],
)
def test_what_has_no_time_and_is_not_the_cause(
    run_iolens: Run, tmp_path: Path, size: int, level: str, text: str
) -> None:
    """A killed process mapped a file, from storage at the slowest: 2 or 3 s of 10, while another one computes for 8."""
    way = {**operation("read", 100, 0.0), "interface": "mapped", "bytes": size * MiB}
    killed = used(1, -1.0, system_time=-1.0, ended="signal", storage_read=-1, major_faults=-1, waits=-1)
    log = of(used(0, 8.0), killed).section("operation", way).save(tmp_path / "job.darshan")
    found = verdict(run_iolens, log)
    assert (found["level"], level_of_report(run_iolens, log)) == (level, level)
    assert found["text"].startswith(text)


def test_page_faults_from_storage_with_io_are_a_cause(run_iolens: Run, tmp_path: Path) -> None:
    """1.3 s of I/O and 1.4 s of page faults: the mapped file they are of leaves nothing open, and both are named."""
    job = Job(nprocs=1, run_time=10).posix("/d/a", 0, read={MiB: 50}, read_time=1.3)
    job.section(
        "process",
        {**used(0, 7.2, waits=500, storage_read=900 * MiB), "io_time": 1.3, "read_time": 1.3},
    )
    job.section("operation", {**operation("read", 1, 0.0), "interface": "mapped", "bytes": 890 * MiB})
    log = job.save(tmp_path / "job.darshan")
    found = verdict(run_iolens, log)
    assert found["level"] == level_of_report(run_iolens, log) == "look"
    assert (
        "; more goes into the processor, busy for 72 % of the run, and page faults, about 15 %"
        in found["text"]
    )


@pytest.mark.parametrize(
    ("processor", "expected"),
    [
        (4.9, "the processor, busy for 49 % of the run"),
        (2.05, "waiting, 64 % of the run, most likely for a timer"),
    ],
)
def test_less_than_half_is_the_largest_part(
    run_iolens: Run, tmp_path: Path, processor: float, expected: str
) -> None:
    """1.5 s of page faults, too few to be named, and 0.05 s of I/O."""
    job = of(used(0, processor, major_faults=1000, waits=90_000, storage_read=150_000_000))
    log = job.save(tmp_path / "job.darshan")
    how = "the largest part is" if processor > 4 else "it is"
    assert f"; {how} {expected}" in verdict(run_iolens, log)["text"]
    assert f". {how[0].upper()}{how[1:]} {expected.partition(',')[0]}," in report_text(run_iolens, log)


@pytest.mark.parametrize(
    ("spent", "processor", "more"), [(1.5, 8.0, True), (3.5, 8.0, True), (4.2, 8.1, False), (7.0, 9.0, False)]
)
def test_a_part_in_io_says_what_the_rest_is(
    run_iolens: Run, tmp_path: Path, spent: float, processor: float, more: bool
) -> None:
    """What the processor did in calls may be I/O: it is said to be more only where it is without them."""
    job = Job(nprocs=1, run_time=10).posix("/d/a", 0, read={MiB: 50}, read_time=spent)
    job.section("process", {**used(0, processor), "io_time": spent, "read_time": spent})
    log = job.save(tmp_path / "job.darshan")
    words = f"more goes into the processor, busy for {10 * processor:.0f} % of the run"
    assert (words in verdict(run_iolens, log)["text"]) == more
    assert (f". M{words[1:]}." in report_text(run_iolens, log)) == more
    said = " ".join(run_iolens(["findings", log]).stdout.split())
    assert said.startswith("Something else takes more time than I/O: the processor, busy") == more
    assert more or "something else" not in said


@pytest.mark.parametrize(("processor", "said"), [(9.6, True), (8.5, False), (13.0, False)])
def test_calls_that_copy_do_not_wait_for_storage(
    run_iolens: Run, tmp_path: Path, processor: float, said: bool
) -> None:
    """openssl enc: 5 of 10 s in calls, and a processor all the while. Of threads one may wait while others compute."""
    job = Job(nprocs=1, run_time=10).posix("/d/a", 0, write={4096: 50_000}, write_time=5.0)
    job.section("process", {**used(0, processor), "io_time": 5.0, "write_time": 5.0})
    log = job.save(tmp_path / "job.darshan")
    words = "he processor is busy all the while, so it does not wait for storage"
    assert verdict(run_iolens, log)["text"].endswith(f"; t{words}") == said
    assert (f" T{words}." in report_text(run_iolens, log)) == said


def test_a_large_part_is_known_whatever_has_no_time(run_iolens: Run, tmp_path: Path) -> None:
    """0.8 of 2 s are I/O; what was mapped could only make it more."""
    job = Job(nprocs=1, run_time=2).posix("/d/a", 0, read={MiB: 5}, read_time=0.8)
    job.section("process", process(0, 0.8, read=0.8))
    job.section("operation", {**operation("read", 100, 0.0), "interface": "mapped", "bytes": 5000 * MiB})
    log = job.save(tmp_path / "job.darshan")
    assert verdict(run_iolens, log)["level"] == level_of_report(run_iolens, log) == "look"
