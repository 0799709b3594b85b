"""What `iolens top` says of programs that run is what they have done."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from looked_at import READ, WRITTEN, Place, file_of, until
from mpis import MPI


def test_counts_of_a_running_program(place: Place, steady: Path) -> None:
    place.run(steady, place.work, 1000)
    place.ready()
    job = place.job(place.session())
    own = file_of(job, "own.0")
    assert (own["reads"], own["writes"], own["opens"]) == (1000, 1000, 1)
    assert (own["bytes_read"], own["bytes_written"]) == (1000 * READ, 1000 * WRITTEN)
    assert (own["size"], own["processes"], own["interfaces"]) == (16 * WRITTEN, 1, "posix")
    assert (job["running"], job["ended"], job["ranks"], job["hosts"]) == (1, 0, 0, 1)
    assert (job["bytes_read"], job["bytes_written"]) == (1000 * READ, 1000 * WRITTEN)
    assert sum(job["heat"]["written"]) == 1000 * WRITTEN
    assert job["sizes"]["read"] == [0, 1000, 0, 0, 0, 0, 0, 0, 0, 0]
    assert job["sizes"]["written"] == [0, 0, 1000, 0, 0, 0, 0, 0, 0, 0]
    assert job["command"] == f"{steady} {place.work} 1000"
    # It only waits by now: access() and sleep.
    assert own["rates"] == {
        "reads": 0,
        "writes": 0,
        "opens": 0,
        "bytes_read": 0,
        "bytes_written": 0,
        "time": 0,
    }
    assert job["processes"][0]["state"] in "RSD"


def test_every_name_of_a_job(place: Place, steady: Path) -> None:
    place.run(steady, place.work, 1)
    place.ready()
    session = place.session()
    pid = place.job(session)["processes"][0]["pid"]
    assert Path(f"/proc/{pid}/exe").resolve() == steady
    for name in (session, session.name, session.name.removeprefix("iolens-"), pid, f"{session}"):
        assert place.job(name)["stores"] == str(session), name
    assert str(session) in [job["stores"] for job in place.look()["jobs"]]


def test_a_job_of_the_scheduler(place: Place, steady: Path) -> None:
    """Two steps of it are two sessions."""
    (place.work / "b").mkdir()
    place.run(steady, place.work, 1, SLURM_JOB_ID="4711")
    place.run(steady, place.work / "b", 1, SLURM_JOB_ID="4711")
    place.ready()
    until((place.work / "b" / "ready.0").exists, "the second step")
    jobs = place.look(4711)["jobs"]
    assert [job["job_id"] for job in jobs] == [4711, 4711]
    assert len({job["stores"] for job in jobs}) == 2
    (place.work / "b" / "leave").touch()


def test_rates_of_a_program_that_goes_on(place: Place, steady: Path) -> None:
    """Looked at again and again: no number goes back, and reads and writes are never more than one apart."""
    place.run(steady, place.work, 1000, "endless")
    place.ready()
    session = place.session()
    before = {"reads": 0, "writes": 0, "bytes_read": 0, "bytes_written": 0}
    for _ in range(20):
        job = place.job(session)
        own = file_of(job, "own.0")
        assert all(own[key] > value for key, value in before.items())
        before = {key: own[key] for key in before}
        assert 0 <= own["writes"] - own["reads"] <= 1
        assert abs(own["bytes_written"] - own["writes"] * WRITTEN) <= WRITTEN
        assert abs(own["bytes_read"] - own["reads"] * READ) <= READ
        assert own["rates"]["bytes_written"] > own["rates"]["bytes_read"] > 0
        # In the heat map the accesses of a moment later may be, and those that are just being counted not yet.
        assert 0.9 < sum(job["heat"]["written"]) / own["bytes_written"] < 1.1
    os.killpg(place.started[0].pid, signal.SIGKILL)


def test_processes_that_end_and_begin(place: Place, steady: Path) -> None:
    script = f"{steady} {place.work} 7 & cat /etc/hostname >/dev/null; wait"
    place.run("sh", "-c", script)
    place.ready()
    session = place.session()
    job = until(
        lambda: found if (found := place.job(session))["ended"] else None, "the process that has ended"
    )
    assert job["running"] == 2  # sh and the program
    assert file_of(job, "own.0")["writes"] == 7
    states = {Path(one["command"].split()[0]).name: one["state"] for one in job["processes"]}
    assert states["cat"] == "" and states["sh"] in "RS"


def test_a_killed_job_stays_visible_and_is_not_listed(place: Place, steady: Path) -> None:
    place.run(steady, place.work, 5)
    place.ready()
    session = place.session()
    os.killpg(place.started[0].pid, signal.SIGKILL)
    place.started[0].wait()
    job = until(
        lambda: found if not (found := place.job(session))["running"] else None, "that the process is gone"
    )
    assert file_of(job, "own.0")["writes"] == 5
    assert str(session) not in [job["stores"] for job in place.look()["jobs"]]
    recovered = place.call("recover", "-o", place.work / "killed.darshan", session)
    assert recovered.returncode == 0, recovered.stderr


def test_without_a_session(place: Place, preload: Path, steady: Path) -> None:
    """Each process is a job of its own."""
    env = {"LD_PRELOAD": str(preload), "IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGPATH": str(place.work)}
    process = place.start([steady, place.work, 3], **env)
    place.ready()
    job = place.job(process.pid)
    assert (job["job"], file_of(job, "own.0")["writes"]) == (str(process.pid), 3)


def test_no_such_job(place: Place) -> None:
    done = place.call("top", "--once", place.stores / "iolens-nothing")
    assert (done.returncode, done.stdout) == (3, "")
    assert re.fullmatch(
        r"iolens: top: \S+: no observed program on this node belongs to it: .*\n", done.stderr
    )


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="needs unshare as root")
def test_nothing_runs(place: Place) -> None:
    script = """
        exec 9<"$0" # the command itself may lie below /tmp
        mount -t tmpfs none /dev/shm && mount -t tmpfs none /tmp && exec /proc/self/fd/9 top --once --every 0.1
    """
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, place.iolens],
        env={**place.env, "TMPDIR": "/tmp"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "0 jobs, 0 processes: reads 0 B/s, writes 0 B/s, 0 operations/s\n"


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("gosu"), reason="needs root and gosu")
def test_only_ones_own_but_as_root(place: Place, steady: Path, tmp_path: Path) -> None:
    place.run(steady, place.work, 1)
    place.ready()
    session = place.session()
    for folder in (session.parent, *list(session.parents)[1:-1]):
        if not folder.stat().st_mode & 1:
            folder.chmod(folder.stat().st_mode | 0o11)
    done = subprocess.run(
        ["gosu", "nobody", place.iolens, "top", "--once", session],
        env=place.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (3, "")


def test_many_processes(place: Place) -> None:
    code = "import sys,os; open(os.path.join(sys.argv[1], 'ready.' + sys.argv[2]), 'wb').write(b'x' * 10)"
    stay = "; import time\nwhile not os.path.exists(os.path.join(sys.argv[1], 'leave')): time.sleep(.1)"
    script = f'for n in $(seq 0 99); do {sys.executable} -S -c "$0" {place.work} $n & done; wait'
    place.run("sh", "-c", script, code + stay)
    place.ready(100)
    job = until(
        lambda: found if (found := place.job(place.session()))["running"] == 101 else None, "101 processes"
    )
    made = [file for file in job["files"] if "/ready." in file["name"]]
    assert len(made) == 100 and sum(file["bytes_written"] for file in made) == 1000


def test_text_of_one_job(place: Place, steady: Path) -> None:
    place.run(steady, place.work, 1000)
    place.ready()
    done = place.call("top", "--once", "--every", "0.1", place.session(), LANG="C.UTF-8")
    assert (done.returncode, done.stderr) == (0, "")
    name = place.session().name.removeprefix("iolens-")
    lines = done.stdout.splitlines()
    assert lines[0] == f"{name}  {steady} {place.work} 1000"
    assert re.match(
        r"1 running; runs .*; read 500.0 KiB \(0 B/s\), wrote 3.9 MiB \(0 B/s\), 0 operations/s", lines[1]
    )
    assert lines[2].startswith("read ") and lines[3].startswith("written ") and "\u2588" in lines[3]
    assert "writes to 10K: 1,000" in done.stdout
    (own,) = (line for line in lines if line.endswith("/own.0"))
    assert own.split()[:4] == ["500.0", "KiB", "3.9", "MiB"]


def test_names_that_a_terminal_would_obey(place: Place, steady: Path) -> None:
    work = place.work / "a\x1b[2Jb"
    work.mkdir()
    place.run(steady, work, 1)
    until((work / "ready.0").exists, "its blocks")
    done = place.call("top", "--once", "--every", "0.1", place.session())
    assert "\x1b" not in done.stdout and "a\\x1b[2Jb/own.0" in done.stdout
    (work / "leave").touch()


def test_metrics_for_a_node_exporter(place: Place, steady: Path) -> None:
    place.run(steady, place.work, 1000)
    place.ready()
    file = place.work / "iolens.prom"
    done = place.call("top", "--once", "--every", "0.1", "--openmetrics", file, place.session())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not file.with_name("iolens.prom.part").exists()
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
    from prometheus_client.parser import text_string_to_metric_families as parse_old

    told = {
        (sample.name, sample.labels.get("interface")): sample.value
        for family in text_string_to_metric_families(file.read_text())
        for sample in family.samples
    }
    assert told["iolens_live_written_bytes_total", "posix"] == 1000 * WRITTEN
    assert told["iolens_live_reads_total", "posix"] == 1000
    assert told["iolens_live_processes", None] == 1
    assert any(parse_old(file.read_text()))  # what the text file collector takes


def test_metrics_again_and_again(place: Place, steady: Path) -> None:
    place.run(steady, place.work, 1, "endless")
    place.ready()
    file = place.work / "iolens.prom"
    writer = place.start(
        [place.iolens, "top", "--every", "0.1", "--openmetrics", file, place.session()],
    )

    def written() -> Any:
        found = re.search(r"^iolens_live_writes_total\{.*\"posix\"\} (\d+)", file.read_text(), re.M)
        return int(found[1]) if found else 0

    until(file.exists, "the file")
    first = until(written, "writes")
    until(lambda: written() > first, "more of them")
    os.killpg(writer.pid, signal.SIGTERM)
    os.killpg(place.started[0].pid, signal.SIGKILL)


def test_a_file_of_metrics_that_cannot_be_written(place: Place) -> None:
    done = place.call("top", "--once", "--every", "0.1", "--openmetrics", place.work / "none" / "a.prom")
    assert done.returncode == 3
    assert re.search(r"top: .*/a.prom: cannot be written: No such file or directory\n", done.stderr)


@pytest.mark.parametrize("each", [False, True], ids=["one session", "a session for each rank"])
def test_ranks_are_one_job(place: Place, mpi: MPI, steady_of: Callable[[MPI], Path], each: bool) -> None:
    program = steady_of(mpi)
    run = [place.iolens, "run", "-q"]
    env = {**mpi.environment, "IOLENS_LOGPATH": str(place.work)}
    if each:
        place.start([*mpi.launcher(4), *run, "--", program, place.work, 10], **env)
    else:
        place.start([*run, "--", *mpi.launcher(4), program, place.work, 10], **env)
    place.ready(4)
    jobs = [job for job in place.look()["jobs"] if job["stores"].startswith(str(place.stores))]
    (job,) = (job for job in jobs if job["ranks"])
    assert job["ranks"] == 4
    assert [one["rank"] for one in job["processes"] if "rank" in one] == [0, 1, 2, 3]
    for rank in range(4):
        own = file_of(job, f"own.{rank}")
        assert (own["writes"], own["bytes_written"], own["processes"]) == (10, 10 * WRITTEN, 1)
    assert job["command"] == f"{program} {place.work} 10"


def network(pid: int | str) -> Path:
    return Path(f"/proc/{pid}/ns/net").readlink()


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("nsenter"), reason="needs root and nsenter")
def test_ranks_on_two_network_namespaces_are_one_job(
    place: Place, mpi: MPI, steady_of: Callable[[MPI], Path]
) -> None:
    if mpi.family != "mpich":
        pytest.skip("its ranks need a network in common")
    nodes = [place.start(["unshare", "-n", "sleep", "1000"]) for _ in range(2)]
    for node in nodes:
        until(lambda pid=node.pid: network(pid) != network("self"), "its own network")  # type: ignore[misc]
    run = [place.iolens, "run", "-q", "--"]
    command: list[object] = [mpi.launch, *mpi.options]
    for number, node in enumerate(nodes):
        command += [":"] * number
        command += [
            "-n",
            "32",
            "nsenter",
            f"--net=/proc/{node.pid}/ns/net",
            *run,
            steady_of(mpi),
            place.work,
            2,
        ]
    place.start(command, **mpi.environment, IOLENS_LOGPATH=str(place.work))
    place.ready(64)
    (job,) = (job for job in place.look()["jobs"] if job["stores"].startswith(str(place.stores)))
    networks = {network(one["pid"]) for one in job["processes"]}
    assert (job["ranks"], job["running"], len(networks)) == (64, 64, 2)
    assert sorted(one["rank"] for one in job["processes"]) == list(range(64))
    assert sum(file_of(job, f"own.{rank}")["writes"] for rank in range(64)) == 128
    place.leave()
    for node in nodes:
        node.kill()


def test_it_only_reads(place: Place, steady: Path) -> None:
    """Of a job nothing is opened for writing, mapped, locked, signalled or traced."""
    if not shutil.which("strace"):
        pytest.skip("no strace")
    place.run(steady, place.work, 10)
    place.ready()
    trace = place.work / "trace"
    done = place.start(
        ["strace", "-f", "-o", trace, place.iolens, "top", "--json", "-n", "0.1", place.session()]
    )
    assert done.communicate()[0] and done.returncode == 0
    calls = trace.read_text().splitlines()
    of_job = [line for line in calls if str(place.stores) in line]
    assert any("openat" in line for line in of_job)
    assert not [line for line in calls if re.search(r"O_WRONLY|O_RDWR|MAP_SHARED.*, \d+, ", line)]
    assert not [
        line for line in calls if re.search(r"^\d+ +(ptrace|kill|tgkill|flock|fcntl.*LK|process_vm)", line)
    ]
