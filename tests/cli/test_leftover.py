"""Sessions whose `iolens run` was killed: whoever comes next makes their logs, unless somebody is alive."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import shown

Run = Callable[..., "subprocess.CompletedProcess[str]"]

WORK = "echo 12345 >data; mkfifo never; : >ready; read line <never"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """Where the command works; its sessions are beside it."""
    place = tmp_path / "place"
    place.mkdir()
    (tmp_path / "sessions").mkdir()
    yield place
    for process in processes_in(place):
        os.kill(process, signal.SIGKILL)


def processes_in(place: Path) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink() == place and (entry / "stat").read_text().split(")")[1][1] != "Z":
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def settings(place: Path) -> dict[str, str]:
    return {"IOLENS_TMPDIR": str(place.parent / "sessions")}


def sessions(place: Path) -> list[Path]:
    """With what a session of root has beside it for other users where the session itself is gone."""
    found = sorted((place.parent / "sessions").iterdir())
    return [path for path in found if path.with_name(path.name[1:].removesuffix(".others")) not in found]


def start(iolens: Path, place: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [iolens, "run", "-q", *options, "--", "sh", "-c", WORK]
    run = subprocess.Popen(command, cwd=place, env={**os.environ, **settings(place)})
    while not (place / "ready").exists():
        time.sleep(0.005)
    (place / "ready").unlink()
    return run


def kill(run: subprocess.Popen[bytes], place: Path, command: bool = True) -> None:
    """`iolens run` first, as the machine's reaper may do; then its command."""
    run.kill()
    run.wait()
    while command and (left := processes_in(place)):
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.01)


def written(run_iolens: Run, log: Path) -> str:
    rows = shown.records(run_iolens(["show", "--base", log]).stdout)
    return next(
        row["POSIX_BYTES_WRITTEN"] for (m, name, _), row in rows.items() if m == "POSIX" and "data" in name
    )


