"""Causes are named where they are: the verdict's own gain, who called, one file or many."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cases_parallel import aggregating
from iolens.metrics import Dataset
from iolens.report.sections import answer
from iolens.report.source import Source
from iolens.rules import Finding, find
from jobs import Job, KiB, MiB


def found_in(job: Job, folder: Path) -> dict[str, Finding]:
    with Dataset(job.save(folder / "job.darshan")) as data:
        return {f.rule: f for f in find(data)}


def finding(title: str, severity: str, lost: float, gain: tuple[float, float] | None) -> Any:
    return SimpleNamespace(title=title, severity=severity, time_lost=lost, gain=gain)


def verdict(folder: Path, *findings: Any) -> str:
    job = Job(nprocs=1).posix("/a", 0, write={MiB: 10}, write_time=50.0)
    with Dataset(job.save(folder / "job.darshan")) as data:
        return answer.headline(Source(data, 0, findings=list(findings)))[1]


def test_the_verdict_quotes_the_first_cause_s_own_gain(tmp_path: Path) -> None:
    first, other = finding("First", "high", 40.0, (1.0, 2.0)), finding("Other", "medium", 45.0, (30.0, 44.0))
    said = verdict(tmp_path, first, other)
    assert "First cause: first. Acting on it could save 1 s to 2 s." in said
    assert "44 s" not in said and "No rule" not in said


def test_the_verdict_says_when_no_rule_explains_it(tmp_path: Path) -> None:
    assert verdict(tmp_path).endswith("it is a problem. No rule explains it.")
    said = verdict(tmp_path, finding("Little", "medium", 3.0, (1.0, 2.0)))
    assert said.endswith("No rule explains more than 3 s of the time in I/O.")


def test_aggregators_are_not_ranks_with_more_files_of_their_own(tmp_path: Path) -> None:
    """Collective writes of 8 ranks, passed on by rank 0: its POSIX record is no file of its own."""
    job = Job().mpiio("/scratch/a", write={MiB: 800}, kind="coll", write_time=400.0)
    job.posix("/scratch/a", 0, write={4 * MiB: 200}, write_time=40.0)
    assert not {"write_imbalance", "serial_io"} & found_in(job, tmp_path).keys()


@pytest.mark.parametrize(("size", "severity"), [(800, "low"), (600, "low"), (80, "high")])
def test_chunks_that_are_decoded_once_are_of_low_severity(tmp_path: Path, size: int, severity: str) -> None:
    """800 MiB are read of a file of so many MiB: to decode a chunk once is what compression costs."""
    job = Job(nprocs=1, run_time=100)
    values = {"reads": 8000, "bytes_read": 8000 * MiB, "read_time": 60.0}
    job.add("h5d", "/scratch/x.h5:/a", 0, file_rec_id=job.name("/scratch/x.h5"), **values)
    job.posix("/scratch/x.h5", 0, read={MiB: 800}, read_time=5.0, max_byte_read=size * MiB - 1)
    found = found_in(job, tmp_path)["hdf5_library_time"]
    assert found.severity == severity and found.time_lost == pytest.approx(55.0)


def test_a_stream_that_is_opened_for_each_line_is_reopened(tmp_path: Path) -> None:
    """cat(file =, append = TRUE) of R: 2 s of opens and closes, 0.5 s of fstat, and 4 s of flushes, two for each open.

    One of the two a close would make anyway: it costs what the open costs.
    """
    values = {"opens": 5000, "writes": 10_000, "flushes": 10_000, "bytes_written": 30_000}
    job = Job(nprocs=1).add("stdio", "/scratch/log", 0, write_time=4.0, meta_time=2.0, **values)
    rows = [
        operation(0, "flush", 10_000, 4.0),
        operation(0, "open", 5000, 1.2),
        operation(0, "close", 5000, 0.8),
    ]
    looked_up = {**operation(0, "stat", 5000, 0.5), "interface": "posix"}
    job.section("operation", *({**row, "interface": "stdio"} for row in rows), looked_up)
    job.posix("/scratch/log", 0, opens=0, stats=5000, meta_time=0.5)
    found = found_in(job.posix("/scratch/other", 0, read={MiB: 1}), tmp_path)
    assert found["stdio_flushes"].time_lost == pytest.approx(2.0)
    assert found["reopened_files"].time_lost == pytest.approx(2.5 + 2.0, rel=1e-3)


@pytest.mark.parametrize(
    ("flushes", "opens", "cause"), [(3000, 1, "hdf5_flushes"), (200, 1500, "hdf5_metadata")]
)
def test_flushes_of_hdf5_have_their_part_of_its_metadata(
    tmp_path: Path, flushes: int, opens: int, cause: str
) -> None:
    """nc_sync after each record: one open, 3,000 flushes. With an open for each, flushes are a few percent."""
    job = Job(nprocs=1).add("h5f", "/scratch/x.h5", 0, opens=opens, flushes=flushes, meta_time=20.0)
    found = found_in(job.posix("/scratch/x.h5", 0, write={MiB: 1}), tmp_path)
    assert found[cause].time_lost == pytest.approx(20.0, rel=1e-3)
    assert ("hdf5_metadata" in found) == (cause == "hdf5_metadata")


def test_streams_that_are_flushed_once_for_each_open_are_no_flushes(tmp_path: Path) -> None:
    """Their closes would write the same. A stream that stays open is flushed for nothing."""
    for opens, named in ((5000, False), (1, True)):
        values = {"opens": opens, "writes": 5000, "flushes": 5000, "bytes_written": 30_000}
        job = Job(nprocs=1).add("stdio", "/scratch/log", 0, write_time=8.0, meta_time=4.0, **values)
        found = found_in(job.posix("/scratch/other", 0, read={MiB: 1}), tmp_path)
        assert ("stdio_flushes" in found, "reopened_files" in found) == (named, not named)


def test_a_file_of_several_ranks_is_nobodys_own(tmp_path: Path) -> None:
    job = Job().posix("/scratch/a", 0, read={MiB: 800}, read_time=40.0).posix("/scratch/a", 1, read={MiB: 1})
    assert "read_imbalance" not in found_in(job, tmp_path)


def test_folded_records_are_not_one_file(tmp_path: Path) -> None:
    """Thousands of files that had no room are one record: read many times its largest offset, opened often."""
    values = {
        "opens": 5000,
        "read_time": 30.0,
        "write_time": 30.0,
        "meta_time": 30.0,
        "read_end_timestamp": 90.0,
    }
    for name, fires in (("/scratch/<other files>", False), ("/scratch/one", True)):
        raw = {"max_byte_read": 64 * KiB - 1, "max_byte_written": 64 * KiB - 1, "write_start_timestamp": 1.0}
        job = Job(nprocs=1).posix(name, 0, read={64 * KiB: 5000}, write={64 * KiB: 5000}, **values, **raw)
        rules = {"redundant_reads", "reopened_files", "rewritten_data", "rescanned_file", "write_then_read"}
        assert bool(rules & found_in(job, tmp_path).keys()) == fires, name


def test_reads_in_no_order_pass_through_no_file(tmp_path: Path) -> None:
    """20,000 random reads of 1 MiB file: hmmsearch is no advice for them."""
    values = {"max_byte_read": MiB - 1, "read_time": 60.0, "consec_reads": 0}
    job = Job(nprocs=1).posix("/scratch/a", 0, read={4 * KiB: 20000}, seq_reads=10000, **values)
    found = found_in(job, tmp_path)
    assert "rescanned_file" not in found
    assert {"random_reads", "small_random_reads"} & found.keys()
    scan = Job(nprocs=1).posix("/scratch/a", 0, read={4 * KiB: 20000}, seq_reads=19900, **values)
    assert "rescanned_file" in found_in(scan, tmp_path)


def test_seconds_between_the_layers_are_named(tmp_path: Path) -> None:
    """A skewed run: 48 % of MPI-IO's time is not in POSIX."""
    job = Job().mpiio("/scratch/a", write={MiB: 800}, kind="coll", write_time=400.0)
    job.posix("/scratch/a", write={4 * MiB: 200}, write_time=208.0)
    overhead = found_in(job, tmp_path)["mpiio_overhead"]
    assert overhead.values["part"] == 0.48 and overhead.time_lost == 24.0


