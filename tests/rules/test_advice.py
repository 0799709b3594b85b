"""Advice by facts: for the program's language, its libraries and file systems, with its own names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from iolens.metrics import Dataset
from iolens.rules import Advice, find, load
from jobs import Job, KiB, MiB


def given(job: Job, rule: str, folder: Path) -> tuple[Advice, ...]:
    with Dataset(job.save(folder / "job.darshan")) as data:
        return next(f.advice for f in find(data) if f.rule == rule)


def texts(advice: tuple[Advice, ...]) -> str:
    return "\n".join(a.text + a.snippet for a in advice)


def small_writes(exe: str = "/bin/program", nprocs: int = 1, name: str = "/data/out") -> Job:
    return Job(nprocs=nprocs, exe=exe).posix(name, 0, write={64 * KiB: 4000}, write_time=30.0)


def test_no_mpi_for_programs_without(tmp_path: Path) -> None:
    assert "MPI" not in texts(given(small_writes(), "small_writes", tmp_path))
    assert "MPI_File_write_all" in texts(given(small_writes(nprocs=8), "small_writes", tmp_path))


@pytest.mark.parametrize(
    ("name", "reads"),
    [("/data/in.bin", 'open("/data/in.bin", "rb")'), ("/data/in.h5", 'h5py.File("/data/in.h5")')],
)
def test_code_fits_the_kind_of_the_file(tmp_path: Path, name: str, reads: str) -> None:
    """A file of HDF5 is not opened as bytes; where no other code is known, advice has none."""
    scan = Job(nprocs=1, exe="/usr/bin/python3 x.py")
    scan.posix(name, 0, read={MiB: 1000}, read_time=50.0, max_byte_read=100 * MiB - 1)
    assert reads in texts(given(scan, "rescanned_file", tmp_path))
    small = Job(nprocs=1, exe="/usr/bin/python3 x.py").posix(name, 0, read={100: 50_000}, read_time=10.0)
    assert ("open(" in texts(given(small, "tiny_reads", tmp_path))) == name.endswith(".bin")


def test_python_for_python_only(tmp_path: Path) -> None:
    languages = [a.language for a in given(small_writes(), "small_writes", tmp_path)]
    assert languages == ["c"]
    python = given(small_writes("/usr/bin/python3.11 train.py"), "small_writes", tmp_path)
    assert [a.language for a in python] == ["python"] and "In Python" in python[0].text
    scan = Job(nprocs=1).posix("/data/in", 0, read={100: 50_000}, read_time=10.0)
    assert "O_RDONLY" in texts(given(scan, "tiny_reads", tmp_path))
    scan.exe = "/usr/bin/python3 x.py"
    assert "with open(" in texts(given(scan, "tiny_reads", tmp_path))


def test_names_of_the_job_s_own_files(tmp_path: Path) -> None:
    said = texts(given(small_writes(name="/data/run 1/out"), "small_writes", tmp_path))
    assert '"FILENAME"' in said, "a name with a blank is not put into code"
    assert 'fopen("/data/out", "w")' in texts(given(small_writes(), "small_writes", tmp_path))


def test_lustre_and_hdf5_where_they_are(tmp_path: Path) -> None:
    def unaligned(name: str) -> str:
        job = Job().posix(name, write={MiB: 8000}, file_not_aligned=8000, write_time=80.0)
        return texts(given(job, "unaligned_accesses", tmp_path))

    assert "lfs " not in unaligned("/data/a") and "H5P" not in unaligned("/data/a")
    assert "lfs setstripe" in unaligned("/scratch/a")
    assert "H5Pset_alignment" in unaligned("/data/a.h5")


def sieving(kind: str, hints: str = "") -> Job:
    job = Job(metadata=f"lib_ver=3.4.7\nh={hints}\n".encode()) if hints else Job()
    job.mpiio("/scratch/a", write={KiB: 8192}, write_time=88.0, kind=kind)
    return job.posix("/scratch/a", read={MiB: 40}, write={MiB: 48}, write_time=88.0)


def test_no_collective_calls_where_all_are(tmp_path: Path) -> None:
    assert "collective calls" in texts(given(sieving("indep"), "data_sieving", tmp_path))
    assert "collective calls" not in texts(given(sieving("coll"), "data_sieving", tmp_path))


def test_hints_by_which_the_log_was_written_are_none_of_the_program_s(tmp_path: Path) -> None:
    said = texts(
        given(sieving("coll", "romio_ds_write=disable;romio_cb_write=enable"), "data_sieving", tmp_path)
    )
    assert '"romio_ds_write"' in said and '"romio_cb_write"' in said


@pytest.mark.parametrize("movers", [2, 8])
def test_buffering_that_is_at_work_is_not_advised(movers: int, tmp_path: Path) -> None:
    job = Job(nprocs=8).mpiio("/scratch/a", write={KiB: 8192}, write_time=88.0, kind="coll")
    for rank in range(movers):
        job.posix("/scratch/a", rank, read={MiB: 40 // movers}, write={MiB: 48 // movers}, write_time=88.0)
    said = texts(given(job, "data_sieving", tmp_path))
    assert ('"romio_cb_write"' in said) == (movers == 8)
    assert '"romio_ds_write"' in said and '"romio_cb_read"' in said and '"cb_nodes"' in said


def test_every_problem_keeps_advice(tmp_path: Path) -> None:
    """Also in a job of which nothing is known."""
    from iolens.rules.advice import Facts, advise

    for rule in load().rules.values():
        assert bool(advise(rule.advice, Facts(), {}, ())) == bool(rule.advice), rule.id


def test_snippets_of_a_library_are_for_programs_that_use_it() -> None:
    wanted = {
        "lfs ": {"lustre"},
        "MPI_": {"mpi", "mpiio"},
        "H5": {"hdf5"},
        "np.": {"python"},
        "h5py": {"hdf5"},
    }
    for rule in load().rules.values():
        for one in rule.advice:
            for word, facts in wanted.items():
                if word in one.snippet or word in one.text:
                    assert facts & set(one.when), (rule.id, one.text)


def test_database_programs_are_told_of_transactions(tmp_path: Path) -> None:
    job = Job(nprocs=1, exe="/usr/bin/python3 x.py")
    job.posix("/s/b.db-journal", 0, opens=500, fsyncs=500, write={512: 1000}, write_time=6.0)
    job.posix("/s/b.db", 0, opens=1, fsyncs=500, write={4096: 1000}, write_time=4.0)
    said = given(job, "database_commits", tmp_path)
    assert "executemany" in said[0].snippet and said[0].language == "python"
    assert "journal_mode" in said[1].snippet and "HDF5" not in texts(said)
    job.exe = "/usr/bin/sqlite3 b.db"
    assert "BEGIN;" in given(job, "database_commits", tmp_path)[0].snippet


RISKS = {
    r', "[wx]b?"|H5F_ACC_(TRUNC|EXCL)': "empt",
    r"PRAGMA synchronous": "may be lost",
    r"journal_mode": "local disk",
    r"_all\(|_all,|collective:|COLLECTIVE|coll_metadata": "[Ee]very rank",
    r"NOFILL|FILL_TIME_NEVER": "arbitrary",
    r"iwrite|iput|_async\(": "Do not change the data",
    r"TMPDIR=": "gone when the job ends",
    r"fsync": "may be lost",
    r"setvbuf|buffering=4 << 20\) as out": "lost",
    r"libver": "cannot read",
    r"PYTHONPATH=": "not found",
}
"""What code does -> what its advice must say of the risk."""


def test_advice_says_what_could_be_lost() -> None:
    """Under "every row must be safe at once" stood synchronous = NORMAL, which loses commits at a power cut."""
    silent = []
    for rule in load().rules.values():
        for one in rule.advice:
            code = "\n".join((one.snippet, one.python, one.hdf5))
            whole = f"{one.text}\n{code}"
            silent += [
                (rule.id, word)
                for does, word in RISKS.items()
                if re.search(does, f"{code}\n{one.text}") and not re.search(word, whole)
            ]
    assert silent == []


def test_where_every_row_must_be_safe_nothing_is_relaxed() -> None:
    (safe,) = [one for one in load().rules["database_commits"].advice if "every row must be safe" in one.text]
    assert "synchronous" not in safe.snippet and "journal_mode = WAL" in safe.snippet
