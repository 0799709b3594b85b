"""The verdict of what HDF5 itself takes: chunks that are decoded again, compression, and what passes through pipes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from here import Run, in_this_process, level_of_report, verdict
from iolens.fleet import Lake
from iolens.fleet.saved_queries import ask
from iolens.metrics import Dataset
from iolens.portal.web.widgets import verdict_of
from iolens.rules.instead import hdf5_times, instead
from jobs import Job, MiB

HDF5 = "HDF5 itself (filters, type conversion, chunks)"
FILE = "/d/x.h5"


@pytest.fixture
def run_iolens(run_iolens: Run) -> Run:
    return in_this_process(run_iolens)


def process(rank: int, processor: float, spent: float, **values: Any) -> dict[str, Any]:
    """A process of 10 s that computed, and was in I/O, for so many seconds."""
    times = {"io_time": spent, "read_time": spent, "write_time": 0.0, "meta_time": 0.0}
    used = {"user_time": processor, "system_time": 0.0, "major_faults": 0, "waits": 5}
    row = {"rank": rank, "pid": 100 + rank, "start": 0.0, "end": 10.0, "exe": "/usr/bin/python3", "mpi": ""}
    return {**row, "ended": "exit", "storage_read": 0, "seen_read": 0, **times, **used, **values}


def reader(job: Job, rank: int, seconds: float, below: float, passes: int = 1) -> Job:
    """25 reads of 8 KB of a dataset, of whose file POSIX reads 10 MiB so many times over."""
    job.add(
        "h5d",
        f"{FILE}:/a",
        rank,
        file_rec_id=job.name(FILE),
        opens=1,
        reads=25,
        bytes_read=25 * 8000,
        read_time=seconds,
    )
    size = {"max_byte_read": 10 * MiB - 1, "read_time": below, "meta_time": 0.0}
    return job.posix(FILE, rank, read={MiB: 10 * passes}, **size)


def one(seconds: float, below: float, processor: float, passes: int) -> Job:
    job = reader(Job(nprocs=1, run_time=10), 0, seconds, below, passes)
    return job.section("process", process(0, processor, below))


def said_of(run_iolens: Run, log: Path) -> tuple[dict[str, Any], str]:
    """The verdict, and the report's sentences; their levels are one."""
    found = verdict(run_iolens, log)
    (job,) = json.loads(run_iolens(["report", "--json", log]).stdout)["jobs"]
    assert found["level"] == job["verdict"] == level_of_report(run_iolens, log)
    return found, str(job["headline"])


def severities(run_iolens: Run, log: Path) -> dict[str, str]:
    found = json.loads(run_iolens(["findings", "--json", log]).stdout)["findings"]
    return {f["rule"]: f["severity"] for f in found}


def test_chunks_that_are_decoded_again_are_the_cause(run_iolens: Run, tmp_path: Path) -> None:
    """A row of each of 40 chunks, which do not fit the cache: 25 times over. POSIX has 0.1 of 8 s."""
    log = one(8.0, 0.1, 9.5, passes=25).save(tmp_path / "again.darshan")
    found, headline = said_of(run_iolens, log)
    words = "takes 79 % of the run time: 7.9 of 10.0 s in 25 accesses to datasets; 1.0 % goes into I/O"
    assert (found["level"], found["text"]) == ("problem", f"{HDF5} {words}")
    assert found["io_share"] == pytest.approx(0.01)
    assert f"; {HDF5} takes 79 % of the run: it is a problem. First cause: HDF5 itself takes" in headline
    assert severities(run_iolens, log)["hdf5_library_time"] == "high"


