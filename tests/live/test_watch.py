"""A file server stops answering: who waits for it is named, and nothing else hangs."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from looked_at import Place, until
from mpi_job import Programs
from mpis import MPI

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lustre"))

from standin import TYPE, StandIn, build, stand_in

WRITER = """
import os, sys, time
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
os.write(file, b"x" * 4096)
open(sys.argv[2], "w").close()
while not os.path.exists(sys.argv[3]):
    os.pwrite(file, b"x" * 4096, 0)
    time.sleep(0.01)
"""
# Waits for a name instead of a descriptor, in a thread of its own.
LOOKER = """
import os, sys, threading, time
def look():
    while not os.path.exists(sys.argv[3]):
        try:
            os.stat(sys.argv[1])
        except OSError:
            pass
        time.sleep(0.01)
open(sys.argv[2], "w").close()
threading.Thread(target=look).start()
"""


@pytest.fixture(scope="session")
def server_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("server"))


@pytest.fixture
def server(server_program: Path, tmp_path: Path, place: Place) -> Iterator[StandIn]:
    folder = tmp_path.resolve() / "server"
    folder.mkdir()
    with stand_in(server_program, folder) as mounted:
        yield mounted
        assert mounted.server is not None
        mounted.server.send_signal(signal.SIGCONT)
        place.end()


def stop(server: StandIn) -> None:
    assert server.server is not None
    server.server.send_signal(signal.SIGSTOP)
    stat = Path(f"/proc/{server.server.pid}/stat")
    until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T", "the stopped server")


def test_a_write_that_is_not_answered(place: Place, server: StandIn) -> None:
    file = server.mount / "out"
    place.run(sys.executable, "-S", "-c", WRITER, file, place.work / "ready.0", place.work / "leave")
    place.ready()
    stop(server)
    done = place.call("watch", "--stall", "1", place.session())
    assert (done.returncode, done.stderr) == (1, "")
    head, named, mount, kernel, sums = done.stdout.splitlines()
    assert head.startswith(place.session().name.removeprefix("iolens-"))
    pid = place.job(place.session())["processes"][0]["pid"]
    assert (
        named.startswith(f"process {pid} on ")
        and f"waits in pwrite64 of {file} (descriptor 3), for " in named
    )
    assert mount == f"  on {server.mount}, {TYPE}, from mgs@tcp:/standin"
    assert "fuse" in kernel or "request_wait_answer" in kernel
    assert sums == "1 call on files waits, among 1 thread of 1 process"


def test_a_rank_is_named(place: Place, server: StandIn, mpi: MPI, built: Programs) -> None:
    file = server.mount / "checkpoint"
    command = [*mpi.launcher(4), built(mpi, "waiting"), place.work, file, 2]
    place.run(*command, **mpi.environment)
    place.ready(4)
    stop(server)
    done = place.call("watch", "--stall", "1", "--json", place.session())
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    (job,) = told["jobs"]
    (wait,) = job["waits"]
    assert (wait["rank"], wait["call"], wait["file"]) == (2, "write", str(file))
    assert (wait["mount"], wait["file_system"]) == (str(server.mount), TYPE)
    assert 1 <= wait["at_least"] <= 5, "named within five seconds"
    assert wait["at_least"] <= wait["at_most"] < 60
    assert job["running"] >= 4 and job["threads"] >= 4


def test_a_name_that_is_looked_up(place: Place, server: StandIn) -> None:
    file = server.mount / "somewhere" / "else"
    place.run(sys.executable, "-S", "-c", LOOKER, file, place.work / "ready.0", place.work / "leave")
    place.ready()
    stop(server)
    done = place.call("watch", "--stall", "0.5", "--json", place.session())
    assert done.returncode == 1, done.stderr
    (wait,) = json.loads(done.stdout)["jobs"][0]["waits"]
    assert wait["file"] == str(file) and wait["call"] in ("stat", "newfstatat", "statx")
    assert wait["thread"] != wait["pid"] and wait["mount"] == str(server.mount)


def test_once_names_what_is_waited_in(place: Place, server: StandIn) -> None:
    file = server.mount / "out"
    place.run(sys.executable, "-S", "-c", WRITER, file, place.work / "ready.0", place.work / "leave")
    place.ready()
    stop(server)

    def named() -> bool:
        done = place.call("watch", "--once", place.session())
        assert done.returncode == 0, done.stderr
        return f"waits in pwrite64 of {file}" in done.stdout

    until(named, "the write")
    time.sleep(0.5)
    done = place.call("watch", "--once", "--stall", "0.5", place.session())
    (line,) = (line for line in done.stdout.splitlines() if str(file) in line)
    assert done.returncode == 1 and re.search(r", for \d+\.\d s at least, \d+\.\d s at most: a stall$", line)
    assert done.stdout.endswith("among 1 thread of 1 process; 1 for 0.5 s or longer\n")
    found = place.call("watch", "--once", "--json", "--stall", "0.5", place.session())
    (wait,) = json.loads(found.stdout)["jobs"][0]["waits"]
    assert found.returncode == 1 and wait["stalled"] is True and wait["at_least"] >= 0.5
    later = json.loads(place.call("watch", "--once", "--json", "--stall", "1000", place.session()).stdout)
    assert [one["stalled"] for one in later["jobs"][0]["waits"]] == [False]


def test_the_hook_gets_what_was_found(place: Place, server: StandIn) -> None:
    file = server.mount / "out"
    place.run(sys.executable, "-S", "-c", WRITER, file, place.work / "ready.0", place.work / "leave")
    place.ready()
    stop(server)
    found = place.work / "found.json"
    done = place.call("watch", "--stall", "0.5", "--run", f"cat > {found}", place.session())
    assert done.returncode == 1, done.stderr
    assert json.loads(found.read_text())["jobs"][0]["waits"][0]["file"] == str(file)
    failing = place.call("watch", "--stall", "0.5", "--run", "exit 3", place.session())
    assert (failing.returncode, failing.stderr) == (
        1,
        "iolens: watch: the command of --run has failed: exit 3\n",
    )


def test_a_job_that_goes_on_and_ends(place: Place, steady: Path) -> None:
    """Its reads and writes are never one and the same call for long; nor is a wait for another process a stall."""
    place.run(steady, place.work, 1000)
    place.ready()
    watcher = place.start([place.iolens, "watch", "--stall", "0.3", place.session()])
    assert place.call("watch", "--once", "--stall", "0.3", place.session()).returncode == 0
    place.leave()
    assert watcher.communicate(timeout=300) == ("", "") and watcher.returncode == 0


def test_a_process_that_is_stopped(place: Place, steady: Path) -> None:
    place.run(steady, place.work, 1)
    place.ready()
    pid = place.job(place.session())["processes"][0]["pid"]
    os.kill(pid, signal.SIGSTOP)
    done = place.call("watch", "--stall", "0.3", place.session())
    os.kill(pid, signal.SIGCONT)
    assert (
        done.returncode == 1 and f"process {pid} on " in done.stdout and "stopped by a signal" in done.stdout
    )


def test_no_such_job(place: Place) -> None:
    done = place.call("watch", place.stores / "iolens-nothing")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("iolens: watch: ") and done.stderr.count("\n") == 1


def test_it_asks_no_file_system(place: Place, server: StandIn) -> None:
    """Also where the stopped one is the place for temporary files."""
    file = server.mount / "out"
    place.run(sys.executable, "-S", "-c", WRITER, file, place.work / "ready.0", place.work / "leave")
    place.ready()
    stop(server)
    done = place.call("watch", "--stall", "0.5", place.session(), TMPDIR=str(server.mount))
    assert done.returncode == 1 and str(file) in done.stdout