def test_recover_alone_finds_it_and_writes_the_log_where_it_was_meant(
    iolens: Path, run_iolens: Run, place: Path, tmp_path: Path
) -> None:
    kill(start(iolens, place, "-o", "the.darshan"), place)
    assert len(sessions(place)) == 1
    done = run_iolens(["recover"], env=settings(place), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{place}/the.darshan\n"), done.stderr
    assert written(run_iolens, place / "the.darshan") == "6"
    assert sessions(place) == []


def test_the_next_run_collects_it(iolens: Path, run_iolens: Run, place: Path, tmp_path: Path) -> None:
    kill(start(iolens, place), place)
    done = run_iolens(["run", "-o", tmp_path / "next", "true"], env=settings(place), cwd=tmp_path)
    (log,) = place.glob("*.darshan")
    assert done.returncode == 0
    assert f"iolens: run: {log}: the log of an earlier iolens run that was killed\n" in done.stderr
    assert written(run_iolens, log) == "6"
    assert sessions(place) == []


def test_a_quiet_run_collects_it_without_a_word(
    iolens: Path, run_iolens: Run, place: Path, tmp_path: Path
) -> None:
    kill(start(iolens, place, "-o", "log"), place)
    done = run_iolens(["run", "-q", "-o", tmp_path / "next", "true"], env=settings(place))
    assert (done.returncode, done.stderr, sessions(place)) == (0, "", [])
    assert (place / "log").exists()


def test_a_living_run_is_left_alone(iolens: Path, run_iolens: Run, place: Path, tmp_path: Path) -> None:
    run = start(iolens, place, "-o", "log")
    try:
        (session,) = sessions(place)
        before = sorted(session.iterdir())
        done = run_iolens(["recover"], env=settings(place))
        assert (done.returncode, done.stdout) == (0, "")
        assert run_iolens(["run", "-q", "-o", tmp_path / "next", "true"], env=settings(place)).returncode == 0
        assert sorted(session.iterdir()) == before and not (place / "log").exists()
    finally:
        run.send_signal(signal.SIGTERM)
        run.wait()
    assert written(run_iolens, place / "log") == "6"


def test_a_dead_run_whose_command_lives_is_named_and_left_alone(
    iolens: Path, run_iolens: Run, place: Path
) -> None:
    run = start(iolens, place, "-o", "log")
    kill(run, place, command=False)
    done = run_iolens(["recover"], env=settings(place))
    (session,) = sessions(place)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == (
        f"iolens: recover: {session}: left by an iolens run that was killed: 1 process of it still runs\n"
    )
    kill(run, place)
    assert run_iolens(["recover"], env=settings(place)).returncode == 0
    assert written(run_iolens, place / "log") == "6"


def test_a_log_that_is_there_by_now_is_not_touched(iolens: Path, run_iolens: Run, place: Path) -> None:
    kill(start(iolens, place, "-o", "log"), place)
    (place / "log").write_text("mine")
    assert run_iolens(["recover"], env=settings(place)).stdout == f"{place}/log-recovered1\n"
    assert (place / "log").read_text() == "mine"


def test_where_the_log_cannot_be_written_the_stores_stay(
    iolens: Path, run_iolens: Run, place: Path, tmp_path: Path
) -> None:
    (place / "logs").mkdir()
    kill(start(iolens, place, "-o", "logs/log"), place)
    (place / "logs").rmdir()
    done = run_iolens(["recover"], env=settings(place))
    (session,) = sessions(place)
    assert done.returncode == 4 and f"make it with iolens recover -o LOG {session}" in done.stderr
    assert run_iolens(["recover", "-o", tmp_path / "log", session]).returncode == 0
    assert written(run_iolens, tmp_path / "log") == "6"


def test_killed_before_anything_was_recorded(run_iolens: Run, iolens: Path, place: Path) -> None:
    kill(start(iolens, place), place)
    for store in sessions(place)[0].glob("*.store"):
        os.truncate(store, 0)
    done = run_iolens(["recover"], env=settings(place))
    assert (done.returncode, done.stdout) == (0, "")
    assert sessions(place) == []


def test_nothing_to_do(run_iolens: Run, tmp_path: Path) -> None:
    done = run_iolens(["recover"], env={"IOLENS_TMPDIR": str(tmp_path)})
    assert (done.returncode, done.stdout) == (0, "")
    assert "nothing to do" in done.stderr


@pytest.mark.parametrize(
    "what", ["open to others", "without a note", "of other process numbers", "of another machine", "a link"]
)
def test_what_may_be_somebody_elses_is_not_touched(
    what: str, iolens: Path, run_iolens: Run, place: Path, tmp_path: Path
) -> None:
    kill(start(iolens, place, "-o", "log"), place)
    (session,) = sessions(place)
    if what == "open to others":
        session.chmod(0o755)
    elif what == "without a note":
        (session / "note").unlink()
    elif what == "of other process numbers":
        note = session / "note"
        note.write_bytes(note.read_bytes().replace(b"pid:[", b"pid:[9"))
    elif what == "of another machine":
        (session / "note").write_bytes(b"x" + (session / "note").read_bytes()[1:])
    else:
        session.rename(tmp_path / "elsewhere")
        session.symlink_to(tmp_path / "elsewhere")
    before = sorted(session.iterdir())
    assert run_iolens(["recover"], env=settings(place)).stdout == ""
    assert sorted(session.iterdir()) == before and not (place / "log").exists()


def test_two_at_once_make_one_log(iolens: Path, place: Path) -> None:
    kill(start(iolens, place, "-o", "log"), place)
    env = {**os.environ, **settings(place)}
    both = [subprocess.Popen([iolens, "recover"], env=env, stdout=subprocess.PIPE) for _ in range(4)]
    outputs = [run.communicate()[0] for run in both]
    assert sum(output != b"" for output in outputs) == 1
    assert [path.name for path in place.iterdir() if path.name.startswith("log")] == ["log"]