@pytest.mark.parametrize(("kind", "advised"), [("coll", "MPI_File_set_view"), ("nb", "romio_cb_write")])
def test_collective_calls_are_not_told_to_be_collective(kind: str, advised: str, tmp_path: Path) -> None:
    job = Job().mpiio("/scratch/a", write={MiB: 800}, kind=kind, write_time=400.0)
    job.posix("/scratch/a", write={4 * MiB: 200}, write_time=208.0)
    (one, *_) = found_in(job, tmp_path)["mpiio_overhead"].advice
    assert advised in one.snippet


def test_many_collective_puts_become_requests(tmp_path: Path) -> None:
    job = Job().mpiio("/scratch/a", write={MiB: 800}, kind="coll", write_time=400.0)
    job.posix("/scratch/a", write={4 * MiB: 200}, write_time=208.0)
    job.add("pnetcdf_file", "/scratch/a", creates=8)
    advice = found_in(job, tmp_path)["mpiio_overhead"].advice
    assert "ncmpi_wait_all" in advice[0].snippet
    assert not any("set_view" in one.snippet or "romio_cb" in one.snippet for one in advice)


def test_data_sieving_is_no_reading_by_every_rank(tmp_path: Path) -> None:
    """Each rank wants an eighth, in pieces that lie between the others'."""
    for asked, fires in ((100, False), (800, True)):
        job = Job().posix("/scratch/a", read={MiB: 800}, max_byte_read=100 * MiB - 1, read_time=80.0)
        job.mpiio("/scratch/a", read={MiB: asked}, read_time=80.0)
        assert ("read_by_every_rank" in found_in(job, tmp_path)) == fires


