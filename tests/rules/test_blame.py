"""A finding blames what it is true of: programs and jobs that were blamed for something else, each with its twin."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import operation, process
from iolens.metrics import Dataset
from iolens.report import build
from iolens.report.document import Table
from iolens.rules import Finding, find
from jobs import Job, KiB, MiB
from observed import Observe


def found(log: Path) -> dict[str, Finding]:
    with Dataset(log) as data:
        return {f.rule: f for f in find(data)}


def of(job: Job, folder: Path) -> dict[str, Finding]:
    return found(job.save(folder / "job.darshan"))


@pytest.mark.parametrize("kind", ["pipe", "file"])
def test_waiting_in_a_named_pipe_is_no_time_of_storage(observe: Observe, tmp_path: Path, kind: str) -> None:
    """Both ends wait: one in its open, the other in its reads."""
    place = tmp_path / "p"
    make, wait = ("mkfifo", "sleep 1") if kind == "pipe" else ("touch", "true")
    subprocess.run([make, place], check=True)
    (tmp_path / "job.sh").write_text(
        f"( {wait}; exec 3> {place}; {wait}; echo hello >&3 ) & while read x; do :; done < {place}; wait\n"
    )
    run = observe(["bash", tmp_path / "job.sh"])
    rules = found(run.log)
    assert "metadata_time" not in rules or rules["metadata_time"].severity == "low"
    assert "waits_in_file" not in rules
    assert (str(place) in run.files("POSIX")) == (kind == "file")
    opens = [row for row in run.sections["operation"] if (row["interface"], row["name"]) == ("posix", "open")]
    assert sum(float(row["time"]) for row in opens) < 0.5
    if kind == "pipe":
        assert run.class_total("opens", "pipe") >= 2
        assert run.class_total("bytes_written", "pipe") >= len("hello\n")


def opens(*waits: tuple[float, float], answered: float = 0.0, size: int = 6) -> Job:
    """A rank each, of a foreign log; answered: when another file is opened at once."""
    job = Job(nprocs=4, run_time=400)
    for rank, (began, ended) in enumerate(waits):
        times = {"open_start_timestamp": began, "open_end_timestamp": ended, "meta_time": ended - began}
        job.posix(f"/scratch/f{rank}", rank, read={size: 1}, **times)
    if answered:
        job.posix("/scratch/other", 3, read={6: 1}, open_end_timestamp=answered, meta_time=0.01)
    return job


@pytest.mark.parametrize(
    ("job", "waits"),
    [
        (opens((1, 300), (2, 300.2), answered=90), True),
        (opens((1, 30), (2, 30.2), (1, 30.4), answered=20), False),  # seconds: a slow metadata server
        (opens((1, 200), (2, 290), (3, 380), answered=90), False),  # each for itself
        (opens((1, 300), (2, 300.2), (3, 300.4)), False),  # a server that is away: none is opened meanwhile
        (opens((1, 300), (2, 300.2), answered=90, size=4 << 20), False),  # data
    ],
    ids=["pipes", "seconds", "apart", "no answer", "data"],
)
def test_a_slow_metadata_server_is_no_pipe(tmp_path: Path, job: Job, waits: bool) -> None:
    rules = of(job, tmp_path)
    assert ("waits_in_file" in rules, "metadata_time" in rules) == (waits, not waits)


@pytest.mark.parametrize(("size", "level"), [(6, "good"), (4 << 20, "problem")], ids=["pipes", "data"])
def test_waiting_in_pipes_is_no_time_in_io(
    tmp_path: Path, run_iolens: Callable[..., Any], size: int, level: str
) -> None:
    """Of a foreign log, which does not tell pipes from files: 299 of 400 s in opens that end together."""
    job = opens((1, 300), (2, 300.2), answered=90, size=size)
    log = job.save(tmp_path / "job.darshan")
    found = json.loads(run_iolens(["info", "--json", log]).stdout)["verdict"]
    text = json.loads(run_iolens(["report", "--json", log]).stdout)["jobs"][0]
    assert found["level"] == text["verdict"] == level
    words = "t is waiting, 75 % of the run, for the other ends of named pipes"
    assert (f"; i{words}" in found["text"], f" I{words}." in text["headline"]) == (level == "good",) * 2


def test_workers_that_wait_in_pipes_are_named() -> None:
    """PyDarshan's example of COMPSs: ten pipes; in the opens of eight, threads wait for minutes until the job ends."""
    darshan = pytest.importorskip("darshan")
    rules = found(Path(darshan.__file__).parent / "examples" / "example_logs" / "dxt.darshan")
    one = rules["waits_in_file"]
    assert (one.values["files"], one.values["opens"]) == (8, 20) and "metadata_time" not in rules
    assert all("/pipe_" in row[0] for row in one.evidence[0].rows)


