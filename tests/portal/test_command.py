"""iolens serve as it is called: wrong uses, and a port that somebody has."""

from __future__ import annotations

import asyncio
import socket
import subprocess
from pathlib import Path

import places
import pytest
from iolens.portal.server import listen


def said(*words: object) -> str:
    """What a wrong use is told, on one line."""
    command = [places.BIN, "serve", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "--lake is missing"),
        (["--host", "0.0.0.0"], "without --site, the portal serves this machine only"),
        (["--audit", "-"], '--audit "-": expected the name of a file'),
        (
            ["--site", "SITE", "--audit", "lines"],
            "--audit: with --site, set audit in [server] of the site's file",
        ),
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


def test_an_answer_waits_for_no_acknowledgement() -> None:
    """Head and body are two writes: with Nagle's algorithm the second one waits 40 ms for the client."""

    async def asked() -> int:
        told: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def met(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted = writer.get_extra_info("socket")
            told.set_result(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listening = listen("127.0.0.1", 0)
        async with await asyncio.start_server(met, sock=listening):
            _, writer = await asyncio.open_connection(*listening.getsockname())
            found = await told
            writer.close()
        return found

    assert asyncio.run(asked()) == 1