def test_every_place_counts_the_same_seconds(run_iolens: Run, tmp_path: Path) -> None:
    """The list of jobs in the portal, and the rule that calls I/O small: 7.9 s of HDF5 are in both."""
    area = tmp_path / "logs"
    area.mkdir()
    log = one(8.0, 0.1, 9.5, passes=25).save(area / "me_again_id7-7_11-1-7_1.darshan")
    with Dataset(log) as data:
        (counted,) = data.metric("verdict_time")
    assert counted == {
        "log": 0,
        "value": pytest.approx(8.0),
        "waited": 0.0,
        "locks": 0.0,
        "queued": 0.0,
        "hdf5": pytest.approx(7.9),
    }
    assert "io_is_small" not in severities(run_iolens, log)
    assert run_iolens(["fleet", "ingest", area, "--lake", tmp_path / "lake", "--jobs", "1"]).returncode == 0
    with Lake(tmp_path / "lake").open() as lake:
        (row,) = ask(lake, "job_list").dicts()
    assert row["io_time"] == pytest.approx(0.1)
    assert verdict_of(row) == ("problem", "problem, 80 %")


def test_what_is_decoded_once_is_work_of_the_processor(run_iolens: Run, tmp_path: Path) -> None:
    """The twin: each chunk is read once. Compression costs that; I/O is not to blame."""
    log = one(8.0, 0.1, 9.5, passes=1).save(tmp_path / "once.darshan")
    found, headline = said_of(run_iolens, log)
    words = f"{HDF5}, 79 % of the run: 7.9 of 10.0 s, on the processor"
    assert found["text"] == f"I/O is not the cause here: 1.0 % of the run time; it is {words}"
    assert found["level"] == "good" and f" It is {words}." in headline
    assert not {"high", "medium"} & {*severities(run_iolens, log).values()}
    assert run_iolens(["findings", log]).stdout.startswith("The time goes into something else: HDF5 itself")


def test_a_close_that_compresses_is_hdf5_s(run_iolens: Run, tmp_path: Path) -> None:
    """ncks -L 4: chunks wait in the cache for H5Fclose, which deflates and writes them."""
    job = Job(nprocs=1, run_time=10)
    dataset = {"opens": 1, "writes": 2, "bytes_written": 30 * MiB, "write_time": 0.5}
    job.add("h5d", f"{FILE}:/a", 0, file_rec_id=job.name(FILE), **dataset)
    job.add("h5f", FILE, 0, opens=1, meta_time=8.0)
    job.posix(FILE, 0, write={MiB: 8}, write_time=0.2, meta_time=0.1)
    log = job.section("process", process(0, 9.5, 0.3)).save(tmp_path / "closed.darshan")
    found, _ = said_of(run_iolens, log)
    assert f"it is {HDF5}, 82 % of the run: 8.2 of 10.0 s, on the processor" in found["text"]


@pytest.mark.parametrize(("seconds", "named"), [(2.5, True), (1.5, False)])
def test_a_part_in_hdf5_is_named_with_the_processor(
    run_iolens: Run, tmp_path: Path, seconds: float, named: bool
) -> None:
    log = one(seconds, 0.1, 9.5, passes=1).save(tmp_path / "part.darshan")
    found, headline = said_of(run_iolens, log)
    clause = f"; {HDF5} takes 24 % of the run"
    assert found["text"].endswith(f"it is the processor, busy for 95 % of the run{clause if named else ''}")
    assert (clause in headline) == named == ("HDF5" in found["text"])


@pytest.mark.parametrize(("passes", "level"), [(5, "problem"), (1, "look")])
def test_what_hdf5_wastes_counts_as_io(run_iolens: Run, tmp_path: Path, passes: int, level: str) -> None:
    """2 s in POSIX, and 2.1 s in HDF5 above it: 41 % of the run, if it decodes chunks again."""
    job = reader(Job(nprocs=1, run_time=10), 0, 2.6, 0.5, passes)
    job.posix("/d/other", 0, read={MiB: 40}, read_time=1.5)
    log = job.section("process", process(0, 6.0, 2.0)).save(tmp_path / "both.darshan")
    found, _ = said_of(run_iolens, log)
    assert found["level"] == level
    assert ("goes into I/O, most of it" in found["text"]) == (passes == 1)
    assert "HDF5 itself" in found["text"]


