"""MPI jobs, plain and odd: what their log holds, and that nothing of them is held up or lost."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import shown
from mpi_job import Job, all_written, own, shared
from mpis import MPI, MPIS, and_abi, every_mpi

WAYS = ["session", "alone"]
Build = Callable[[MPI, str], Path]


def run(job: Job, way: str, command: list[str], **env: str) -> None:
    ended = getattr(job, way)(command, **env)
    assert ended.code == 0, ended.err
    assert ended.out == "done\n"
    assert not ended.notes
    assert not job.kept()


@every_mpi
@pytest.mark.parametrize("ranks", [1, 2, 4, 16])
@pytest.mark.parametrize("way", WAYS)
def test_ranks_and_shared_files(job: Job, way: str, ranks: int) -> None:
    run(job, way, job.command(ranks, "job"))
    alone = {("own.0", -1): 100}
    assert job.counters("BYTES_WRITTEN") == (alone if ranks == 1 else own(*range(ranks))) | shared(ranks)
    text = job.show()
    assert f"# nprocs: {ranks}\n" in text
    record = shown.records(text)["POSIX", str(job.cwd / "shared"), -1]
    sizes = [100 * (rank + 1) for rank in range(ranks)]
    mean = sum(sizes) / ranks
    assert int(record["POSIX_OPENS"]) == ranks
    assert int(record["POSIX_MAX_BYTE_WRITTEN"]) == 10000 * (ranks - 1) + 100 * ranks - 1
    assert float(record["POSIX_F_VARIANCE_RANK_BYTES"]) == pytest.approx(
        sum((size - mean) ** 2 for size in sizes) / ranks
    )
    for which in ("FASTEST", "SLOWEST"):
        rank = int(record[f"POSIX_{which}_RANK"])
        assert int(record[f"POSIX_{which}_RANK_BYTES"]) == sizes[rank]


@pytest.mark.parametrize("program", ["own", "own_old"])
@pytest.mark.parametrize("way", WAYS)
def test_fortran(job: Job, way: str, program: str) -> None:
    ended = getattr(job, way)(job.command(3, program))
    assert ended.code == 0, ended.err
    assert job.counters("BYTES_WRITTEN") == {(f"own.{rank}", rank): 8 for rank in range(3)}


def test_other_readers_agree(job: Job, oracle: ModuleType) -> None:
    run(job, "alone", job.command(4, "job"))
    shown_lines = [line for line in job.show().splitlines() if re.match(r"POSIX\t", line)]
    decoded = [line for line in oracle.parser_lines(oracle.Log(str(job.log))) if line.startswith("POSIX\t")]
    assert shown_lines == decoded
    darshan = pytest.importorskip("darshan", reason="PyDarshan is not installed")
    report = darshan.DarshanReport(str(job.log), read_all=True)
    assert report.metadata["job"]["nprocs"] == 4
    frame = report.records["POSIX"].to_df()["counters"]
    assert sorted(frame["rank"]) == [-1, 0, 1, 2, 3]
    assert frame["POSIX_BYTES_WRITTEN"].sum() == 2000


@every_mpi
def test_launchers_are_no_ranks(job: Job) -> None:
    run(job, "session", job.command(2, "job"))
    ranks = {row["rank"]: Path(row["exe"]).name for row in job.processes() if int(row["rank"]) >= 0}
    around = {Path(row["exe"]).name for row in job.processes() if row["rank"] == "-1"}
    assert ranks == {"0": "job", "1": "job"}
    assert around & {"mpiexec.hydra", "orterun", "mpirun"}


@every_mpi
def test_two_worlds_and_the_rest(job: Job) -> None:
    one, two = " ".join(job.command(2, "job")), " ".join(job.command(3, "job"))
    (job.cwd / "steps").write_text(f"cp steps copy\n{one}\n{two}\n")
    ended = job.session(["sh", "steps"])
    assert ended.code == 0
    log = str(job.log).removesuffix(".darshan")
    assert job.counters("BYTES_WRITTEN", job.log) == all_written(2)
    assert job.counters("BYTES_WRITTEN", Path(f"{log}-mpi2.darshan")) == all_written(3)
    serial = job.counters("BYTES_WRITTEN", Path(f"{log}-serial.darshan"))
    assert serial["copy", 1] == len(f"cp steps copy\n{one}\n{two}\n")


@every_mpi
def test_a_second_log_that_is_there_already(job: Job) -> None:
    """Known before the job where the command is a launcher; else the error names the log that it is about."""
    rest = job.log.with_name("log-serial.darshan")
    rest.write_text("mine")
    ended = job.session(job.command(2, "job"))
    assert (ended.code, ended.notes) == (
        2,
        [
            f"iolens: run: {rest}: exists already: the log of processes that are not ranks needs this "
            "name: choose another name for the log"
        ],
    )
    assert not (job.cwd / "shared").exists()
    (job.cwd / "steps").write_text(f"cp steps copy\n{' '.join(job.command(2, 'job'))}\n")
    ended = job.session(["sh", "steps"])
    assert ended.code == 0 and rest.read_text() == "mine"
    assert any(note.startswith(f"iolens: run: {rest}: log not written: ") for note in ended.notes)
    assert job.counters("BYTES_WRITTEN") == all_written(2)


@pytest.mark.parametrize("job", ["mpich"], indirect=True)
def test_every_mpi_in_one_session(built: Build, job: Job) -> None:
    steps = [[*mpi.launcher(2), str(built(mpi, "job"))] for mpi in MPIS.values() if shutil.which(mpi.launch)]
    (job.cwd / "steps").write_text("".join(f"{' '.join(step)}\n" for step in steps))
    ended = job.session(["sh", "steps"])
    assert (ended.code, ended.out) == (0, "done\n" * len(steps)), ended.err
    logs = [job.log, *sorted(job.cwd.parent.glob("log-mpi*.darshan"))]
    assert len(logs) == len(steps)
    for log in logs:
        assert job.counters("BYTES_WRITTEN", log) == all_written(2)


@pytest.mark.parametrize("job", ["mpich"], indirect=True)
def test_an_mpi_of_an_unknown_name(job: Job, tmp_path: Path) -> None:
    """The standard ABI's library under another SONAME of the same length."""
    library = MPIS["abi"].library()
    other = tmp_path / "libmpi_xyz.so.1"
    other.write_bytes(library.read_bytes().replace(b"libmpi_abi.so.1", b"libmpi_xyz.so.1"))
    (tmp_path / "mpich").symlink_to(library.parent / "mpich")
    program = tmp_path / "job"
    source = Path(__file__).parent / "programs" / "job.c"
    flags = ["-DMPI_ABI", f"-I{library.parent.parent / 'include'}", f"-Wl,-rpath,{tmp_path}", "-lpthread"]
    subprocess.run(["cc", source, "-o", program, *flags, other], check=True)
    ended = job.alone([*MPIS["abi"].launcher(3), str(program)])
    assert (ended.code, ended.out) == (0, "done\n"), ended.err
    assert len(ended.notes) == 1
    assert "no backend for the MPI of libmpi_xyz.so.1" in ended.notes[0]
    job.recover()
    assert job.counters("BYTES_WRITTEN") == all_written(3)


