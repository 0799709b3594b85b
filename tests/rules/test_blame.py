"""A finding blames what it is true of: programs and jobs that were blamed for something else, each with its twin."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cases import operation, process
from iolens.metrics import Dataset
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
    with Dataset(run.log) as data:
        shown = data.query("SELECT final, shown FROM written_as").fetchall()
    expected = (str(new), f"{new}, written as ck.tmp")
    assert shown == ([expected] if how == "renamed" else [])


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
    assert "jump about in 1 file;" in one.message
    assert one.evidence[-1].title == "Where they are opened first"
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
    assert one.message.startswith("40,000 files hold 100 B each")
    assert one.time_lost == pytest.approx(40, rel=0.01) and one.severity == "high"
