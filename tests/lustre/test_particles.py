"""The view of the HACC-IO study, from a real run: which targets are slow, and that one server has them all."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from iolens.metrics import Dataset
from mpis import MPIS
from standin import TYPE, MiB, StandIn, stripes
from test_mounts import describe_client

RANKS = 18
SERVERS = {ost: "oss1" if ost < 6 else f"oss{(ost + 2) // 4}" for ost in range(RANKS)}


@pytest.fixture
def client(lustre: StandIn, tmp_path: Path) -> Iterator[list[str]]:
    """Of 18 targets the first six are on one server, the others four and four; and that one is slow."""
    yield describe_client(tmp_path / "fs", SERVERS)
    assert len(lustre.asked) == RANKS


def test_the_slow_targets_are_one_servers(
    client: list[str], lustre: StandIn, iolens: Path, tmp_path: Path
) -> None:
    mpi = MPIS["mpich"]
    mpi.require()
    program, log = tmp_path / "particles", tmp_path / "log.darshan"
    source = Path(__file__).parent / "programs" / "particles.c"
    subprocess.run([mpi.compiler(".c"), "-O1", "-o", program, source], check=True)
    for rank in range(RANKS):
        lustre.serve(**{f"particles__{rank}": stripes([rank])})
        if SERVERS[rank] == "oss1":
            (lustre.layouts / f"particles.{rank}.slow").touch()
    line = [*client, iolens, "run", "--quiet", "-o", log, "--", *mpi.launcher(RANKS), program, lustre.mount]
    env = {**os.environ, "IOLENS_LUSTRE_TYPE": TYPE, "UCX_LOG_LEVEL": "error"}
    command = [str(word) for word in line]
    done = subprocess.run(command, check=False, cwd=tmp_path, env=env, capture_output=True, timeout=100)
    assert done.returncode == 0, done.stderr
    with Dataset(log) as data:
        targets = data.metric("ost_occupancy")
        assert [(row["ost"], row["files"], row["ranks"], row["bytes"]) for row in targets] == [
            (ost, 1, 1, 8 * MiB) for ost in range(RANKS)
        ]
        servers = data.metric("server_occupancy")
        assert [(row["oss"], row["osts"], row["used"], row["bytes"]) for row in servers] == [
            ("oss1", 6, 6, 48 * MiB),
            *((f"oss{n}", 4, 4, 32 * MiB) for n in (2, 3, 4)),
        ]
        assert max(servers, key=lambda row: row["median"])["oss"] == "oss1"
    found = subprocess.run([iolens, "findings", log], check=False, capture_output=True, text=True)
    assert "6 of 18 storage targets" in found.stdout