@and_abi
@pytest.mark.parametrize("way", WAYS)
def test_threads(job: Job, way: str) -> None:
    run(job, way, job.command(2, "job", "threads"))
    threads = {(f"thread.{10 * rank + n}", rank): 10 for rank in range(2) for n in range(4)}
    assert job.counters("BYTES_WRITTEN") == all_written(2) | threads


@and_abi
@pytest.mark.parametrize("way", WAYS)
def test_many_files(job: Job, way: str) -> None:
    ranks = 4
    run(job, way, job.command(ranks, "job", "many"))
    many = {(f"many.{1000 * rank + n}", rank): 10 + n for rank in range(ranks) for n in range(300)}
    everybodys = {(f"all.{n}", -1): 7 * ranks for n in range(50)}
    some = {(f"some.{1000 * (rank or ranks - 1) + n}", rank): 3 for rank in range(ranks) for n in range(20)}
    assert job.counters("BYTES_WRITTEN") == all_written(ranks) | many | everybodys | some
    totals = [row for row in shown.sections(job.show())["total"] if row["interface"] == "posix"]
    written = {int(row["rank"]): int(row["bytes_written"]) for row in totals if int(row["rank"]) >= 0}
    mine = sum(10 + n for n in range(300)) + 50 * 7 + 20 * 3
    assert written == {rank: mine + 200 * (rank + 1) for rank in range(ranks)}


