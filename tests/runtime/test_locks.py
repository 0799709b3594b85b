"""Advisory locks: what was taken and refused, and how long a program waited for which file."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import shown
from here import Run, in_this_process, level_of_report, verdict
from iolens.metrics import Dataset
from iolens.rules.instead import instead
from jobs import Job
from observed import Observe

HOLDER = """
import fcntl, os, time
ready, done = os.pipe()
if os.fork() == 0:
    mine = open("contended", "w")
    {take}(mine, fcntl.LOCK_EX)
    os.write(done, b"x")
    time.sleep(0.4)
    os._exit(0)
os.read(ready, 1)
file = open("contended", "w")
try:
    {take}(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    pass
{take}(file, fcntl.LOCK_EX)
{take}(file, fcntl.LOCK_UN)
os.wait()
"""


def locks(sections: dict[str, list[shown.Row]], name: str) -> dict[str, shown.Row]:
    return {row["rank"]: row for row in sections["locks"] if Path(row["file"]).name == name}


@pytest.mark.parametrize("take", ["fcntl.lockf", "fcntl.flock"])
def test_the_time_that_a_program_waited_for_a_file(take: str, observe: Observe, tmp_path: Path) -> None:
    seen = observe(["python3", "-c", HOLDER.format(take=take)], cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr
    parent, child = (locks(seen.sections, "contended")[rank] for rank in ("0", "1"))
    counts = [int(parent[field]) for field in ("shared", "exclusive", "released", "refused")]
    assert counts == [0, 1, 1, 1]
    assert 0.2 < float(parent["longest"]) <= float(parent["wait_time"]) < 0.4 + 5
    assert (int(child["exclusive"]), int(child["released"])) == (1, 0)
    assert float(child["wait_time"]) < 0.2


def test_a_lock_on_what_has_no_record_takes_its_own_time(observe: Observe, tmp_path: Path) -> None:
    """Not that of the program until then."""
    program = "import fcntl, time; time.sleep(0.5); fcntl.lockf(open('/var/tmp/lock-of-a-test', 'w'), fcntl.LOCK_EX)"
    try:
        seen = observe(["python3", "-c", program], cwd=tmp_path)
    finally:
        Path("/var/tmp/lock-of-a-test").unlink(missing_ok=True)
    (row,) = [row for row in seen.sections["operation"] if row["name"] == "lock"]
    assert int(row["count"]) == 1
    assert float(row["time"]) < 0.1
    assert "locks" not in seen.sections


def test_more_files_than_there_are_rows(observe: Observe, tmp_path: Path) -> None:
    program = (
        "import fcntl\nfor n in range(100):\n    with open(f'{n}', 'w') as f: fcntl.flock(f, fcntl.LOCK_SH)"
    )
    rows = observe(["python3", "-c", program], cwd=tmp_path).sections["locks"]
    assert len(rows) == 64
    assert sum(int(row["shared"]) for row in rows) == 100
    assert [int(row["shared"]) for row in rows if not row["file"]] == [37]


@pytest.fixture
def here(run_iolens: Run) -> Run:
    return in_this_process(run_iolens)


TAKER = """
import fcntl
with open("contended", "w") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
"""


def test_a_wait_for_another_program_is_no_io(observe: Observe, here: Run, tmp_path: Path) -> None:
    """flock(1), which is not observed, says that it has the lock, and keeps it for a second."""
    command = ["flock", "contended", "sh", "-c", "echo held; sleep 1"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout and holder.stdout.readline() == "held\n"
        seen = observe(["python3", "-S", "-c", TAKER], cwd=tmp_path)
    found = verdict(here, seen.log)
    assert found["io_share"] < 0.2
    assert "of the run, for a lock on contended, which no other process of the job locks" in found["text"]


def process(rank: int, io: float, meta: float) -> dict[str, Any]:
    """Of 10 s, of which it used a processor for 0.2."""
    times = {"io_time": io, "read_time": 0.0, "write_time": io - meta, "meta_time": meta}
    used = {
        "user_time": 0.2,
        "system_time": 0.0,
        "major_faults": 0,
        "waits": 9,
        "storage_read": 0,
        "seen_read": 0,
    }
    row = {
        "rank": rank,
        "pid": 100 + rank,
        "start": 0.0,
        "end": 10.0,
        "exe": "/bin/x",
        "mpi": "",
        "ended": "exit",
    }
    return {**row, **times, **used}


def held(rank: int, wait: float, locks: int = 1) -> dict[str, Any]:
    counts = {"shared": 0, "exclusive": locks, "released": locks, "refused": 0}
    return {"rank": rank, "file": "/d/db.lock", **counts, "wait_time": wait, "longest": wait}


def waits() -> Job:
    """For a program outside of the job."""
    return Job(nprocs=1, run_time=10).section("process", process(0, 9.6, 9.5)).section("locks", held(0, 9.5))


def waits_for_a_sleeper() -> Job:
    job = Job(nprocs=2, run_time=10).section("process", process(0, 9.6, 9.5), process(1, 0.1, 0.0))
    return job.section("locks", held(0, 9.5), held(1, 0.0))


def waits_for_io() -> Job:
    """The process with the lock writes all the while."""
    job = Job(nprocs=2, run_time=10).section("process", process(0, 9.6, 9.5), process(1, 9.8, 0.0))
    return job.section("locks", held(0, 9.5), held(1, 0.0))


def many_free_ones() -> Job:
    """A million locks of 6 us each: calls, and no waits."""
    job = Job(nprocs=1, run_time=10).section("process", process(0, 6.1, 6.0))
    return job.section("locks", held(0, 6.0, 1_000_000))


@pytest.mark.parametrize(
    ("job", "waited", "words"),
    [
        (waits, 9.5, "for a lock on db.lock, which no other process of the job locks"),
        (waits_for_a_sleeper, 9.4, "for a lock on db.lock, which other processes of the job lock, too"),
        (waits_for_io, 0, ""),
        (many_free_ones, 0, ""),
    ],
)
def test_the_verdict_takes_waits_for_locks_out(
    here: Run, tmp_path: Path, job: Callable[[], Job], waited: float, words: str
) -> None:
    log = job().posix("/d/db", 0, write={100: 5}, meta_time=0.1).save(tmp_path / "job.darshan")
    found = verdict(here, log)
    assert found["level"] == level_of_report(here, log) == ("good" if words else "problem")
    with Dataset(log) as data:
        (row,), (counted,) = data.metric("instead"), data.metric("verdict_time")
    assert row["lock_wait"] == counted["locks"] == pytest.approx(waited, abs=0.001)
    assert found["io_share"] == pytest.approx(counted["value"] / 10)
    if words:
        said = f"waiting, {10 * waited:.0f} % of the run, {words}"
        assert found["text"].endswith(f"; it is {said}") and instead(row, 10.0) == said
    else:
        assert "waiting" not in found["text"]