def test_waiting_in_eight_datasets_of_hdf5_is_not_its_metadata(tmp_path: Path) -> None:
    """8 ranks, 8 datasets, each written by one collective call."""
    job = Job().add("h5f", "/scratch/a.h5", opens=8, meta_time=40.0)
    for n in range(8):
        job.add(
            "h5d",
            f"/scratch/a.h5:{n}",
            opens=8,
            writes=8,
            bytes_written=8 * MiB,
            meta_time=8.0,
            write_time=2.0,
        )
    assert "hdf5_metadata" not in found_in(job, tmp_path)


def test_fsync_s_time_is_not_small_writes_(tmp_path: Path) -> None:
    """500 fsyncs among 4,000 small writes: logs count both as writing."""
    job = Job(nprocs=1).posix("/scratch/a", 0, write={KiB: 4000}, fsyncs=500, write_time=60.0)
    found = found_in(job, tmp_path)
    assert found["sync_storm"].time_lost > 50  # type: ignore[operator]
    assert found["tiny_writes" if "tiny_writes" in found else "small_writes"].time_lost < 10  # type: ignore[operator]


def test_reads_at_the_end_of_files_are_not_small(tmp_path: Path) -> None:
    """305,008 of 305,408 reads find the end of the file."""
    job = Job(nprocs=1).posix("/scratch/a", 0, read={0: 305_008, 4 * MiB: 400}, read_time=40.0)
    found = found_in(job, tmp_path)
    assert not {"tiny_reads", "small_reads", "small_random_reads"} & found.keys()