@pytest.mark.parametrize("how", ["renamed", "created again", "written over"])
def test_a_new_file_is_not_written_over(observe: Observe, tmp_path: Path, how: str) -> None:
    """A new one under a name that is then given up, a new one under the same name, and one that is written in place."""
    old, new = tmp_path / "ck.tmp", tmp_path / "ck.bin"
    written = old if how == "renamed" else new
    (tmp_path / "job.py").write_text(f"""
import os
f = open({str(written)!r}, "wb", buffering=0)
for step in range(5):
    if {how != "written over"} and step: f = open({str(written)!r}, "wb", buffering=0)
    f.seek(0)
    for i in range(4): f.write(bytes(1000000))
    if {how == "renamed"}: os.replace({str(old)!r}, {str(new)!r})
    with open({str(new)!r}, "rb", buffering=0) as g:
        while g.read(1000000): pass
""")
    run = observe(["/usr/bin/python3", tmp_path / "job.py"])
    rules = found(run.log)
    blamed = {"rewritten_data", "rescanned_file"} & rules.keys()
    assert blamed == ({"rewritten_data", "rescanned_file"} if how == "written over" else set())
    if how != "written over":
        row = rules["write_then_read"].evidence[0].rows[0]
        assert row[:4] == (str(new), str(written), 20_000_000, 20_000_000)
    listed = subprocess.run([run.iolens, "files", run.log], check=True, capture_output=True, text=True).stdout
    assert (f"{new}, written as ck.tmp\n" in listed) == (how == "renamed")
    told = subprocess.run(
        [run.iolens, "files", "--json", run.log], check=True, capture_output=True, text=True
    )
    names = {f["name"]: f.get("shown") for f in json.loads(told.stdout)["files"]}
    assert names.get(str(old)) == (f"{new}, written as ck.tmp" if how == "renamed" else None)
    with Dataset(run.log) as data:
        shown = data.query("SELECT final, shown FROM written_as").fetchall()
    expected = (str(new), f"{new}, written as ck.tmp")
    assert shown == ([expected] if how == "renamed" else [])


def test_evidence_and_report_have_the_final_name(observe: Observe, tmp_path: Path) -> None:
    """Written in pieces of 100 bytes under a temporary name: what is named is the file that is there afterwards."""
    new = tmp_path / "ck.bin"
    (tmp_path / "job.py").write_text(f"""
import os
with open({str(new)!r} + ".tmp", "wb", buffering=0) as f:
    for i in range(200000): f.write(bytes(100))
os.rename({str(new)!r} + ".tmp", {str(new)!r})
""")
    log = observe(["/usr/bin/python3", tmp_path / "job.py"]).log
    with Dataset(log) as data:
        rules = find(data, thresholds={"severity.seconds": 0.005})
        report = build(data, rules)
    (tiny,) = (f for f in rules if f.rule == "tiny_writes")
    shown = f"{new}, written as ck.bin.tmp"
    assert shown in [row[0] for row in tiny.evidence[0].rows]
    assert not any(f"{new}.tmp" in str(row) for one in tiny.evidence for row in one.rows)
    tables = [
        block for section in report.jobs[0].sections for block in section.blocks if isinstance(block, Table)
    ]
    named = {
        str(row[t.columns.index(c)]) for t in tables for c in t.columns if c.name == "name" for row in t.rows
    }
    assert shown in named and f"{new}.tmp" not in named


