"""Jobs on several hosts: namespaces of this machine with a host name, a /dev/shm and a /tmp of their own."""

from __future__ import annotations

import contextlib
import re
import subprocess
import time
from pathlib import Path

import pytest
from mpi_job import Ended, Job, all_written
from mpis import FAMILIES

# Stands for ssh: [-x] HOST COMMAND...
REMOTE_SHELL = """#!/bin/sh
[ "$1" = -x ] && shift
host=$1
shift
exec unshare --uts --ipc --mount sh -c '
hostname "$1"
env -u LD_PRELOAD mount -t tmpfs tmpfs /dev/shm
shift
exec sh -c "$*"' sh "$host" "$@"
"""


@pytest.fixture(scope="module")
def remote_shell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shell = tmp_path_factory.mktemp("hosts") / "shell"
    shell.write_text(REMOTE_SHELL)
    shell.chmod(0o755)
    tried = subprocess.run([shell, "node7", "hostname"], check=False, capture_output=True, text=True)
    if tried.stdout != "node7\n":
        pytest.skip(f"this user may not make namespaces: {tried.stderr.strip()}")
    return shell


def launcher(job: Job, shell: Path, hosts: int, each: int) -> list[str]:
    places = ",".join(f"node{n}:{each}" for n in range(hosts))
    if job.mpi == "mpich":
        mpirun = [job.which.launch, "-launcher", "ssh", "-launcher-exec", str(shell)]
        return [*mpirun, "-localhost", "127.0.0.1", "-hosts", places]
    mpirun = ["mpirun.openmpi", "--allow-run-as-root", "--mca", "plm_rsh_agent", str(shell), "--host", places]
    return [*mpirun, "--oversubscribe", "--mca", "btl", "tcp,self", "--mca", "pml", "ob1"]


def end(job: Job, process: subprocess.Popen[str], marks: Path, ranks: int) -> Ended:
    """Debian's MPICH over UCX may stay in its MPI_Finalize for ever, with and without iolens: it is ended there."""
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until and len(list(marks.iterdir())) < ranks:
        time.sleep(0.05)
    assert len(list(marks.iterdir())) == ranks
    if job.which.name == "mpich":
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=3)
            return job.end(process)
        process.terminate()
        ended = job.end(process)
        return Ended(0, re.sub(r"\n=+\n.*", "", ended.out, flags=re.DOTALL), ended.err, ended.seconds)
    return job.end(process)


KEEP_APART = 'export IOLENS_TMPDIR="$1/$(hostname)"; mkdir -p "$IOLENS_TMPDIR"; shift; exec "$@"'


def on_hosts(
    job: Job, shell: Path, hosts: int, each: int, *program: str, keep: Path | None = None, **env: str
) -> Ended:
    """The job on so many hosts, with so many ranks on each, its stores in their /dev/shm, or below `keep`."""
    ranks = hosts * each
    build, *arguments = program
    marks = job.cwd.parent / "marks"
    marks.mkdir()
    settings = {**job.observed, "MARKS": str(marks), **env}
    command = [*launcher(job, shell, hosts, each), "-n", str(ranks), "env", "-u", "IOLENS_TMPDIR"]
    command += [f"{key}={value}" for key, value in settings.items()]
    command += ["sh", "-c", KEEP_APART, "sh", str(keep)] if keep else []
    return end(job, job.start([*command, str(job.build(build)), *arguments]), marks, ranks)


SHAPES = [(2, 1), (4, 2), (2, 4)]


@pytest.mark.parametrize("job", [*FAMILIES, "mpich5", "abi"], indirect=True)
@pytest.mark.parametrize(("hosts", "each"), SHAPES)
def test_ranks_of_several_hosts_make_one_log(job: Job, remote_shell: Path, hosts: int, each: int) -> None:
    ranks = hosts * each
    ended = on_hosts(job, remote_shell, hosts, each, "job")
    assert (ended.code, ended.out) == (0, "done\n"), ended.err
    assert not ended.notes
    assert job.counters("BYTES_WRITTEN") == all_written(ranks)
    rows = {int(row["rank"]): row["host"] for row in job.processes()}
    assert rows == {rank: f"node{rank // each}" for rank in range(ranks)}
    assert job.log.stat().st_mode & 0o777 == 0o400
    apart = job.counters("OPENS"), job.counters("MAX_BYTE_WRITTEN")
    job.log.unlink()
    assert job.alone(job.command(ranks, "job")).code == 0
    assert apart == (job.counters("OPENS"), job.counters("MAX_BYTE_WRITTEN"))


