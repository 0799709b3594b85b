"""What "time in I/O" and "bytes moved" mean: the same everywhere, whatever threads and layers add up to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from iolens.compare import Group, compare
from iolens.metrics import Dataset
from iolens.rules import Finding, find
from jobs import GiB, Job, KiB, MiB
from made_log import Make
from observed import Observe


def process(rank: int, busy: float, mpi: str = "", **values: Any) -> dict[str, Any]:
    common = {"rank": rank, "pid": 100 + rank, "host": "n1", "exe": "/bin/program", "start": 0.0, "end": 3.0}
    times = {"io_time": busy, "read_time": 0.0, "write_time": 0.75 * busy, "meta_time": 0.25 * busy}
    return {**common, **times, "ended": "exit", "signal": 0, "mpi": mpi, **values}


def synchronized(job: Job, rank: int, seconds: float) -> None:
    """A rank that writes and calls fsync; seconds are summed over its threads."""
    writes = {4 * KiB: 1600}
    job.posix(f"/scratch/{rank}", rank, write=writes, write_time=seconds, fsyncs=1600)
    fsync = {"rank": rank, "interface": "posix", "name": "fsync", "count": 1600, "errors": 0, "bytes": 0}
    job.section("operation", {**fsync, "time": 0.9 * seconds})


def found_in(job: Job, path: Path) -> dict[str, Finding]:
    with Dataset(job.save(path)) as data:
        return {f.rule: f for f in find(data)}


def test_threads_do_not_cost_more_than_the_time_in_io(tmp_path: Path) -> None:
    """16 threads: 13.4 s in calls, of 0.84 s in which any of them was in one, of 3 s."""
    job = Job(nprocs=1, run_time=3).section("process", process(0, 0.84))
    synchronized(job, 0, 13.4)
    found = found_in(job, tmp_path / "job.darshan")
    assert found["sync_storm"].time_lost == pytest.approx(0.9 * 0.84)
    assert found["io_is_large"].values["io_time"] == pytest.approx(0.84)
    assert all((f.time_lost or 0) <= 0.84 + 1e-9 for f in found.values())
    assert all(f.gain is None or f.gain[1] <= 0.84 + 1e-9 for f in found.values())


def test_ranks_with_threads_do_not_either(tmp_path: Path) -> None:
    job = Job(nprocs=2, run_time=10)
    for rank, busy in ((0, 0.5), (1, 0.8)):
        job.section("process", process(rank, busy, "MPICH"))
        synchronized(job, rank, 4.0)
    found = found_in(job, tmp_path / "job.darshan")
    assert found["sync_storm"].time_lost == pytest.approx(0.9 * 0.8)
    assert all((f.time_lost or 0) <= 0.8 + 1e-9 for f in found.values())


def test_without_threads_the_slowest_rank_counts_as_it_is(tmp_path: Path) -> None:
    job = Job(nprocs=2, run_time=10)
    for rank, busy in ((0, 2.0), (1, 4.0)):
        job.section("process", process(rank, busy, "MPICH"))
        synchronized(job, rank, busy)
    assert found_in(job, tmp_path / "job.darshan")["sync_storm"].time_lost == pytest.approx(3.6)


def test_time_in_io_has_one_meaning(tmp_path: Path) -> None:
    job = Job(nprocs=2, run_time=10)
    for rank, busy in ((0, 0.5), (1, 0.8)):
        job.section("process", process(rank, busy, "MPICH"))
        synchronized(job, rank, 4.0)
    path = str(job.save(tmp_path / "job.darshan"))
    row = compare([Group("a", (path,)), Group("b", (path,))])
    parts = {name: row.row(f"{name}_time").samples[0] for name in ("io", "read", "write", "meta")}
    assert {name: part.mean for name, part in parts.items() if part} == pytest.approx(
        {"io": 0.8, "read": 0.0, "write": 0.6, "meta": 0.2}
    )
    with Dataset([path, path]) as data:
        assert [row["io_time"] for row in data.metric("headline")] == [0.8, 0.8]
        assert data.metric("workflow")[0]["io_seconds"] == pytest.approx(1.6)


PROGRAM = """
import os, threading, time
def work(name):
    f = os.open(name, os.O_CREAT | os.O_WRONLY)
    for _ in range(30):
        os.write(f, b'x' * 100000)
        os.fsync(f)
    os.close(f)
