"""A PostgreSQL server of its own for a test: in a folder, by a user without rights, reached by a socket alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def _program(name: str) -> str:
    """Debian keeps those of the server outside PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    return (
        str(found[-1])
        if found
        else shutil.which(name) or pytest.skip(f"no {name}: PostgreSQL's server is missing")
    )


@contextmanager
def postgres() -> Iterator[str]:
    """The server's address, as libpq has it."""
    initdb, control = _program("initdb"), _program("pg_ctl")
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path may have 107 characters
    other = ["gosu", "nobody"] if os.geteuid() == 0 else []  # PostgreSQL refuses root
    try:
        if other:
            shutil.chown(folder, "nobody")

        def run(*command: str) -> None:
            done = subprocess.run([*other, *command], cwd=folder, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr

        run(
            initdb,
            "-D",
            f"{folder}/data",
            "-U",
            "iolens",
            "-A",
            "trust",
            "--no-sync",
            "-E",
            "UTF8",
            "--locale",
            "C.UTF-8",
        )
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
        run(control, "-D", f"{folder}/data", "-o", options, "-l", f"{folder}/server.log", "-w", "start")
        try:
            yield f"host={folder} user=iolens dbname=postgres"
        finally:
            run(control, "-D", f"{folder}/data", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