@pytest.mark.parametrize("other", ["", "touch $0/log.darshan_partial; chmod 600 $0/log.darshan_partial"])
@pytest.mark.parametrize(("hosts", "each"), [(4, 2), (3, 1)])
def test_only_the_first_host_sees_the_directory_of_the_log(
    job: Job, remote_shell: Path, hosts: int, each: int, other: str
) -> None:
    """Those that cannot open its file, or find another one there, leave the writing to the first."""
    logs, shell = job.cwd.parent / "logs", job.cwd.parent / "shell"
    logs.mkdir()
    private = f'sh -c "mount -t tmpfs tmpfs $0; {other or ":"}" {logs}'
    script = remote_shell.read_text().replace(
        "\nshift\nexec sh -c", f"\n[ $1 = node0 ] || {private}\nshift\nexec sh -c"
    )
    assert str(logs) in script
    shell.write_text(script)
    shell.chmod(0o755)
    log = logs / "log.darshan"
    ended = on_hosts(job, shell, hosts, each, "job", "many", IOLENS_LOGFILE=str(log))
    assert (ended.code, ended.out, ended.notes) == (0, "done\n", []), ended.err
    found = job.counters("BYTES_WRITTEN", log)
    assert found.items() >= all_written(hosts * each).items()
    assert len(found) == hosts * each * 321 + 51
    assert list(logs.iterdir()) == [log]


def test_a_host_that_is_late(job: Job, remote_shell: Path) -> None:
    ended = on_hosts(job, remote_shell, 2, 1, "job", "late", IOLENS_FINALIZE_TIMEOUT="2")
    assert (ended.code, ended.out) == (0, "done\n"), ended.err
    assert len(ended.notes) == 1
    assert "iolens recover" in ended.notes[0]
    assert not job.log.exists()


def test_the_stores_of_several_hosts_become_one_log(job: Job, remote_shell: Path, tmp_path: Path) -> None:
    """Brought to one place, each host's below a directory of its own."""
    ended = on_hosts(job, remote_shell, 2, 2, "job", keep=tmp_path / "kept", IOLENS_FINALIZE="deferred")
    assert (ended.code, ended.out) == (0, "done\n"), ended.err
    kept = sorted((tmp_path / "kept").glob("node*/iolens-*"))
    assert [path.parent.name for path in kept] == ["node0", "node1"]
    half = tmp_path / "half.darshan"
    subprocess.run([job.iolens, "recover", "-o", half, kept[0]], check=True)
    assert "# nprocs: 4\n" in job.show(half)
    assert [row["rank"] for row in job.processes(half) if row["ended"] == "missing"] == ["2", "3"]
    subprocess.run([job.iolens, "recover", "--remove", "-o", job.log, *kept], check=True)
    assert job.counters("BYTES_WRITTEN") == all_written(4)
    assert "# nprocs: 4\n" in job.show()
    assert not list((tmp_path / "kept").glob("node*/*"))


def test_one_session_of_several_hosts(job: Job, remote_shell: Path) -> None:
    """`iolens run` is on a third host; mpirun hands on what it is told to."""
    if job.mpi == "mpich":
        pytest.skip("the same with MPICH is a job of Slurm: test_slurm.py")
    handed_on = ("LD_PRELOAD", "IOLENS_SESSION", "IOLENS_SESSION_SHARED", "IOLENS_EPOCH")
    command = ["mpirun.openmpi", "--allow-run-as-root", "--mca", "plm_rsh_agent", str(remote_shell)]
    command += ["--host", "node0:2,node1:2", "--mca", "btl", "tcp,self", "--mca", "pml", "ob1", "-n", "4"]
    command += [word for name in handed_on for word in ("-x", name)]
    run = ["env", "-u", "IOLENS_TMPDIR", str(job.iolens), "run", "--quiet", "-o", str(job.log)]
    ended = job.end(job.start([*run, *command, str(job.build("job"))]))
    assert (ended.code, ended.out, ended.notes) == (0, "done\n", []), ended.err
    assert job.counters("BYTES_WRITTEN") == all_written(4)
    assert job.hosts() == {rank: f"node{rank // 2}" for rank in range(4)}
    assert [path.name for path in job.log.parent.glob("*.darshan")] == [job.log.name]
