"""iolens serve as it is called: wrong uses, and a port that somebody has."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import places
import pytest


def said(*words: object) -> str:
    """What a wrong use is told, on one line."""
    command = [places.BIN, "serve", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "--lake is missing"),
        (["--host", "0.0.0.0"], "without --site only this machine is served"),
        (["--audit", "-"], '--audit "-": expected the name of a file'),
        (["--site", "SITE", "--audit", "lines"], "--audit: with --site it stands in the site's file"),
        (["--site", "none.toml"], "none.toml: No such file"),
        (["token", "--site", "none.toml", "--user", "ann"], "none.toml: No such file"),
    ],
)
def test_wrong_uses(words: list[str], complaint: str, lake: Path, tmp_path: Path) -> None:
    given = ["--lake", str(lake)] if words and words[0] != "token" else []
    assert complaint in said(*given, *words)
    assert not list(tmp_path.iterdir())


def test_a_port_that_somebody_has(lake: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"cannot listen on 127.0.0.1:{port}" in said("--lake", lake, "--port", port)
