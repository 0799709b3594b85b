"""Layouts in MPI jobs: a file of all ranks has one record, of the rank that knew most of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import shown
from mpis import FAMILIES, MPIS
from standin import EOF, INIT, TYPE, MiB, StandIn, composite, stripes

FIRST = (1, INIT, 0, MiB, stripes([3]))
GROWING = composite(FIRST, (2, 0, MiB, EOF, stripes([], count=4)))
GROWN = composite(FIRST, (2, INIT, MiB, EOF, stripes([4, 5, 6, 7])))
RANKS = 4
Observing = tuple[list[str], dict[str, str]]


@pytest.fixture(params=FAMILIES)
def command(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    mpi = MPIS[request.param]
    mpi.require()
    program = tmp_path / "job"
    source = Path(__file__).parent / "programs" / "job.c"
    subprocess.run([mpi.compiler(".c"), "-O1", "-o", program, source], check=True)
    return [*mpi.launcher(RANKS), str(program)]


@pytest.fixture(params=["session", "finalize"])
def observing(request: pytest.FixtureRequest, iolens: Path, preload: Path, tmp_path: Path) -> Observing:
    """What a command begins with, and its environment: under `iolens run`, or the library alone."""
    if request.param == "session":
        return [str(iolens), "run", "--quiet", "-o", str(tmp_path / "log.darshan"), "--"], {}
    return [], {"LD_PRELOAD": str(preload), "IOLENS_LOGFILE": str(tmp_path / "log.darshan")}


def test_ranks(
    observing: Observing, command: list[str], lustre: StandIn, iolens: Path, tmp_path: Path
) -> None:
    lustre.serve(shared=GROWING, shared__grown=GROWN)
    lustre.serve(**{f"own{rank}": stripes([10 * rank, 10 * rank + 1]) for rank in range(RANKS)})
    log = tmp_path / "log.darshan"
    before, settings = observing
    env = {**os.environ, "IOLENS_LUSTRE_TYPE": TYPE, "UCX_LOG_LEVEL": "error", **settings}
    line = [*before, *command, str(lustre.mount)]
    done = subprocess.run(
        line, check=False, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    text = subprocess.run([iolens, "show", log], check=True, capture_output=True, text=True).stdout
    found = {
        (Path(name).name, rank): row
        for (module, name, rank), row in shown.records(text).items()
        if module == "LUSTRE"
    }
    assert set(found) == {("shared", -1), *((f"own{rank}", rank) for rank in range(RANKS))}
    row = found["shared", -1]
    assert (row["LUSTRE_NUM_COMPONENTS"], row["LUSTRE_NUM_STRIPES"]) == ("2", "5")
    assert [row[f"LUSTRE_COMP2_OST_ID_{n}"] for n in range(4)] == ["4", "5", "6", "7"]
    for rank in range(RANKS):
        own = found[f"own{rank}", rank]
        assert own["LUSTRE_NUM_STRIPES"] == "2"
        assert [own[f"LUSTRE_COMP1_OST_ID_{n}"] for n in range(2)] == [str(10 * rank), str(10 * rank + 1)]
    assert lustre.asked.count("shared") == RANKS + 1
    assert all(lustre.asked.count(f"own{rank}") == 1 for rank in range(RANKS))