threads = [threading.Thread(target=work, args=[f'f{n}']) for n in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
time.sleep(0.1)
"""


def test_the_summary_and_the_metrics_agree(observe: Observe, tmp_path: Path, run_iolens: Any) -> None:
    """Two programs of eight threads each, one after the other and side by side."""
    (tmp_path / "work.py").write_text(PROGRAM)
    summary = tmp_path / "summary.json"
    script = "python3 work.py; mkdir d; (cd d; python3 ../work.py) & python3 work.py; wait"
    options = ["--quiet", "--json", summary, "-o", tmp_path / "log.darshan"]
    done = run_iolens(["run", *options, "sh", "-c", script], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = json.loads(summary.read_text())
    with Dataset(tmp_path / "log.darshan") as data:
        row = data.metric("headline")[0]
    assert row["basis"] == "timeline"
    names = {"io_time": "io_time", "io_read_time": "read_time", "io_write_time": "write_time"}
    for theirs, mine in {**names, "io_meta_time": "meta_time"}.items():
        assert row[mine] == pytest.approx(said[theirs], rel=1e-6, abs=1e-9), theirs


def test_several_logs_move_what_each_of_them_moves(corpus: Path) -> None:
    logs = [corpus / "logs" / f"{name}.darshan" for name in ("imbalanced-io", "skew-app", "ior-hdf5")]
    with Dataset(logs) as data:
        rows = data.metric("headline")
        whole = data.metric("workflow")[0]
    for name in ("bytes_read", "bytes_written"):
        assert whole[name] == sum(row[name] for row in rows)
    assert whole["io_seconds"] == pytest.approx(sum(row["io_time"] for row in rows))


def test_dfs_and_daos_of_one_file_are_one(make_log: Make) -> None:
    moved = {"id": 7, "bytes_written": 1000, "write_time": 1.0}
    log = make_log(
        names={7: b"/pool/file"}, dfs=[{**moved, "writes": 10}], daos=[{**moved, "array_writes": 10}]
    )
    with Dataset(log) as data:
        assert data.metric("workflow")[0]["bytes_written"] == 1000
        assert data.metric("headline")[0]["io_time"] == pytest.approx(1.0)
    result = compare([Group("a", (str(log),)), Group("b", (str(log),))])
    assert [(r.name, r.parts[0].bytes, r.parts[0].time) for r in result.roles if r.parts[0]] == [
        ("/pool/file", 1000, 1.0)
    ]
    for name, value in {"bytes_written": 1000, "moved": 1000, "writes": 10, "io_time": 1.0}.items():
        first = result.row(name).samples[0]
        assert first and first.mean == value, name


def test_mpi_io_and_posix_of_one_file_are_one(tmp_path: Path) -> None:
    job = Job(nprocs=4, run_time=10)
    job.mpiio("/scratch/out", -1, write={MiB: 64}, kind="coll", write_time=8.0)
    job.posix("/scratch/out", -1, write={4 * MiB: 20}, write_time=4.0)
    path = str(job.save(tmp_path / "job.darshan"))
    result = compare([Group("a", (path,)), Group("b", (path,))])
    values = {r.measure.name: s.mean for r in result.rows for s in r.samples[:1] if s}
    assert (values["bytes_written"], values["moved"], values["writes"]) == (64 * MiB, 80 * MiB, 20)
    assert values["io_time"] == 2.0
    assert [(r.parts[0].bytes, r.parts[0].time) for r in result.roles if r.parts[0]] == [(80 * MiB, 4.0)]


def test_what_posix_lost_counts_at_mpi_io(tmp_path: Path) -> None:
    job = Job(nprocs=4, partial=["posix"]).mpiio("/scratch/out", -1, write={MiB: 64}, write_time=8.0)
    job.posix("/scratch/out", -1, write={MiB: 2}, write_time=0.5)
    with Dataset(job.save(tmp_path / "job.darshan")) as data:
        assert data.rows("SELECT interface, bytes_written FROM lowest_file") == [
            {"interface": "mpiio", "bytes_written": 64 * MiB}
        ]


def test_what_is_read_again_is_mpi_ios_where_that_was_used(tmp_path: Path) -> None:
    """Four ranks read 16 MiB by collective calls: of 64 MiB that were asked for, POSIX shows 16."""
    job = Job(nprocs=4).mpiio("/scratch/in", -1, read={MiB: 64}, kind="coll", read_time=1.0)
    job.posix("/scratch/in", -1, read={4 * MiB: 4}, read_time=0.5).posix("/scratch/own", 0, read={MiB: 3})
    with Dataset(job.save(tmp_path / "job.darshan")) as data:
        assert data.value("redundant_reads") == 48 * MiB == 50_331_648
        (row,) = data.metric("redundant_files")
    assert (row["name"], row["excess"], row["factor"], row["bytes_read"]) == (
        "/scratch/in",
        48 * MiB,
        4,
        64 * MiB,
    )


def test_what_nobody_counted_is_unknown(tmp_path: Path) -> None:
    job = Job(nprocs=4).posix("/scratch/a", -1, write={MiB: 2}, mmaps=-4, seeks=-1, rw_switches=-4)
    job.posix("/scratch/b", -1, write={MiB: 2}, seeks=5, mmaps=-4, mem_not_aligned=-4, file_alignment=-1)
    with Dataset(job.save(tmp_path / "job.darshan")) as data:
        counts = {
            r["operation"]: r["count"] for r in data.metric("operation_counts") if r["interface"] == "posix"
        }
        assert (counts["mmap"], counts["seek"], counts["write"]) == (None, 5, 4)
        aligned = data.metric("alignment")[0]
        assert (aligned["memory_unaligned"], aligned["file_alignment"]) == (0, MiB)
        assert all(row["rw_switches"] == 0 for row in data.metric("posix_rank_costs"))
        assert [row["count"] for row in data.metric("metadata_operations") if row["operation"] == "seek"] == [
            5
        ]


def test_no_number_of_a_released_log_is_below_zero(corpus: Path) -> None:
    with Dataset(corpus / "logs" / "release-x86_64-3.1.4.darshan") as data:
        assert data.rows("SELECT mmaps FROM posix") == [{"mmaps": -4}]
        assert all(row["count"] is None or row["count"] >= 0 for row in data.metric("operation_counts"))


def test_every_category_has_a_name(tmp_path: Path) -> None:
    job = Job(nprocs=1)
    for name in ("//scratch//a", "", "/top", "//top2", "<STDIN>", "12345", "/scratch/b"):
        job.posix(name, 0, write={KiB: 1})
    with Dataset(job.save(tmp_path / "job.darshan")) as data:
        found = {row["category"]: row["files_written"] for row in data.metric("path_categories")}
    assert found == {"/scratch": 2, "/": 2, "<unnamed>": 1, "<STDIN>": 1, "anonymized": 1}


def test_one_rank_is_not_blamed_for_what_a_partial_layer_shows(tmp_path: Path) -> None:
    """POSIX lost the records of what the others moved by MPI-IO: 10 GiB are not all data."""
    job = Job(nprocs=64, partial=["posix"]).mpiio(
        "/scratch/big", -1, write={MiB: 2560}, kind="coll", write_time=640.0
    )
    job.posix("/scratch/own", 0, write={MiB: 10240}, write_time=50.0)
    with Dataset(job.save(tmp_path / "job.darshan")) as data:
        assert data.metric("headline")[0]["bytes_written"] == 12.5 * GiB
        assert "serial_io" not in {f.rule for f in find(data)}
