"""The cases that iolens is made for, small: the first finding names the cause, and its advice makes it go away."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from iolens.metrics import Dataset
from iolens.rules import Finding, find
from jobs import Job, MiB
from observed import Observe

SEEDS = Path(__file__).parent / "seeds"

# What the stand-ins lose is little: whatever it is, it is to be ranked by its share.
THRESHOLDS = {"severity.seconds": 0.0}


def judged(log: Path) -> list[Finding]:
    with Dataset(log) as data:
        return [f for f in find(data, thresholds=THRESHOLDS) if f.severity in ("high", "medium", "low")]


def compiled(source: str, folder: Path, compiler: str = "cc") -> Path:
    program = folder / source.removesuffix(".c")
    subprocess.run([compiler, "-O1", "-D_GNU_SOURCE", "-o", program, SEEDS / source], check=True)
    return program


@pytest.fixture
def habit(observe: Observe, tmp_path: Path):  # type: ignore[no-untyped-def]
    """What is found in a habit of habits.c."""
    program = compiled("habits.c", tmp_path)

    def run(what: str) -> list[Finding]:
        place = tmp_path / what
        place.mkdir()
        (place / "database0").write_bytes(bytes(4 * MiB))
        seen = observe([program, what, place])
        assert seen.done.returncode == 0
        return judged(seen.log)

    return run


def test_a_log_opened_for_each_line(habit) -> None:  # type: ignore[no-untyped-def]
    first = habit("reopen")[0]
    assert (first.rule, first.values["most"]) == ("reopened_files", 20_000)
    assert "keep it open" in first.advice[0].text
    assert "reopened_files" not in {f.rule for f in habit("keep_open")}


def test_a_metadata_storm(habit) -> None:  # type: ignore[no-untyped-def]
    first = habit("storm")[0]
    assert (first.rule, first.values["files"]) == ("many_small_files", 4000)
    assert "one container" in first.advice[0].text
    assert "many_small_files" not in {f.rule for f in habit("keep_open")}


def test_redundant_reads(habit) -> None:  # type: ignore[no-untyped-def]
    first = habit("rescan")[0]
    assert (first.rule, first.values["factor"]) == ("rescanned_file", 200)
    assert first.values["excess"] == 199 * 4 * MiB
    assert not {f.rule for f in habit("read_once")} & {"rescanned_file", "redundant_reads"}


@pytest.mark.skipif(not shutil.which("mpicc.mpich"), reason="MPICH is not installed")
def test_epoch_small_independent_writes(observe: Observe, tmp_path: Path) -> None:
    program = compiled("shared_writes.c", tmp_path, "mpicc.mpich")

    def run(*mode: str) -> list[Finding]:
        target = tmp_path / f"out{len(mode)}"
        log = observe(["mpirun.mpich", "-n", "4", program, target, *mode]).log
        assert target.stat().st_size == 4 * 20000 * 400
        return judged(log)

    first = run()[0]
    assert first.rule == "no_collective_writes"
    assert (first.values["n"], first.values["mean"]) == (80_000, 400)
    assert first.advice[0].text.startswith("Write with collective calls")
    assert not {"no_collective_writes", "small_shared_writes", "small_writes"} & {
        f.rule for f in run("collective")
    }


EXAMPLES = Path("/usr/share/doc/hmmer/examples")


@pytest.mark.skipif(
    not (shutil.which("hmmscan") and EXAMPLES.is_dir()), reason="HMMER and its examples are not installed"
)
def test_hmmer_reads_its_database_again_and_again(root: Path, iolens: Path, tmp_path: Path) -> None:
    command = ["env", f"IOLENS={iolens}", root / "demo" / "hmmer.sh", tmp_path]
    subprocess.run(command, check=True, capture_output=True, timeout=100)
    first = judged(tmp_path / "scan.darshan")[0]
    assert first.rule == "rescanned_file" and "profiles.hmm" in first.message
    assert "hmmsearch" in " ".join(advice.text for advice in first.advice)
    assert "rescanned_file" not in {f.rule for f in judged(tmp_path / "search.darshan")}


def hacc(load: int) -> Job:
    """A file per rank on 96 targets; two servers have so many of them where the others have 4."""
    job = Job(nprocs=192, run_time=200)
    for rank in range(192):
        ost = rank % 96
        slow = load / 4 if ost in range(48, 56) or ost in range(88, 96) else 1
        job.posix(f"/scratch/part.{rank}", rank, write={MiB: 100}, write_time=40.0 * slow)
        job.lustre(f"/scratch/part.{rank}", MiB, [ost], rank)
    return job


def test_hacc_overloaded_servers(tmp_path: Path) -> None:
    first = judged(hacc(8).save(tmp_path / "a.darshan"))[0]
    assert (first.rule, first.severity, first.time_lost) == ("slow_servers", "medium", 40.0)
    assert sorted(map(int, first.values["osts"].split(", "))) == [*range(48, 56), *range(88, 96)]
    assert "slow_servers" not in {f.rule for f in judged(hacc(4).save(tmp_path / "b.darshan"))}
