"""What earlier versions left is read with the same numbers: their logs, with what they printed of them, and a store.

`tests/upgrade/make` makes a folder of these from a version.
"""

from __future__ import annotations

import gzip
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import drishti
import iolens as package
import pytest
from observed import Observed

Run = Callable[..., "subprocess.CompletedProcess[str]"]
LOGS = Path(__file__).parent / "logs"
FOLDERS = sorted(LOGS.iterdir())
EVERY = [pytest.param(log, id=f"{log.parent.name}/{log.stem}") for log in sorted(LOGS.glob("*/*.darshan"))]


def test_there_is_a_folder_of_a_version() -> None:
    kinds = {"processes", "trace", "compact", "phases", "hdf5", "mpich", "openmpi"}
    assert FOLDERS
    for folder in FOLDERS:
        assert {log.stem for log in folder.glob("*.darshan")} == kinds


DESCRIBED = re.compile(r"^(#   \w+(?: \.\.\. \w+)?:) .*")
"""A counter, or the first and the last of several, and what it is."""


@pytest.mark.parametrize("log", EVERY)
def test_a_log_tells_what_it_told(run_iolens: Run, log: Path) -> None:
    """Each line of that version is there, in its order; tables and counters may have come, and better descriptions."""
    told = gzip.decompress(log.with_suffix(".txt.gz").read_bytes()).decode(errors="surrogateescape")
    done = run_iolens(["show", "--base", "--ext", log])
    assert (done.returncode, done.stderr) == (0, "")
    now = iter([DESCRIBED.sub(r"\1", line) for line in done.stdout.splitlines()])
    before = [DESCRIBED.sub(r"\1", line) for line in told.splitlines()]
    missing = next((line for line in before if line not in now), None)
    assert missing is None
    assert run_iolens(["check", log]).returncode == 0


@pytest.mark.parametrize("log", EVERY)
def test_every_command_takes_it(run_iolens: Run, log: Path, tmp_path: Path) -> None:
    for command in (["info"], ["files"], ["findings"], ["sql", "FROM metric.headline"]):
        words = [command[0], log, *command[1:]]
        done = run_iolens(words)
        assert (done.returncode, done.stderr) == (0, ""), words
    assert run_iolens(["report", log, "-o", tmp_path / "page.html"]).returncode == 0
    again = tmp_path / "again.darshan"
    assert run_iolens(["convert", log, again]).returncode == 0
    assert run_iolens(["diff", log, again]).returncode == 0


@pytest.mark.parametrize("log", EVERY)
def test_python_reads_it(log: Path) -> None:
    told = gzip.decompress(log.with_suffix(".txt.gz").read_bytes()).decode(errors="surrogateescape")
    lines = [line.split("\t") for line in told.splitlines() if line.startswith("POSIX\t")]
    wanted = sum(int(words[4]) for words in lines if words[3] == "POSIX_BYTES_WRITTEN")
    with package.open(log) as opened:
        assert (
            sum(opened["posix"].select(["bytes_written"]).to_arrow()["bytes_written"].to_pylist())
            == wanted
            > 0
        )


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_store_keeps_its_counters(run_iolens: Run, folder: Path, tmp_path: Path) -> None:
    """Of another layout of stores: the log has what is in Darshan's format, the store stays, and it is said."""
    stores = tmp_path / "stores"
    stores.mkdir(0o700)
    store = stores / "node1.4711.1.store"
    store.write_bytes(gzip.decompress((folder / "killed.store.gz").read_bytes()))
    log = tmp_path / "log.darshan"
    done = run_iolens(["recover", "--remove", "-o", log, stores])
    assert done.stderr == (
        "iolens: recover: 1 of 1 store is of another version of iolens: the log has the counters; "
        "`iolens recover` of that version has all\n"
    )
    assert done.returncode == 4
    assert store.exists()
    shown = run_iolens(["show", "--base", log]).stdout
    assert "\tPOSIX_BYTES_READ\t3000000\t/tmp/upgrade/in\t" in shown


@pytest.mark.parametrize("log", EVERY)
def test_drishti_reads_it(log: Path, iolens: Path) -> None:
    drishti.agrees(Observed(subprocess.CompletedProcess([], 0), log, iolens))