def test_a_log_whose_older_files_are_renamed_keeps_its_name(observe: Observe, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(f"""
import os
os.chdir({str(tmp_path)!r})
for step in range(3):
    with open("log", "ab", buffering=0) as f: f.write(bytes(1000))
    if step < 2: os.rename("log", f"log.{{step}}")
""")
    run = observe(["/usr/bin/python3", tmp_path / "job.py"])
    listed = subprocess.run([run.iolens, "files", run.log], check=True, capture_output=True, text=True).stdout
    assert "written as" not in listed and f"{tmp_path}/log\n" in listed


@pytest.mark.parametrize("forced", [True, False])
def test_writes_with_o_dsync_are_forced(observe: Observe, tmp_path: Path, forced: bool) -> None:
    command = ["dd", "if=/dev/zero", f"of={tmp_path}/out", "bs=4096", "count=150", "status=none"]
    run = observe([*command, *(["oflag=dsync"] if forced else [])])
    rows = [row for row in run.sections["operation"] if row["name"] == "forced_write"]
    assert [(row["count"], row["bytes"]) for row in rows] == ([("150", str(150 * 4096))] if forced else [])
    assert forced or "sync_storm" not in found(run.log)


def test_time_of_forced_writes_is_that_of_forcing(tmp_path: Path) -> None:
    def job(times: float) -> Job:
        sizes = {"write": {4096: 20_000}, "write_time": 10.0, "max_byte_written": 4095, "seq_writes": 0}
        return (
            Job()
            .posix("/scratch/a", 0, **sizes)
            .section("operation", operation("forced_write", 20_000, times))
        )

    forced, plain = of(job(9.9), tmp_path), of(job(0.0), tmp_path)
    assert forced["sync_storm"].time_lost == pytest.approx(9.9)
    assert "by O_SYNC or O_DSYNC" in forced["sync_storm"].message.replace("(", "by ")
    assert forced["rewritten_data"].time_lost == pytest.approx(0.0999, rel=0.01)
    assert (plain["rewritten_data"].time_lost or 0) > 9
    small = {"backward_writes"}
    assert small & plain.keys()
    assert all((forced[rule].time_lost or 0) < 0.2 for rule in small & forced.keys())


def test_the_place_is_that_of_the_file_in_which_reads_jump(observe: Observe, tmp_path: Path) -> None:
    source, program = tmp_path / "p.c", tmp_path / "p"
    source.write_text("""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static char b[4096];
__attribute__((noinline)) void settings(int i)
{
	char name[20];
	sprintf(name, "s%d", i);
	int fd = open(name, O_RDWR | O_CREAT, 0600);
	ftruncate(fd, 400000), pread(fd, b, 100, 300000), pread(fd, b, 100, 100000), pread(fd, b, 100, 200000), close(fd);
}
__attribute__((noinline)) void large(void)
{
	int fd = open("large", O_RDWR | O_CREAT, 0600);
	ftruncate(fd, 4000L * 4096);
	for (int i = 0; i < 4000; i++)
		pread(fd, b, 4096, random() % 4000 * 4096L);
	close(fd);
}
int main(int n, char **words)
{
	chdir(words[1]);
	for (int i = 0; i < 11; i++)
		settings(i);
	large();
}
""")
    subprocess.run(["cc", "-w", "-g", "-O1", "-o", program, source], check=True)
    one = found(observe([program, tmp_path]).log)["small_random_reads"]
    assert "jump around in 1 file;" in one.message
    assert one.evidence[-1].title == "Code that opens these files"
    assert one.evidence[-1].rows[0][0].startswith("large (p.c:16)") and one.evidence[-1].rows[0][1] == 1


def test_reads_of_0_bytes_are_not_small(tmp_path: Path) -> None:
    sizes = {"access": [64 * KiB, 0, 0, 0], "access_count": [400, 0, 0, 0], "read_time": 30.0}
    ends = Job().posix("/scratch/a", 0, read={64 * KiB: 400, 0: 30_000}, **sizes)
    assert "tiny_reads" not in of(ends, tmp_path)
    sizes |= {"access": [64 * KiB, 10, 0, 0], "access_count": [400, 30_000, 0, 0]}
    assert "tiny_reads" in of(
        Job().posix("/scratch/a", 0, read={64 * KiB: 400, 10: 30_000}, **sizes), tmp_path
    )


def test_fsync_is_not_writing_over(tmp_path: Path) -> None:
    def job(forced: float) -> Job:
        made = Job().posix(
            "/scratch/a", 0, write={MiB: 100}, write_time=10.0, max_byte_written=MiB - 1, fsyncs=100
        )
        return made.section("operation", operation("fsync", 100, forced))

    assert of(job(9.9), tmp_path)["rewritten_data"].time_lost == pytest.approx(0.099)
    assert of(job(0.0), tmp_path)["rewritten_data"].time_lost == pytest.approx(9.9)


def test_dup_is_no_open(tmp_path: Path) -> None:
    opened = {"opens": 400, "meta_time": 40.0, "write": {100: 400}}
    assert "reopened_files" in of(Job().posix("/scratch/a", 0, **opened), tmp_path)
    assert "reopened_files" not in of(Job().posix("/scratch/a", 0, dups=399, **opened), tmp_path)


def test_both_ends_of_a_gain_are_cut_with_the_time_lost(tmp_path: Path) -> None:
    """8 files of one process at a time, 40 s each: the run took 100 s, and so did I/O at most."""
    job = Job()
    for n in range(8):
        job.posix(f"/scratch/{n}", 0, opens=1000, meta_time=40.0, write={100: 1000})
    one = of(job, tmp_path)["reopened_files"]
    assert one.time_lost is not None and one.time_lost <= 100 and one.gain is not None
    assert one.gain == pytest.approx((0.8 * one.time_lost, one.time_lost))


def test_chunks_of_8_bytes_are_small_however_little_they_hold(tmp_path: Path) -> None:
    def job(chunks: int) -> Job:
        values = {
            "chunk_size": [0, 0, 0, 0, 1],
            "datatype_size": 8,
            "bytes_written": 8 * chunks,
            "writes": chunks,
        }
        return Job(nprocs=1).add("h5d", "/scratch/x.h5:a", 0, write_time=10.0, **values)

    assert of(job(240_000), tmp_path)["hdf5_small_chunks"].time_lost == pytest.approx(10, rel=0.01)
    assert "hdf5_small_chunks" not in of(job(900), tmp_path)


def test_python_files_that_a_program_writes_are_no_imports(tmp_path: Path) -> None:
    def job(**values: object) -> Job:
        made = Job(nprocs=1)
        for n in range(1200):
            made.posix(f"/scratch/m{n}.py", 0, meta_time=0.01, **values)
        return made

    written, imported = of(job(write={KiB: 1}), tmp_path), of(job(read={KiB: 1}), tmp_path)
    assert "python_imports" not in written and "many_small_files" in written
    assert "python_imports" in imported and "many_small_files" not in imported


def test_files_without_a_record_are_counted(tmp_path: Path) -> None:
    job = Job(nprocs=1).posix("/scratch/<other files>", 0, read={100: 30_000}, opens=30_000, meta_time=30.0)
    job.section("process", process(0, mpi="", io_time=40.0))
    for n in range(10_000):
        job.posix(f"/scratch/{n}", 0, read={100: 1}, meta_time=0.001)
    job.section(
        "folded",
        {"rank": 0, "opens": 30_000, "files": 30_000, "budget": 4 * MiB, "sufficient_budget": 16 * MiB},
    )
    one = of(job, tmp_path)["many_small_files"]
    assert one.message.startswith("40,000 files move 100 B each")
    assert one.time_lost == pytest.approx(40, rel=0.01) and one.severity == "high"
    rows = [(directory, files, read) for directory, _, files, read, *_ in one.evidence[0].rows]
    assert rows == [("/scratch/<other files>", None, 3_000_000), ("/scratch", 10_000, 1_000_000)]


def test_opens_that_fail_take_no_longer_than_a_stat(tmp_path: Path) -> None:
    """git clone: 5,000 opens find nothing, 5,000 create a file, which takes 300 us."""

    def lost(*stats: dict[str, object]) -> float:
        job = Job(nprocs=1).section("process", process(0, mpi="", io_time=10.0))
        job.section("operation", operation("open", 10_000, 2.0, errors=5000), *stats)
        return of(job, tmp_path)["failed_lookups"].time_lost or 0

    assert lost(operation("stat", 1000, 0.02)) == pytest.approx(0.1)
    assert lost(operation("stat", 1000, 5.0)) == pytest.approx(1.0)
    assert lost() == pytest.approx(1.0)


def test_getc_of_a_program_that_computes_is_of_no_weight(tmp_path: Path) -> None:
    """shuf: 108 million characters and 1.2 million lines, in a run of 6 s."""
    job = Job(nprocs=1, run_time=6).section("process", process(0, mpi="", end=6.0, io_time=4.0))
    times = {"read_time": 2.0, "write_time": 2.0}
    moved = {
        "reads": 108_000_000,
        "bytes_read": 108_000_000,
        "writes": 1_200_000,
        "bytes_written": 108_000_000,
        "max_byte_read": 107_999_999,
    }
    one = of(job.add("stdio", "/data/log", 0, **moved, **times), tmp_path)["small_stdio"]
    assert one.time_lost == pytest.approx(108e6 * 5e-9 + 1.2e6 * 25e-9)
    job = Job(nprocs=1, run_time=6).section("process", process(0, mpi="", end=6.0, io_time=4.0))
    moved = {"writes": 100_000_000, "bytes_written": 1_600_000_000, "write_time": 4.0}
    one = of(job.add("stdio", "/data/log", 0, **moved), tmp_path)["small_stdio"]
    assert one.time_lost == pytest.approx(2.5) and one.severity == "medium"


def test_what_the_first_cause_costs_many_times_over_is_low(tmp_path: Path) -> None:
    """rsync --fsync: the files are small, and what takes the time is fsync."""
    job = Job(nprocs=1).posix("/s/log", 0, write={100: 5000}, fsyncs=5000, write_time=70.0)
    for n in range(1100):
        job.posix(f"/s/small{n}", 0, read={100: 1}, meta_time=0.005)
    job.section("operation", operation("fsync", 5000, 70.0), operation("open", 1100, 5.5))
    rules = of(job, tmp_path)
    assert rules["many_small_files"].time_lost == pytest.approx(5.5, rel=0.1)
    assert rules["many_small_files"].severity == "low"


def test_buffering_costs_no_more_than_the_processor_did(tmp_path: Path) -> None:
    """openssl enc on a busy node: 6.8 s in calls, 1.1 s of the processor in all."""
    got = {"reads": 38_400, "bytes_read": 314_572_800, "max_byte_read": 314_572_799, "read_time": 2.6}
    put = {"writes": 76_800, "bytes_written": 314_572_800, "max_byte_written": 314_572_799, "write_time": 4.2}
    job = Job(nprocs=1, run_time=10).add("stdio", "/s/in", 0, **got).add("stdio", "/s/out", 0, **put)
    used = {"user_time": 0.6, "system_time": 0.5}
    one = of(job.section("process", process(0, mpi="", end=10.0, io_time=6.8, **used)), tmp_path)[
        "stdio_share"
    ]
    assert one.time_lost == pytest.approx(1.1)


@pytest.mark.parametrize(("time", "lost"), [(0.5, 0.0), (1.8, 1.0 / 1.125), (10.8, 10.0 / 1.125)])
def test_data_that_stdio_copies_in_memory_wait_for_nothing(tmp_path: Path, time: float, lost: float) -> None:
    """openssl enc: 800 MB in pieces of 8 KiB, at 1 GB/s."""
    job = Job(nprocs=1, run_time=12).section("process", process(0, mpi="", end=12.0, io_time=time))
    job.add(
        "stdio",
        "/data/log",
        0,
        reads=97_656,
        bytes_read=799_997_952,
        read_time=time,
        max_byte_read=799_997_951,
    )
    assert of(job, tmp_path)["stdio_share"].time_lost == pytest.approx(lost, rel=0.01, abs=0.001)


def test_fsync_of_files_that_differ_is_not_their_writing(tmp_path: Path) -> None:
    """rsync --fsync: a call takes 1 to 9 ms, on average 5; files above it have nothing else left."""
    job = Job(nprocs=1, run_time=12).section("process", process(0, mpi="", end=12.0, io_time=10.6))
    for n in range(2000):
        job.posix(
            f"/data/{n}", 0, write={8 * KiB: 1}, fsyncs=1, write_time=0.001 * (1 + n % 9), meta_time=1e-4
        )
    waited = sum(0.001 * (1 + n % 9) for n in range(2000))
    job.section("operation", operation("fsync", 2000, waited))
    rules = of(job, tmp_path)
    assert rules["sync_storm"].time_lost == pytest.approx(waited)
    assert rules["many_small_files"].time_lost == pytest.approx(0.2, rel=0.01)


def test_locks_that_no_other_process_holds_are_not_waited_for(tmp_path: Path) -> None:
    """php: 100,000 locks of a file of its own take 0.9 s; the twin's other process holds them for as long."""

    def job(*ranks: int) -> Job:
        made = Job(nprocs=2, run_time=20).posix("/s/log", 0, opens=1, meta_time=10.0)
        values = {"file": "/s/log", "shared": 0, "exclusive": 50_000, "released": 50_000, "refused": 0}
        return made.section(
            "locks", *({"rank": rank, **values, "wait_time": 2.5, "longest": 0.1} for rank in ranks)
        )

    assert "lock_waits" not in of(job(0), tmp_path)
    assert of(job(0, 1), tmp_path)["lock_waits"].time_lost == pytest.approx(2.0)


def test_small_files_written_in_pieces_share_no_blocks(tmp_path: Path) -> None:
    """tar x: pieces of 10 KiB follow each other. Stripes are locked, and records that jump touch more blocks."""

    def job(block: int, consecutive: int) -> Job:
        made = Job(nprocs=1, run_time=10)
        pieces = {"file_alignment": block, "file_not_aligned": 1500, "consec_writes": consecutive}
        return made.posix("/data/a", 0, write={10 * KiB: 2000}, write_time=9.0, seq_writes=1999, **pieces)

    assert "unaligned_accesses" not in of(job(4096, 1999), tmp_path)
    assert "unaligned_accesses" in of(job(4096, 1200), tmp_path)
    assert "unaligned_accesses" in of(job(MiB, 1999), tmp_path)


def test_python_files_that_no_python_reads_are_data(tmp_path: Path) -> None:
    def job(exe: str) -> Job:
        made = Job(nprocs=1, run_time=30)
        made.section("process", process(0, mpi="", exe=exe, io_time=20.0))
        for n in range(1200):
            made.posix(f"/data/m{n}.py", 0, read={KiB: 1}, meta_time=0.01)
        return made

    packed, imported = of(job("/usr/bin/tar"), tmp_path), of(job("/usr/bin/python3.11"), tmp_path)
    assert "python_imports" not in packed and "many_small_files" in packed
    assert packed["many_small_files"].evidence[0].rows[0][:3] == ("/data", "py", 1200)
    assert "python_imports" in imported and "many_small_files" not in imported
    assert "python_imports" in of(job("/abcdefg2/hijklm3n"), tmp_path), "a pseudonym may be Python's"


@pytest.mark.parametrize(
    ("readers", "imports"), [([1], False), ([0], True), ([0, 1], True), ([-1], True), ([2], True)]
)
def test_python_files_only_tar_reads_are_data(tmp_path: Path, readers: list[int], imports: bool) -> None:
    """A job runs Python (process 0), then packs sources with tar (1), which sh became. 2 is unknown, -1 all of them."""
    job = Job(nprocs=3, run_time=30)
    exes = ((0, "/usr/bin/python3.11"), (1, "/usr/bin/dash"), (1, "/usr/bin/tar"))
    job.section("process", *(process(rank, mpi="", exe=exe, io_time=6.0) for rank, exe in exes))
    for n in range(1200 * len(readers)):
        job.posix(f"/data/m{n // len(readers)}.py", readers[n % len(readers)], read={KiB: 1}, meta_time=0.01)
    found = of(job, tmp_path)
    assert ("python_imports" in found, "many_small_files" in found) == (imports, not imports)


def test_lines_appended_by_an_open_each_leave_no_gaps(tmp_path: Path) -> None:
    """The first write of an open lies behind the file's start, wherever the last open's ended."""

    def job(opens: int) -> Job:
        values = {
            "consec_writes": 0,
            "seq_writes": 99_999,
            "opens": opens,
            "write_time": 3.0,
            "meta_time": 8.0,
        }
        return Job(nprocs=1, run_time=20).posix("/data/log", 0, write={11: 100_000}, **values)

    assert "strided_writes" not in of(job(100_000), tmp_path)
    assert "strided_writes" in of(job(1), tmp_path)


@pytest.mark.parametrize(
    ("way", "in_order", "waits", "lost"),
    [
        ("read", True, 50, 0.04),
        ("read", True, 20_000, 7.53),
        ("read", False, 50, 0.04),
        ("write", True, 50, 0.04),
        ("write", False, 50, 7.53),
    ],
)
def test_calls_that_do_not_wait_are_not_slow_because_they_are_small(
    tmp_path: Path, way: str, in_order: bool, waits: int, lost: float
) -> None:
    """wc of a cold file: 16 KiB at 40 MB/s, of which 50 reads of 20,000 wait. With O_DIRECT each one waits.

    Writes out of order are slow later.
    """
    times = {"io_time": 8.0, "read_time": 8.0, "write_time": 0.0, "meta_time": 0.0}
    used = {"user_time": 1.0, "system_time": 0.5, "major_faults": 0, "storage_read": 0, "seen_read": 0}
    row = {"rank": 0, "pid": 1, "start": 0.0, "end": 10.0, "exe": "/usr/bin/wc", "mpi": "", "ended": "exit"}
    calls: Any = {way: {16 * KiB: 20_000}, f"{way}_time": 8.0, f"consec_{way}s": 20_000 if in_order else 0}
    job = Job(nprocs=1, run_time=10).posix("/scratch/a", 0, **calls)
    job.section("process", {**row, **times, **used, "waits": waits})
    with Dataset(job.save(tmp_path / "job.darshan")) as data:
        (row,) = (row for row in data.metric("posix_costs") if not row["shared"])
        severities = {f.rule: f.severity for f in find(data)}
    assert row[f"{way}_small_1m_time"] == pytest.approx(lost, rel=0.01)
    assert not in_order or severities[f"small_{way}s"] == {0.04: "low", 7.53: "high"}[lost]


@pytest.mark.parametrize("files", [1200, 900])
def test_small_files_that_are_read_through_stdio_are_files(tmp_path: Path, files: int) -> None:
    """md5sum of a tree: each costs an fopen, 1 ms, and a read that moves 6 KB in 2 ms."""
    job = Job(nprocs=1, run_time=10)
    for n in range(files):
        job.add("stdio", f"/d/{n}", 0, opens=1, reads=2, bytes_read=6000, read_time=0.002, meta_time=0.001)
    rules = of(job, tmp_path)
    assert ("many_small_files" in rules) == (files > 1000)
    assert ("stdio_share" in rules) == (files < 1000)
    if files > 1000:
        assert rules["many_small_files"].time_lost == pytest.approx(
            1.2 + 2.4 * 262144 / (262144 + 6000), rel=0.01
        )
        assert rules["many_small_files"].evidence[0].rows[0][2] == files


@pytest.mark.parametrize(("read_until", "blamed"), [(5.5, False), (9.0, True)])
def test_what_a_new_file_replaces_is_not_what_was_written(
    tmp_path: Path, read_until: float, blamed: bool
) -> None:
    """rsync: it reads the old file while it writes the new one under another name, which then gets that name."""
    job = Job(nprocs=1, run_time=10)
    job.posix(
        *("/d/.big.tmp", 0, None, {MiB: 400}),
        **{"write_time": 2.0, "write_start_timestamp": 1.0, "write_end_timestamp": 6.0, "rename_sources": 1},
    )
    job.posix(
        *("/d/big", 0, {MiB: 400}),
        **{
            "read_time": 3.0,
            "read_start_timestamp": 0.5,
            "read_end_timestamp": read_until,
            "rename_targets": 1,
        },
        renamed_from=job.name("/d/.big.tmp"),
    )
    assert ("write_then_read" in of(job, tmp_path)) == blamed


@pytest.mark.parametrize("name", ["/<other files>", "/scratch/a"])
def test_files_that_share_a_record_do_not_alternate(tmp_path: Path, name: str) -> None:
    """A copy of many files: each is read or written alone."""
    job = Job(nprocs=1, run_time=10)
    job.posix(name, 0, read={KiB: 4000}, write={KiB: 4000}, rw_switches=7999, write_time=4.0)
    assert ("read_write_switches" in of(job, tmp_path)) == (name == "/scratch/a")


@pytest.mark.parametrize(("other", "named"), [("msync", False), ("sync", False), ("rename", True)])
def test_forcing_data_to_storage_is_no_metadata(tmp_path: Path, other: str, named: bool) -> None:
    """No file's record has the time of msync and sync."""
    job = Job(nprocs=1).posix("/scratch/a", 0, opens=90, meta_time=40.0, write={MiB: 10}, write_time=1.0)
    job.section("operation", operation("open", 90, 30.0), operation(other, 50, 20.0))
    message = of(job, tmp_path)["metadata_time"].message
    assert "90 open calls" in message and (f"50 {other} calls" in message) == named


@pytest.mark.parametrize(
    ("source", "code", "made", "data"), [(1.0, 2.0, 0, True), (2.0, 1.0, 0, False), (1.0, 2.0, 1, False)]
)
def test_modules_whose_source_is_read_before_their_byte_code_are_data(
    tmp_path: Path, source: float, code: float, made: int, data: bool
) -> None:
    """
    Python's zipfile packs a copy of the library.

    An import of stale byte code opens that first; where there is none, the first process makes it for the others.
    """
    job = Job(nprocs=1, exe="/usr/bin/python3.11")
    for n in range(700):
        seconds = {"read_time": 0.01, "opens": 1}
        job.posix(f"/data/m{n}.py", 0, read={8000: 1}, open_start_timestamp=source + n / 1000, **seconds)
        name = f"/data/__pycache__/m{n}.cpython-311.pyc"
        start = code + n / 1000
        job.posix(name, 0, read={8000: 1}, open_start_timestamp=start, rename_targets=made, **seconds)
    for n in range(150):
        job.posix(f"/usr/lib/python3.11/__pycache__/a{n}.cpython-311.pyc", 0, read={8000: 1})
    found = of(job, tmp_path)
    assert ("python_imports" in found) == (not data)
    assert ("many_small_files" in found) == data


@pytest.mark.parametrize(("seconds", "severity"), [(0.002, "medium"), (0.0002, None)])
def test_few_modules_matter_where_they_take_long(
    tmp_path: Path, seconds: float, severity: str | None
) -> None:
    """Python's standard library from cold storage: 200 modules, 2 ms each, of 3 s."""
    job = Job(nprocs=1, run_time=3, exe="/usr/bin/python3")
    for n in range(200):
        job.posix(f"/usr/lib/python3.11/__pycache__/m{n}.pyc", 0, read={8000: 1}, read_time=seconds)
    found = of(job, tmp_path)
    assert ("python_imports" in found) == bool(severity)
    assert severity is None or found["python_imports"].severity == severity