def test_a_rank_that_forks(job: Job) -> None:
    run(job, "alone", job.command(2, "job", "fork"))
    assert job.counters("BYTES_WRITTEN") == all_written(2)
    job.log.unlink()
    run(job, "session", job.command(2, "job", "fork"))
    assert job.counters("BYTES_WRITTEN") == all_written(2)
    serial = Path(str(job.log).replace(".darshan", "-serial.darshan"))
    assert job.counters("BYTES_WRITTEN", serial) == {("child.1", 0): 50}


@and_abi
@pytest.mark.parametrize(("habit", "code"), [("abort", 7), ("kill", None), ("quit", None)])
def test_without_finalize_nothing_is_lost(job: Job, habit: str, code: int | None) -> None:
    ended = job.alone(job.command(3, "job", habit))
    assert ended.code == code or code is None
    assert not job.log.exists()
    job.recover()
    if habit != "quit" or job.mpi == "openmpi":  # Hydra kills the others as soon as one is gone
        assert job.counters("BYTES_WRITTEN") == all_written(3)
    job.log.unlink()
    ended = job.session(job.command(3, "job", habit))
    if habit != "quit" or job.mpi == "openmpi":
        assert job.counters("BYTES_WRITTEN") == all_written(3)


@every_mpi
def test_spawned_ranks_are_a_world_of_their_own(job: Job) -> None:
    if job.which.name in ("mpich", "intel", "intel-abi"):
        pytest.skip("Debian's MPICH cannot spawn, nor can Intel MPI in shared memory")
    os.link(job.build("job"), job.cwd / "job")
    ended = job.session(job.command(2, "job", "spawn"))
    assert ended.code == 0, ended.err
    logs = [job.log, *sorted(job.cwd.parent.glob("log-mpi*.darshan"))]
    assert [job.counters("BYTES_WRITTEN", log).get(("own.1", 1)) for log in logs] == [200, None]
    assert [job.counters("BYTES_WRITTEN", log).get(("spawned.1", 1)) for log in logs] == [None, 200]


def test_without_a_launcher(job: Job) -> None:
    run(job, "alone", [str(job.build("job"))])
    assert job.counters("BYTES_WRITTEN") == {("own.0", -1): 100, ("shared", -1): 100}


# What stands before the odd rank's command, and whether the others wait for it in vain.
ODD_ONES = {
    "disabled": (["env", "IOLENS_DISABLE=1"], False),
    "without a store": (["env", "IOLENS_TMPDIR=/nowhere"], False),
    "without the library": (["env", "LD_PRELOAD="], True),
}


@and_abi
@pytest.mark.parametrize("meeting", ["", "messages"])
@pytest.mark.parametrize("odd", ODD_ONES)
def test_one_rank_is_not_observed(job: Job, odd: str, meeting: str) -> None:
    wrapper, waits = ODD_ONES[odd]
    command = job.command(2, "job")
    ended = job.alone([*command, ":", "-n", "1", *wrapper, command[-1]], IOLENS_FINALIZE=meeting)
    assert ended.code == 0, ended.err
    lacks = odd == "without a store"
    assert len(ended.notes) == (waits or lacks)
    if lacks:
        assert "1 of 3 ranks could not make their store" in ended.notes[0]
    assert bool(job.kept()) == waits
    if waits:
        assert 3 <= ended.seconds < 8
        job.recover()
    found = {key: size for key, size in job.counters("BYTES_WRITTEN").items() if key[0] != "shared"}
    assert found == own(*range(2))
    assert "# nprocs: 3\n" in job.show()


@every_mpi
@pytest.mark.parametrize("ranks", [1, 3, 16])
@pytest.mark.parametrize("meeting", ["messages", "messages-apart", "mpiio"])
def test_ranks_meet_by_messages(job: Job, meeting: str, ranks: int) -> None:
    run(job, "alone", job.command(ranks, "job"), IOLENS_FINALIZE=meeting)
    found = {key: size for key, size in job.counters("BYTES_WRITTEN").items() if key[0] != "shared"}
    assert found == ({("own.0", -1): 100} if ranks == 1 else own(*range(ranks)))
    assert not list(job.stores.iterdir())


