"""A full disk, or a limit on the size of files: one line with path and reason, and no file that is not whole."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from logmaker import DXT_POSIX, POSIX, LogMaker, dxt_posix, posix

Run = Callable[..., "subprocess.CompletedProcess[str]"]

FILES = 3000
# New files are on a file system of 16 KiB, or have at most 8 KiB.
PLACES = {
    "full": ('mount -t tmpfs -o size=16k none "$0" && exec "$@"', "No space left on device"),
    "limited": ('ulimit -f 8; exec "$@"', "File too large"),
}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pick = random.Random(1)
    made = LogMaker(names={n: b"/scratch/%016x" % pick.getrandbits(64) for n in range(1, FILES + 1)})
    counters = {"opens", "reads", "writes", "bytes_read", "bytes_written"}
    records = [posix(n, **{c: pick.getrandbits(30) for c in counters}) for n in made.names]
    segments = [(pick.getrandbits(40), pick.getrandbits(20), n, n + 1.0) for n in range(FILES)]
    made.regions = {
        POSIX: (4, b"".join(records)),
        DXT_POSIX: (1, dxt_posix(1, 0, segments, segments)),
    }
    path = tmp_path_factory.mktemp("log") / "log"
    path.write_bytes(bytes(made))
    return path


COMMANDS = {
    "convert": ["convert", "{log}", "{to}/new"],
    "merge": ["merge", "-o", "{to}/new", "{log}"],
    "show": ["show", "--csv", "--out", "{to}", "{log}"],
    **{
        f"export-{form}": ["export", "--force", "--format", form, "--to", "{to}", "{log}"]
        for form in ("parquet", "csv", "json", "perfetto")
    },
    "report": ["report", "-o", "{to}/new", "{log}"],
    "report-csv": ["report", "--json", "--csv", "{to}", "{log}"],
}


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_that_is_not_whole(iolens: Path, log: Path, tmp_path: Path, command: str, place: str) -> None:
    to, left = tmp_path / "to", tmp_path / "left"
    to.mkdir()
    words = [word.format(log=log, to=to) for word in COMMANDS[command]]
    script, reason = PLACES[place]
    # What is left is listed where the command ran: the mount is gone with it.
    run = f'"{iolens}" "$@" >/dev/null 2>err; echo $? >code; ls "$0" >left'
    run = script.replace('exec "$@"', run)
    env = {**os.environ, "IOLENS_PYTHON": sys.executable}
    shell = ["unshare", "-m", "bash", "-c", run, to, *words]
    done = subprocess.run(shell, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    if not left.exists():
        pytest.skip(f"no mounts here: {done.stderr}")
    said = (tmp_path / "err").read_text()
    assert (tmp_path / "code").read_text() == "3\n", said
    assert re.fullmatch(rf"iolens: (\w+: )?{re.escape(str(to))}/[^\n]*: {reason}\n", said), said
    whole = set(left.read_text().split())
    assert not [name for name in whole if "part" in name] and "new" not in whole
    assert not {"posix.csv", "file.parquet", "file.csv", "file.json", "trace.json"} & whole
    if command in {"export-json", "report-csv"}:
        assert whole, "what came before stays"


def test_what_was_there_stays(iolens: Path, log: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    trace.write_text("[]")
    command = [iolens, "export", "--force", "--format", "perfetto", "--to", tmp_path, log]
    script = 'ulimit -f 8; exec "$@"'
    env = {**os.environ, "IOLENS_PYTHON": sys.executable}
    done = subprocess.run(["bash", "-c", script, "sh", *command], env=env, capture_output=True, check=False)
    assert done.returncode == 3 and files_in(tmp_path) == {"trace.json": b"[]"}
    done = subprocess.run(command, env=env, capture_output=True, check=False)
    assert done.returncode == 0 and len(json.loads(trace.read_text())["traceEvents"]) > 2 * FILES


def test_a_recovered_log_is_whole_or_not_there(iolens: Path, tmp_path: Path) -> None:
    env = {**os.environ, "IOLENS_TMPDIR": str(tmp_path)}
    script = 'for n in {1..400}; do echo x > "$0/file.$RANDOM.$n"; done; kill -9 $PPID; kill -9 $$'
    run = [iolens, "run", "-q", "-o", tmp_path / "log", "--", "bash", "-c", script, tmp_path]
    subprocess.run(run, env=env, capture_output=True, check=False)
    (session,) = tmp_path.glob("iolens-*")
    command = [
        "bash",
        "-c",
        'ulimit -f 4; exec "$@"',
        "sh",
        iolens,
        "recover",
        "-o",
        tmp_path / "new",
        session,
    ]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 3 and done.stderr.endswith(": File too large\n"), done.stderr
    assert f"{tmp_path}/new" in done.stderr and not list(tmp_path.glob("new*"))