def test_strided_and_single_accesses_are_not_in_order(tmp_path: Path) -> None:
    strided = Job(nprocs=1).posix("/scratch/a", 0, write={MiB: 4000}, consec_writes=0)
    single = Job(nprocs=1)
    for i in range(200):
        single.posix(f"/scratch/{i}", 0, write={MiB: 1}, consec_writes=0, seq_writes=0)
    assert "writes_in_order" not in {**found_in(strided, tmp_path), **found_in(single, tmp_path)}
    assert "writes_in_order" in found_in(Job(nprocs=1).posix("/scratch/a", 0, write={MiB: 4000}), tmp_path)


def test_of_a_file_s_writes_not_more_than_all_follow_another(tmp_path: Path) -> None:
    """Written once, and opened a hundred times to be read: not every open has a first write."""
    values = {"opens": 101, "seq_writes": 239, "consec_writes": 239}
    job = Job(nprocs=1).posix("/scratch/a", 0, write={8 * KiB: 240}, read={8 * KiB: 24_000}, **values)
    assert found_in(job, tmp_path)["writes_in_order"].values["consecutive"] == 1


def test_random_reads_are_called_random(tmp_path: Path) -> None:
    """Half of all jumps go forwards: all of them are random."""
    values = {"seq_reads": 5000, "consec_reads": 0, "read_time": 60.0}
    found = found_in(Job(nprocs=1).posix("/scratch/a", 0, read={MiB: 10_000}, **values), tmp_path)
    assert found["random_reads"].values["n"] == 9999 and "random" in found["random_reads"].title


LOG_HINTS = b"lib_ver=3.4.7\nh=romio_no_indep_rw=true;cb_nodes=4\n"


def collective(nprocs: int) -> Job:
    """Darshan notes by which hints its own log was written: no file of the program had them."""
    job = Job(nprocs=nprocs, metadata=LOG_HINTS)
    return job.mpiio("/scratch/a", write={MiB: 65536}, kind="coll", write_time=nprocs * 40.0)


def test_few_aggregators_of_a_job_whose_nodes_are_not_named(tmp_path: Path) -> None:
    """65,536 ranks are on 256 nodes at least."""
    job = collective(65536)
    for rank in range(4):
        job.posix("/scratch/a", rank, write={MiB: 16384}, write_time=40.0)
    found = found_in(job, tmp_path)["few_aggregators"]
    assert "4 ranks of 65,536" in found.message and "at least 256 nodes" in found.message
    assert found.time_lost == pytest.approx(40 * (1 - 4 / 256))


def test_hints_for_the_log_are_none_of_the_program_s(tmp_path: Path) -> None:
    """Of a shared record without a heat map nobody knows which ranks moved its bytes."""
    job = collective(65536).posix("/scratch/a", write={MiB: 65536}, write_time=65536 * 40.0)
    assert not {"few_aggregators", "many_aggregators", "aggregators_match"} & set(found_in(job, tmp_path))


def test_one_node_has_one_link(tmp_path: Path) -> None:
    """Its ranks share it, however many of them read and write for the others."""
    assert "many_aggregators" not in found_in(aggregating(2, 2, 1), tmp_path)
    assert "many_aggregators" in found_in(aggregating(4, 3, 2), tmp_path)


def process(rank: int, **values: Any) -> dict[str, Any]:
    row = {
        "rank": rank,
        "pid": 100 + rank,
        "host": "n1",
        "exe": "/bin/p",
        "start": 0.0,
        "end": 90.0,
        "io_time": 50.0,
    }
    return {**row, "ended": "exit", "signal": 0, "mpi": "openmpi" if rank >= 0 else "", **values}


def operation(rank: int, name: str, count: int, time: float) -> dict[str, Any]:
    row = {"rank": rank, "interface": "posix", "name": name, "count": count, "errors": 0, "bytes": 0}
    return {**row, "time": time}


