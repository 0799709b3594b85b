"""What MPI jobs meet on real machines: full directories, ranks left out, many ranks, programs of sessions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from mpi_job import Ended, Job, all_written, own

MOUNT = 'd=$1 o=$2; shift 2; mount -t tmpfs -o "$o" none "$d" && exec "$@"'


def private(counters: dict[tuple[str, int], int]) -> dict[tuple[str, int], int]:
    return {key: size for key, size in counters.items() if key[0] != "shared"}


@pytest.fixture(scope="module")
def may_mount() -> None:
    command = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("this user may not mount")


def on_a_small_disk(directory: Path, options: str, command: list[str]) -> list[str]:
    """The command, with a file system of its own at the directory."""
    directory.mkdir(exist_ok=True)
    return ["unshare", "--mount", "sh", "-c", MOUNT, "sh", str(directory), options, *command]


def is_whole_but_for_the_log(job: Job, ended: Ended, ranks: int) -> None:
    """One line, whatever the number of ranks, and the stores are there."""
    assert (ended.code, ended.out) == (0, "done\n"), ended.err
    assert len(ended.notes) == 1
    assert "log not written" in ended.notes[0]
    assert "iolens recover" in ended.notes[0]
    job.recover()
    if ranks > 1:
        assert private(job.counters("BYTES_WRITTEN")).items() >= own(*range(ranks)).items()
    assert f"# nprocs: {ranks}\n" in job.show()


# A directory that is full, read-only, not there: options of its mount.
NO_PLACE = {"full": "size=4k", "read-only": "ro", "missing": ""}
MANY = [(place, ranks) for place in NO_PLACE for ranks in (1, 4, 16) if place == "full" or ranks == 4]


@pytest.mark.usefixtures("may_mount")
@pytest.mark.parametrize("meeting", ["", "messages-apart"])
@pytest.mark.parametrize(("place", "ranks"), MANY)
def test_no_place_for_the_log(job: Job, tmp_path: Path, place: str, ranks: int, meeting: str) -> None:
    logs = tmp_path / "logs"
    command = job.command(ranks, "job", "many")
    if NO_PLACE[place]:
        command = on_a_small_disk(logs, NO_PLACE[place], command)
    ended = job.alone(command, IOLENS_LOGFILE=str(logs / "log.darshan"), IOLENS_FINALIZE=meeting)
    is_whole_but_for_the_log(job, ended, ranks)


@pytest.mark.usefixtures("may_mount")
@pytest.mark.parametrize("ranks", [1, 4, 16])
def test_no_room_for_the_log_of_a_session(job: Job, tmp_path: Path, ranks: int) -> None:
    logs = tmp_path / "logs"
    run = [str(job.iolens), "run", "--quiet", "-o", str(logs / "log.darshan"), "--"]
    command = on_a_small_disk(logs, NO_PLACE["full"], [*run, *job.command(ranks, "job", "many")])
    is_whole_but_for_the_log(job, job.end(job.start(command)), ranks)


def test_the_directory_of_a_sessions_log_is_removed(job: Job, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    run = [str(job.iolens), "run", "--quiet", "-o", str(logs / "log.darshan"), "--"]
    script = ["sh", "-c", 'rm -r "$1"; shift; exec "$@"', "sh", str(logs), *job.command(3, "job")]
    is_whole_but_for_the_log(job, job.end(job.start([*run, *script])), 3)


@pytest.mark.usefixtures("may_mount")
@pytest.mark.parametrize("size", ["0", "16k", "128k", "512k"])
def test_no_room_for_the_stores(job: Job, tmp_path: Path, size: str) -> None:
    options = "size=1,nr_inodes=1" if size == "0" else f"size={size}"
    small = tmp_path / "small"
    command = on_a_small_disk(small, options, job.command(3, "job", "many"))
    ended = job.alone(command, IOLENS_TMPDIR=str(small))
    assert (ended.code, ended.out) == (0, "done\n"), ended.err
    assert len(ended.notes) <= 1
    assert job.log.exists() or ended.notes


def test_ranks_that_are_left_out(job: Job) -> None:
    ended = job.alone(job.command(4, "job"), IOLENS_RANK_EXCLUDE="1:", IOLENS_RANK_INCLUDE="3")
    assert (ended.code, ended.out, ended.notes) == (0, "done\n", [])
    assert private(job.counters("BYTES_WRITTEN")) == own(0, 3)
    assert "# nprocs: 4\n" in job.show()
    job.log.unlink()
    ended = job.session(job.command(4, "job"), IOLENS_RANK_EXCLUDE="1:", IOLENS_RANK_INCLUDE="3")
    assert (ended.code, ended.out) == (0, "done\n")
    assert private(job.counters("BYTES_WRITTEN")) == own(0, 3)
    assert {row["rank"] for row in job.processes()} >= {"0", "1", "2", "3"}


def test_ranks_with_stores_in_different_places(job: Job, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    command = job.command(2, "job")
    elsewhere = ["env", f"IOLENS_TMPDIR={other}", command[-1]]
    ended = job.alone([*command, ":", "-n", "1", *elsewhere])
    assert (ended.code, ended.out, ended.notes) == (0, "done\n", [])
    assert private(job.counters("BYTES_WRITTEN")) == own(0, 1, 2)
    assert not job.kept()
    assert not list(other.iterdir())


# A second session ends in SIGSEGV under MPICH 4 and Open MPI 5 themselves, _exit in an error of MPICH 5's launcher.
HOW = {"": ["mpich5", "abi", "openmpi5", "mpich"], "late": ["mpich5"], "twice": ["mpich5", "abi"]}
HOW["_exit"] = ["mpich", "openmpi5"]


@pytest.mark.parametrize(("job", "how"), [(m, how) for how in HOW for m in HOW[how]], indirect=["job"])
def test_programs_of_sessions_alone_have_a_log_when_the_last_rank_ends(job: Job, how: str) -> None:
    """late: rank 0 ends a second after the others; twice: the files are written in a second session."""
    ended = job.alone(job.command(3, "sessions", how))
    assert (ended.code, ended.out, ended.notes) == (0, "done\n", []), ended.err
    assert private(job.counters("BYTES_WRITTEN")) == own(0, 1, 2)
    assert "# nprocs: 3\n" in job.show()
    assert not list(job.stores.iterdir())
    job.log.unlink()
    assert job.session(job.command(3, "sessions", how)).code == 0
    assert private(job.counters("BYTES_WRITTEN")) == own(0, 1, 2)


@pytest.mark.parametrize("job", ["mpich", "openmpi5"], indirect=True)
def test_sessions_of_one_rank(job: Job) -> None:
    ended = job.alone(job.command(1, "sessions"))
    assert (ended.code, ended.out, ended.notes) == (0, "done\n", []), ended.err
    assert private(job.counters("BYTES_WRITTEN")) == {("own.0", -1): 100}
    assert not list(job.stores.iterdir())


@pytest.mark.parametrize("job", ["mpich5", "openmpi5"], indirect=True)
def test_a_rank_of_sessions_that_is_left_out_is_counted(job: Job) -> None:
    ended = job.alone(job.command(3, "sessions"), IOLENS_RANK_EXCLUDE="1")
    assert (ended.code, ended.out, ended.notes) == (0, "done\n", []), ended.err
    assert private(job.counters("BYTES_WRITTEN")) == own(0, 2)
    assert "# nprocs: 3\n" in job.show()


@pytest.mark.parametrize("job", ["mpich5", "openmpi5"], indirect=True)
def test_sessions_whose_log_is_put_off_leave_their_stores(job: Job) -> None:
    ended = job.alone(job.command(3, "sessions"), IOLENS_FINALIZE="deferred")
    assert (ended.code, ended.out) == (0, "done\n"), ended.err
    assert len(ended.notes) == 1
    job.recover()
    assert private(job.counters("BYTES_WRITTEN")) == own(0, 1, 2)
    assert "# nprocs: 3\n" in job.show()


@pytest.mark.parametrize("job", ["mpich5", "abi"], indirect=True)
def test_sessions_of_fortran(job: Job, tmp_path: Path) -> None:
    programs = Path(__file__).parent / "programs"
    compiler, binding, program = job.which.compiler(".c"), tmp_path / "binding.so", tmp_path / "program"
    subprocess.run([compiler, "-shared", "-fPIC", programs / "binding.c", "-o", binding], check=True)
    subprocess.run([compiler, programs / "fortran_sessions.c", binding, "-o", program], check=True)
    ended = job.session([*job.which.launcher(3), str(program)])
    assert ended.code == 0, ended.err
    assert job.counters("BYTES_WRITTEN", module="STDIO") == {(f"own.{rank}", rank): 8 for rank in range(3)}
    assert "# nprocs: 3\n" in job.show()


def test_sixty_four_ranks(job: Job) -> None:
    idle = {"UCX_TLS": "self,sysv", "OMPI_MCA_mpi_yield_when_idle": "1", "IOLENS_FINALIZE_TIMEOUT": "60"}
    ended = job.alone(job.command(64, "job"), **idle)
    assert (ended.code, ended.out, ended.notes) == (0, "done\n", []), ended.err
    assert job.counters("BYTES_WRITTEN") == all_written(64)
