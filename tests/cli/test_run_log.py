"""A log that cannot be written: the command's result stands, its stores are kept and named."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from observed import Observe

FULL = "dd if=/dev/zero of={} bs=64k count=100000 2>/dev/null; echo done; exit 7"


def kept_stores(stderr: str, log: str) -> Path:
    """The directory that the one line on stderr names."""
    found = re.fullmatch(
        rf"iolens: run: {re.escape(log)}: log not written: .+: make it with iolens recover (/.+)\n", stderr
    )
    assert found, stderr
    return Path(found[1])


@pytest.fixture
def mounts(tmp_path: Path) -> Iterator[Path]:
    """Where tests may mount things; unmounted at the end."""
    place = tmp_path / "mounts"
    place.mkdir()
    yield place
    for entry in place.iterdir():
        subprocess.run(["umount", entry], check=False, capture_output=True)


def tmpfs(place: Path, options: str) -> Path:
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], check=False, capture_output=True
    )
    if made.returncode:
        pytest.skip("mounting a file system needs root")
    return place


def test_the_directory_vanishes(run_iolens, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    script = "echo text >file; rm -r logs; echo out; echo err >&2; exit 7"
    done = run_iolens(["run", "-o", "logs/a.darshan", "--", "sh", "-c", script], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (7, "out\n")
    first, rest = done.stderr.split("\n", 1)
    assert first == "err"
    stores = kept_stores(rest, "logs/a.darshan")
    assert "No such file or directory" in rest
    assert len(list(stores.glob("*.store"))) == 2
    made = run_iolens(["recover", "--remove", "-o", "b.darshan", stores], cwd=tmp_path)
    assert (made.returncode, made.stderr) == (0, "")
    assert f"{tmp_path}/file" in run_iolens(["show", tmp_path / "b.darshan"]).stdout
    shutil.rmtree(stores, ignore_errors=True)


def test_we_are_killed(run_iolens, iolens: Path, tmp_path: Path) -> None:
    stores = tmp_path / "stores"
    stores.mkdir()
    script = "echo text >file; echo $$ >pid; kill -9 $PPID; read go <ended; echo more >more"
    command = [iolens, "run", "-o", "a.darshan", "--", "sh", "-c", script]
    env = {**os.environ, "IOLENS_TMPDIR": str(stores)}
    os.mkfifo(tmp_path / "ended")
    assert subprocess.run(command, cwd=tmp_path, env=env, check=False).returncode == -9
    shell = os.pidfd_open(int((tmp_path / "pid").read_text()))
    (tmp_path / "ended").write_text("go\n")
    assert select.select([shell], [], [], 300)[0], "the shell goes on without us, and ends"
    os.close(shell)
    (session,) = (place for place in stores.iterdir() if not place.name.startswith("."))
    made = run_iolens(["recover", "-o", "b.darshan", session], cwd=tmp_path)
    assert (made.returncode, made.stderr) == (0, "")
    shown = run_iolens(["show", tmp_path / "b.darshan"]).stdout
    assert f"{tmp_path}/file" in shown and f"{tmp_path}/more" in shown


def test_the_name_is_taken_meanwhile(run_iolens, tmp_path: Path) -> None:
    done = run_iolens(["run", "-o", "a", "--", "sh", "-c", "echo precious >a; exit 7"], cwd=tmp_path)
    assert done.returncode == 7
    stores = kept_stores(done.stderr, "a")
    assert (tmp_path / "a").read_text() == "precious\n"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    shutil.rmtree(stores)


def test_the_name_is_taken_while_a_launcher_runs(run_iolens, tmp_path: Path) -> None:
    """Other nodes may have left stores beside the log: what is said leads to all."""
    launcher = tmp_path / "mpirun"
    launcher.write_text("#!/bin/sh\necho precious >a\n")
    launcher.chmod(0o755)
    done = run_iolens(["run", "-q", "-o", "a", "--", launcher], cwd=tmp_path)
    near, shared = done.stderr.split("iolens recover ")[1].split()
    assert Path(shared).parent == tmp_path
    assert run_iolens(["recover", "-o", tmp_path / "b.darshan", near, shared]).returncode == 0
    assert (tmp_path / "b.darshan").exists()
    shutil.rmtree(near)


def test_the_file_system_is_full(run_iolens, mounts: Path) -> None:
    small = tmpfs(mounts / "small", "size=256k")
    script = FULL.format(small / "filler")
    done = run_iolens(["run", "-o", small / "a.darshan", "--", "sh", "-c", script])
    assert (done.returncode, done.stdout) == (7, "done\n")
    stores = kept_stores(done.stderr, str(small / "a.darshan"))
    assert "No space left on device" in done.stderr
    assert [p.name for p in small.iterdir()] == ["filler"]
    shutil.rmtree(stores)


def test_the_file_system_becomes_read_only(run_iolens, mounts: Path) -> None:
    place = tmpfs(mounts / "place", "size=1m")
    script = f"mount -o remount,ro {place}; echo done; exit 7"
    done = run_iolens(["run", "-o", place / "a.darshan", "--", "sh", "-c", script])
    assert (done.returncode, done.stdout) == (7, "done\n")
    stores = kept_stores(done.stderr, str(place / "a.darshan"))
    assert "Read-only file system" in done.stderr
    shutil.rmtree(stores)


def test_the_summary_file_cannot_be_written_any_more(run_iolens, tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    command = ["-q", "--json", "place/a.json", "-o", "a.darshan", "--", "sh", "-c", "rmdir place; exit 7"]
    done = run_iolens(["run", *command], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (7, "")
    assert re.fullmatch(r"iolens: run: place/a\.json: [^\n]+\n", done.stderr)
    assert (tmp_path / "a.darshan").exists()


def test_a_relative_name_is_relative_to_where_we_started(run_iolens, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    command = ["-q", "-o", "a.darshan", "--", "sh", "-c", "cd elsewhere; echo text >file"]
    assert run_iolens(["run", *command], cwd=tmp_path).returncode == 0
    assert f"{tmp_path}/elsewhere/file" in run_iolens(["show", tmp_path / "a.darshan"]).stdout


def test_a_log_is_for_reading_only(observe: Observe) -> None:
    assert observe(["true"]).log.stat().st_mode & 0o777 == 0o400


def test_nothing_is_left_in_the_directory_of_stores(observe: Observe, tmp_path: Path) -> None:
    env = {"IOLENS_TMPDIR": str(tmp_path)}
    assert observe(["sh", "-c", "true; ls"], cwd=tmp_path, env=env).done.stdout.startswith(b"iolens-")
    observe(["sh", "-c", "kill -9 $$"], env=env)
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_does_not_start_leaves_nothing(run_iolens, tmp_path: Path) -> None:
    env = {"IOLENS_TMPDIR": str(tmp_path)}
    for arguments in (["no-such-command"], ["/etc/passwd"], ["-o", "/no/where", "true"], ["-o"]):
        assert run_iolens(["run", *arguments], cwd=tmp_path, env=env).returncode in (2, 126, 127)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", ["missing", "read-only", "full"])
def test_without_the_usual_place_the_stores_go_elsewhere(observe: Observe, tmp_path: Path, how: str) -> None:
    hide = {
        "missing": "mount -t tmpfs tmpfs /dev && mknod /dev/null c 1 3 && chmod 666 /dev/null",
        "read-only": "mount -t tmpfs -o ro tmpfs /dev/shm",
        "full": "mount -t tmpfs -o size=64k tmpfs /dev/shm",
    }[how]
    line = f'{hide} 2>/dev/null || exit 99; exec "$@"'
    command = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        line,
        "sh",
        observe.iolens,
        "run",
        "-q",
        "-o",
        "a.darshan",
        "--",
    ]
    script = "echo text >file; echo $IOLENS_SESSION; exit 7"
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [*map(str, command), "sh", "-c", script], cwd=tmp_path, env=env, capture_output=True, check=False
    )
    if done.returncode in (1, 99) or not shutil.which("unshare"):
        pytest.skip("a mount namespace needs root")
    assert (done.returncode, done.stderr) == (7, b"")
    assert done.stdout.startswith(bytes(tmp_path / "iolens-"))
    assert {p.name for p in tmp_path.iterdir()} == {"file", "a.darshan"}


def test_nowhere_for_the_stores_is_said_before_the_command_starts(iolens: Path, tmp_path: Path) -> None:
    lock = "mount --bind /{0} /{0} && mount -o remount,bind,ro /{0} || exit 99"
    place = Path("/var/tmp") / tmp_path.name
    hide = f"{lock.format('tmp')}; {lock.format('dev/shm')}"
    line = f'{hide}; cd {place}; exec "$0" run -o a.darshan -- touch started'
    place.mkdir()
    try:
        command = ["unshare", "--mount", "sh", "-c", line, iolens]
        done = subprocess.run([*map(str, command)], capture_output=True, check=False, text=True)
        if done.returncode in (1, 99):
            pytest.skip("a mount namespace needs root")
        assert (done.returncode, done.stdout) == (3, "")
        assert re.fullmatch(r"iolens: run: [^\n]+ set IOLENS_TMPDIR [^\n]+\n", done.stderr)
        assert list(place.iterdir()) == []
    finally:
        shutil.rmtree(place)