@pytest.mark.parametrize("meeting", ["", "messages"])
def test_a_late_rank_does_not_wait_again(job: Job, meeting: str) -> None:
    ended = job.alone(job.command(3, "job", "late"), IOLENS_FINALIZE_TIMEOUT="2", IOLENS_FINALIZE=meeting)
    assert ended.code == 0, ended.err
    assert len(ended.notes) == 1
    assert ended.seconds < 6
    job.recover()
    assert job.counters("BYTES_WRITTEN") == all_written(3)


@every_mpi
@pytest.mark.parametrize("way", WAYS)
def test_an_mpi_out_of_the_global_scope(job: Job, way: str, tmp_path: Path) -> None:
    programs = Path(__file__).parent / "programs"
    loader, plugin = tmp_path / "loader", tmp_path / "plugin.so"
    subprocess.run(["cc", programs / "loader.c", "-o", loader], check=True)
    compiler = [job.which.compiler(".c"), "-shared", "-fPIC", "-Dmain=job_main"]
    subprocess.run([*compiler, programs / "job.c", "-o", plugin, "-lpthread"], check=True)
    command = job.command(2, "job")
    run(job, way, [*command[:-1], str(loader), str(plugin)])
    assert job.counters("BYTES_WRITTEN") == all_written(2)


def test_deferred(job: Job) -> None:
    ended = job.alone(job.command(3, "job"), IOLENS_FINALIZE="deferred")
    assert ended.code == 0
    assert len(ended.notes) == 1
    assert not job.log.exists()
    job.recover()
    assert job.counters("BYTES_WRITTEN") == all_written(3)


@every_mpi
def test_an_mpi_without_backend(job: Job, tmp_path: Path) -> None:
    copy = tmp_path / "libiolens.so"
    copy.write_bytes(job.preload.read_bytes())
    ended = job.alone(job.command(3, "job"), LD_PRELOAD=str(copy))
    assert ended.code == 0
    assert ended.out == "done\n"
    assert len(ended.notes) == 1
    job.recover()
    assert job.counters("BYTES_WRITTEN") == all_written(3)


@pytest.mark.parametrize("where", ["/nowhere/log.darshan", "/proc/log.darshan"])
def test_a_log_that_cannot_be_written(job: Job, where: str) -> None:
    ended = job.alone(job.command(3, "job"), IOLENS_LOGFILE=where)
    assert (ended.code, ended.out) == (0, "done\n")
    assert len(ended.notes) == 1
    assert re.search("log not written", ended.notes[0])
    job.recover()
    assert job.counters("BYTES_WRITTEN") == all_written(3)


def test_programs_without_mpi_find_none(preload: Path, tmp_path: Path) -> None:
    source = Path(__file__).parent / "programs" / "no_mpi.c"
    env = {**os.environ, "LD_PRELOAD": str(preload)}
    subprocess.run(["cc", source, "-o", tmp_path / "weak"], check=True)
    assert subprocess.run([tmp_path / "weak", "probe"], env=env, check=False).returncode == 0
    shared = ["-DSTRONG", "-Dmain=begin", "-shared", "-fPIC", "-o", tmp_path / "libbegin.so"]
    subprocess.run(["cc", source, *shared], check=True)
    (tmp_path / "strong.c").write_text(
        "int begin(int, char **); int main(int n, char **v) { return begin(n, v); }"
    )
    options = ["-Wl,--allow-shlib-undefined", f"-Wl,-rpath,{tmp_path}", tmp_path / "libbegin.so"]
    subprocess.run(["cc", tmp_path / "strong.c", *options, "-o", tmp_path / "strong"], check=True)
    for around in (None, env):  # with and without the library
        called = subprocess.run([tmp_path / "strong", "call"], env=around, check=False, capture_output=True)
        assert called.returncode == 127
        assert b"undefined symbol: MPI_Init" in called.stderr


def test_weak_references_to_an_mpi_that_is_there(job: Job) -> None:
    ended = job.alone(job.command(1, "weak"))
    assert (ended.code, ended.out, ended.notes) == (0, "1\n", [])
    row = shown.records(job.show())["MPI-IO", str(job.cwd / "weak"), -1]
    assert (int(row["MPIIO_INDEP_WRITES"]), int(row["MPIIO_BYTES_WRITTEN"])) == (1, 300)
