"""The log and the report of a job that still runs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import shown
from looked_at import WRITTEN, Place
from mpis import MPI

COMMAND = Path(sys.executable).parent / "iolens"


def written(place: Place, log: Path) -> dict[str, int]:
    told = place.call("show", "--base", log)
    assert told.returncode in (0, 4), told.stderr
    return {
        Path(name).name: int(row["POSIX_BYTES_WRITTEN"])
        for (module, name, _), row in shown.records(told.stdout).items()
        if module == "POSIX"
    }


def test_a_log_of_what_was_done_until_now(place: Place, steady: Path) -> None:
    run = place.run(steady, place.work, 100)
    place.ready()
    session = place.session()
    while not (session / "platform").exists():  # `iolens run` writes it while the program runs
        time.sleep(0.01)
    before = sorted(path.name for path in session.iterdir())
    log = place.work / "now.darshan"
    done = place.call("recover", "--live", "-o", log, session)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{log}\n", "")
    assert written(place, log)["own.0"] == 100 * WRITTEN
    assert sorted(path.name for path in session.iterdir()) == before and run.poll() is None
    place.leave()
    assert run.wait(60) == 0  # and its own log is whole
    assert written(place, place.work / "log0.darshan")["own.0"] == 100 * WRITTEN


def test_its_stores_are_not_removed(place: Place, steady: Path) -> None:
    place.run(steady, place.work, 1)
    place.ready()
    done = place.call("recover", "--live", "--remove", place.session())
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "iolens: recover: --live and --remove: give one of them: a running job needs its stores\n"
    )


def test_no_such_job(place: Place) -> None:
    done = place.call("recover", "--live", "iolens-nothing")
    assert (done.returncode, done.stdout) == (3, "") and "no observed program" in done.stderr
    report = subprocess.run(
        [COMMAND, "report", "--live", "iolens-nothing"],
        env=place.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (report.returncode, report.stdout) == (3, "")
    assert report.stderr.startswith("iolens: ") and report.stderr.count("\n") == 1


def test_ranks_with_sessions_of_their_own(place: Place, mpi: MPI, steady_of: Callable[[MPI], Path]) -> None:
    run = [place.iolens, "run", "-q"]
    command = [*mpi.launcher(4), *run, "--", steady_of(mpi), place.work, 10]
    place.start(command, **mpi.environment, IOLENS_LOGPATH=str(place.work))
    place.ready(4)
    (job,) = (
        one for one in place.look()["jobs"] if one["ranks"] and one["stores"].startswith(str(place.stores))
    )
    log = place.work / "now.darshan"
    done = place.call("recover", "--live", "-o", log, job["job"])
    assert (done.returncode, done.stderr) == (0, "")
    found = written(place, log)
    assert {f"own.{rank}": 10 * WRITTEN for rank in range(4)}.items() <= found.items()


def test_a_report(place: Place, steady: Path) -> None:
    place.run(steady, place.work, 100)
    place.ready()
    name = place.session().name
    done = subprocess.run(
        [COMMAND, "report", "--live", "--json", name],
        env=place.env,
        cwd=place.work,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "own.0" in done.stdout and json.loads(done.stdout)["schema"]["name"] == "report"
    page = subprocess.run(
        [COMMAND, "report", "--live", name],
        env=place.env,
        cwd=place.work,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (page.returncode, page.stdout) == (0, f"{name}-live.html\n"), page.stderr
    assert "own.0" in (place.work / f"{name}-live.html").read_text()
