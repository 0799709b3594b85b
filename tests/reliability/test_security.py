"""What is stored is private, and nobody can make iolens write somewhere else."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

WORK = "dd if=/dev/zero of=out bs=100 count=3 status=none"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_stores_and_their_directory_are_private(umask: int, run_iolens: Run, tmp_path: Path) -> None:
    script = "stat -c %a $IOLENS_SESSION $IOLENS_SESSION/*.store; " + WORK
    done = run_iolens(["run", "-q", "-o", "log", "--", "sh", "-c", script], cwd=tmp_path, umask=umask)
    modes = done.stdout.split()
    assert modes[0] == "700" and set(modes[1:]) == {"600"}, done.stderr
    assert mode(tmp_path / "log") == 0o400


def test_a_log_is_readable_by_the_group_when_asked_for(run_iolens: Run, tmp_path: Path) -> None:
    (tmp_path / "conf").write_text("GROUP_READABLE\n")
    for n, env in enumerate(({"IOLENS_GROUP_READABLE": "1"}, {"IOLENS_CONFIG_PATH": str(tmp_path / "conf")})):
        done = run_iolens(["run", "-q", "-o", f"log{n}", "--", "sh", "-c", WORK], cwd=tmp_path, env=env)
        assert done.returncode == 0 and mode(tmp_path / f"log{n}") == 0o440


def direct(preload: Path, folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Without `iolens run`: with settings as an attacker could make them."""
    env = {**os.environ, "LD_PRELOAD": str(preload), **settings}
    return subprocess.run(
        ["sh", "-c", WORK], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


SESSIONS = ["open to others", "link to a directory", "no directory", "relative", "missing", "somebody else's"]


@pytest.mark.parametrize("kind", SESSIONS)
def test_a_session_that_others_could_use_is_refused(kind: str, preload: Path, tmp_path: Path) -> None:
    place, session = tmp_path / "place", tmp_path / "session"
    place.mkdir()
    target = tmp_path / "target"
    target.mkdir(mode=0o700)
    if kind == "open to others":
        session.mkdir()
        session.chmod(0o777)
    elif kind == "link to a directory":
        session.symlink_to(target)
    elif kind == "no directory":
        session.write_text("")
    elif kind == "somebody else's":
        if os.geteuid() != 0:
            pytest.skip("needs root")
        session.mkdir(mode=0o700)
        shutil.chown(session, "nobody")
    name = "../session" if kind == "relative" else str(session)
    before = tree(tmp_path)
    done = direct(preload, place, IOLENS_SESSION=name)
    assert (done.returncode, done.stderr) == (0, "")
    assert tree(tmp_path) - before == {"place/out"}


def test_names_laid_out_beforehand_are_never_written_through(run_iolens: Run, tmp_path: Path) -> None:
    """A link where the log, or its temporary name, would be: refused, and its target untouched."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name, option in (("log.darshan", "log.darshan"), ("log.darshan_partial", "log.darshan")):
        (tmp_path / name).symlink_to(victim)
        done = run_iolens(["run", "-q", "-o", option, "--", "sh", "-c", "exit 5"], cwd=tmp_path)
        assert "log.darshan" in done.stderr and done.returncode in (2, 5)
        assert victim.read_text() == "precious" and (tmp_path / name).is_symlink()
        (tmp_path / name).unlink()


def test_a_process_without_a_session_writes_no_log_over_anything(preload: Path, tmp_path: Path) -> None:
    victim, stores = tmp_path / "victim", tmp_path / "stores"
    victim.write_text("precious")
    stores.mkdir()
    (tmp_path / "log").symlink_to(victim)
    settings = {
        "IOLENS_ENABLE_NONMPI": "1",
        "IOLENS_LOGFILE": str(tmp_path / "log"),
        "IOLENS_TMPDIR": str(stores),
    }
    done = direct(preload, tmp_path, **settings)
    assert done.returncode == 0 and victim.read_text() == "precious"
    assert "log not written" in done.stderr and list(stores.rglob("*.store"))


def test_a_sticky_directory_full_of_traps(iolens: Path, preload: Path, tmp_path: Path) -> None:
    """As nobody, in a directory like /tmp where somebody else was first."""
    if os.geteuid() != 0 or not shutil.which("runuser"):
        pytest.skip("needs root")
    place = Path("/tmp") / f"iolens-sticky-{os.getpid()}"
    place.mkdir()
    try:
        place.chmod(0o1777)
        for product in (iolens, preload):
            shutil.copy(product, place / product.name)
        victim = place / "victim"
        victim.write_text("precious")
        (place / "a.darshan_partial").symlink_to(victim)
        (place / "b.darshan_partial").write_text("somebody else's")
        (place / "b.darshan_partial").chmod(0o666)
        settings = f"IOLENS_TMPDIR={place} IOLENS_PRELOAD={place}/{preload.name}"
        line = f"{settings} {place}/iolens run -q -o {place}/$1.darshan -- true"
        for log in "abc":
            command = ["runuser", "-u", "nobody", "--", "sh", "-c", line, "sh", log]
            subprocess.run(command, check=False, capture_output=True, cwd=place)
        assert victim.read_text() == "precious"
        assert (place / "b.darshan_partial").read_text() == "somebody else's"
        assert (place / "c.darshan").is_file() and mode(place / "c.darshan") == 0o400
        assert not (place / "a.darshan").exists() and not (place / "b.darshan").exists()
    finally:
        shutil.rmtree(place)


def test_secrets_of_the_command_line_can_be_masked(run_iolens: Run, tmp_path: Path) -> None:
    env = {"IOLENS_MASK_ARGS": "^--token"}
    command = ["run", "-q", "-o", "log", "--", "sh", "-c", "sh -c true --token=inner", "x", "--token=outer"]
    assert run_iolens(command, cwd=tmp_path, env=env).returncode == 0
    text = run_iolens(["show", "--all", "--ext", "log"], cwd=tmp_path).stdout
    assert "token=outer" not in text and "***" in text