def test_a_launcher_s_questions_are_not_the_program_s(tmp_path: Path) -> None:
    """Open MPI's mpirun asks for some thousand files before the ranks begin."""
    for rank, fires in ((-1, False), (0, True)):
        job = Job(nprocs=2).posix("/a", 0, write={MiB: 10}, write_time=5.0)
        job.section("process", process(-1), process(0), process(1))
        job.section("operation", operation(rank, "stat", 9000, 20.0), operation(1, "stat", 10, 0.1))
        assert ("stat_storm" in found_in(job, tmp_path)) == fires, rank


def test_one_rank_reads_for_all_and_broadcasts(tmp_path: Path) -> None:
    """As read_by_every_rank advises it."""
    job = Job().posix("/scratch/in", 0, read={4 * MiB: 100}, read_time=40.0)
    assert not {"serial_io", "read_imbalance"} & found_in(job, tmp_path).keys()
    job = Job().posix("/scratch/in", 0, read={4 * MiB: 1000}, read_time=40.0)
    assert "serial_io" in found_in(job, tmp_path)


def test_opens_cost_no_more_than_they_were_timed_at(tmp_path: Path) -> None:
    """A state that is replaced by a rename 5,000 times: the metadata time is the renames'."""
    job = Job(nprocs=1).posix("/scratch/state.new", 0, opens=5000, write={100: 5000}, meta_time=60.0)
    job.section("operation", operation(0, "open", 5000, 2.0), operation(0, "rename", 5000, 58.0))
    found = found_in(job, tmp_path)
    assert found["reopened_files"].time_lost == 2.0 and found["directory_churn"].time_lost == 58.0


def test_waiting_in_the_close_hides_no_imbalance(tmp_path: Path) -> None:
    """Rank 0 writes 450 MiB of 800 by independent calls; the others wait for it in MPI_File_close."""
    moved = {"slowest_rank_bytes": 50 * MiB, "fastest_rank_bytes": 450 * MiB, "slowest_rank_time": 60.0}
    job = Job().mpiio("/scratch/a", write={MiB: 800}, write_time=80.0, meta_time=390.0, **moved)
    found = found_in(job, tmp_path)["shared_data_imbalance"]
    assert found.time_lost == 80.0 * (450 / 800 - 1 / 8)


def test_who_waits_in_collective_calls_is_no_straggler(tmp_path: Path) -> None:
    values = {"write_time": 80.0, "slowest_rank_time": 30.0, "slowest_rank": 5}
    for kind, fires in (("coll", False), ("indep", True)):
        job = Job().mpiio("/scratch/a", write={MiB: 800}, kind=kind, **values)
        assert ("stragglers" in found_in(job, tmp_path)) == fires, kind


def test_a_table_read_back_many_times_is_read_too_often(tmp_path: Path) -> None:
    """Not: written and read back. One pass is needed."""
    values = {"max_byte_read": 10 * MiB - 1, "write_start_timestamp": 1.0, "read_end_timestamp": 90.0}
    job = Job(nprocs=1).posix(
        "/a", 0, read={MiB: 300}, write={MiB: 10}, read_time=60.0, write_time=1.0, **values
    )
    assert "write_then_read" not in found_in(job, tmp_path) and "rescanned_file" in found_in(job, tmp_path)


def test_python_s_modules_are_not_the_program_s_small_files(tmp_path: Path) -> None:
    job = Job(nprocs=1)
    for i in range(1200):
        job.posix(f"/env/m{i}.pyc", 0, read={KiB: 2}, meta_time=0.02)
    assert "many_small_files" not in found_in(job, tmp_path)


def test_a_file_read_whole_each_time_is_read_again(tmp_path: Path) -> None:
    """In one read and an empty one: the first of each open goes back to the start and is no jump."""
    values = {"opens": 100, "seq_reads": 100, "consec_reads": 100, "max_byte_read": 2 * MiB - 1}
    job = Job(nprocs=1).posix("/scratch/a", 0, read={2 * MiB: 100, 0: 100}, read_time=40.0, **values)
    assert found_in(job, tmp_path)["rescanned_file"].values["factor"] == 100