@pytest.mark.parametrize(
    ("lives", "mpi", "time", "text"),
    [
        (((0.0, 10.0), (0.0, 10.0)), "", 4.0, f"; {HDF5} takes 40 % of the run"),
        (((0.0, 5.0), (5.0, 10.0)), "", 8.0, f"{HDF5}, 80 % of the run: 8.0 of 10.0 s, on the processor"),
        (((0.0, 10.0), (0.0, 10.0)), "MPICH", 4.0, f"; {HDF5} takes 40 % of the run"),
    ],
    ids=["together", "one after the other", "ranks"],
)
def test_seconds_of_processes_become_seconds_of_the_run(  # noqa: PLR0913, PLR0917
    run_iolens: Run, tmp_path: Path, lives: tuple[tuple[float, float], ...], mpi: str, time: float, text: str
) -> None:
    """Two processes, 4 s each in HDF5, decode each chunk once; two more that have no datasets change nothing."""
    job = Job(nprocs=4, run_time=10)
    table = []
    for rank, (start, end) in enumerate(lives):
        reader(job, rank, 4.05, 0.05)
        table.append(process(rank, 0.9 * (end - start), 0.05, start=start, end=end, mpi=mpi))
    table += [process(rank, 0.0, 0.0, end=0.01, mpi=mpi) for rank in (2, 3)]
    log = job.section("process", *table).save(tmp_path / "two.darshan")
    with Dataset(log) as data:
        (hdf5,) = hdf5_times(data).values()
        (row,) = data.metric("instead")
    assert hdf5["all_processes"] == pytest.approx(8.0)
    assert hdf5["time"] == pytest.approx(time) and hdf5["wasted"] == 0
    assert text in instead(row, 10.0, hdf5) and text in verdict(run_iolens, log)["text"]


@pytest.mark.parametrize("how", ["by MPI-IO", "without POSIX", "plain"])
def test_hdf5_over_mpiio_is_not_hdf5_itself(run_iolens: Run, tmp_path: Path, how: str) -> None:
    """There, ranks wait for each other. Of a file without a record of POSIX it is not known what is below."""
    job = one(8.0, 0.1, 9.5, passes=25)
    if how == "by MPI-IO":
        job.mpiio(FILE, 0, read={MiB: 250}, read_time=0.2)
    elif how == "without POSIX":
        job.regions.pop("posix")
        job.posix("/d/other", 0, read={MiB: 1}, read_time=0.1)
    log = job.save(tmp_path / "job.darshan")
    assert ("HDF5" in verdict(run_iolens, log)["text"]) == (how == "plain")


def through_pipes(size: int, system: float, kind: str = "pipe") -> Job:
    job = Job(nprocs=1, run_time=10).posix("/d/a", 0, read={MiB: 5}, read_time=0.05)
    row = {"rank": 0, "class": kind, "description": "", "opens": 1, "reads": 90, "writes": 5}
    job.section("excluded", {**row, "bytes_read": size * MiB, "bytes_written": 10})
    return job.section("process", process(0, 9.0 - system, 0.05, system_time=system))


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (through_pipes(2048, 5.0), ", 56 % of that in the kernel: 2.0 GiB go through pipes"),
        (through_pipes(2048, 5.0, "socket_unix"), ", 56 % of that in the kernel: 2.0 GiB go through sockets"),
        (through_pipes(2048, 4.0), ""),
        (through_pipes(500, 5.0), ""),
        (through_pipes(2048, 5.0, "terminal"), ""),
    ],
    ids=["pipes", "sockets", "computes", "little", "terminal"],
)
def test_what_the_kernel_copies_between_processes_is_named(
    run_iolens: Run, tmp_path: Path, job: Job, words: str
) -> None:
    log = job.save(tmp_path / "job.darshan")
    found, headline = said_of(run_iolens, log)
    assert found["text"].endswith(f"; it is the processor, busy for 90 % of the run{words}")
    assert headline.endswith(f"busy for 90 % of the run{words.replace('2.0 GiB', '2 GiB')}.")
