"""What a call costs, in instructions: a wrapper that has become slower fails, on every machine alike (budgets.toml)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import places
import pytest
from places import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from callgrind import Work, work_of  # noqa: E402

BUDGETS: dict[str, dict[str, Any]] = tomllib.loads((HERE / "budgets.toml").read_text())
ENDS = BUDGETS.pop("ends")
START = BUDGETS.pop("start")
FEW, MANY, MORE = 1000, 3000, 9000
LEAST = 0.85  # of a budget
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
CLOCK = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs are built."""
    return tmp_path_factory.mktemp("programs")


@pytest.fixture
def place() -> Iterator[Path]:
    """Of the same length each time: what hashes a name takes longer for a longer one."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        yield Path(made)


def program_of(name: str, folder: Path) -> Path:
    what, program = BUDGETS[name], folder / name
    if not shutil.which(what["compiler"][0]):
        pytest.skip(f"no {what['compiler'][0]}")
    if not program.exists():
        source = ROOT / "bench" / what["source"]
        command = [*what["compiler"], "-O1", "-o", program, source, *what.get("libraries", [])]
        subprocess.run(command, check=True, cwd=folder)
    return program


def count(iolens: Path, program: Path, what: dict[str, Any], kind: str, place: Path) -> Work:
    """What so many calls more do: start and end cancel."""
    runs, outs = [], []
    for calls in (FEW, what.get("many", MANY)):
        own = place / str(calls)
        own.mkdir(parents=True)
        outs.append(own / "callgrind.out")
        tool = ["valgrind", "--tool=callgrind", "--collect-systime=yes", "--dump-line=no"]
        tool.append(f"--callgrind-out-file={outs[-1]}")
        arguments = [word.format(kind=kind, calls=calls, place=own) for word in what["arguments"]]
        run = [iolens, "run", "--quiet", *what.get("options", []), "-o", "log.darshan", "--"]
        environment = {**os.environ, **AS_ROOT, **what.get("environment", {})}
        runs.append(
            subprocess.Popen(
                [*run, *tool, program, *arguments],
                cwd=own,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        )
    for run in runs:
        _, err = run.communicate(timeout=120)
        assert run.returncode == 0, err.decode()
    few, many = (work_of(out, "libiolens") for out in outs)
    return many - few


def mean(work: Work, many: int) -> dict[str, float]:
    """What one call does."""
    fields = ("instructions", "calls", "system_calls")
    return {field: sum(getattr(work, field).values()) / (many - FEW) for field in fields}


def listed(work: Work, many: int) -> str:
    """Where it goes, of one call, the most first."""
    rows = [f"{total / (many - FEW):9.1f} {name}" for name, total in work.instructions.most_common(12)]
    calls = [f"{total / (many - FEW):9.1f} {name}" for name, total in work.calls.most_common(12)]
    return "\n".join(["instructions", *rows, "calls of other libraries", *calls])


@pytest.mark.skipif(not shutil.which("valgrind"), reason="no valgrind")
@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name, what in BUDGETS.items() for kind in what["budget"]]
)
def test_a_call_keeps_to_its_budget(iolens: Path, folder: Path, place: Path, name: str, kind: str) -> None:
    if CLOCK.read_text() != "tsc\n":
        pytest.skip("the clock is another one than on the machine that the budgets are from")
    what = BUDGETS[name]
    program = program_of(name, folder)
    work, budget = count(iolens, program, what, kind, place), what["budget"][kind]
    over = sum(work.instructions.values()) > budget["instructions"] * (MANY - FEW)
    if over:  # what is found by its address may stand behind something else in a table
        elsewhere = what | {"environment": what.get("environment", {}) | {"OPCOST_APART": "3000"}}
        work = count(iolens, program, elsewhere, kind, place / "apart")
    many, per_call = MANY, mean(work, MANY)
    if round(per_call["calls"], 1) != budget["calls"]:
        # The two runs started differently (an MPI looks at its machine): more calls make that weigh less.
        many, work = MORE, count(iolens, program, what | {"many": MORE}, kind, place / "more")
        per_call = mean(work, MORE)
    said = f"{name} {kind}: {per_call} of a call, budget {budget}\n{listed(work, many)}"
    assert round(per_call["calls"], 1) == budget["calls"], said
    assert round(per_call["system_calls"], 1) == budget["system_calls"], said
    assert LEAST * budget["instructions"] <= per_call["instructions"] <= budget["instructions"], said


@pytest.mark.skipif(not shutil.which("valgrind"), reason="no valgrind")
def test_a_process_that_does_nothing_keeps_to_its_budget(place: Path) -> None:
    """Beyond one with an empty library: what the linker does for ours, and what ours does. Shells start thousands."""
    empty, ours = place / "libnothing.so", place / "libours----.so"  # the linker reads each letter of a path
    shutil.copy(places.BUILD / "runtime" / "libiolens.so", ours)
    subprocess.run(["cc", "-shared", "-nostdlib", "-x", "c", "/dev/null", "-o", empty], check=True)
    totals = []
    for library in (empty, ours):
        out = place / f"{library.stem}.out"
        tool = ["valgrind", "--tool=callgrind", "--collect-systime=yes", f"--callgrind-out-file={out}"]
        own = {"LD_PRELOAD": str(library), "IOLENS_ENABLE_NONMPI": "1", "IOLENS_TMPDIR": str(place)}
        own |= {"PATH": os.environ["PATH"], "HOME": "/nowhere"}
        own |= {f"VARIABLE_{n}": "value" for n in range(30)}  # each is looked at
        subprocess.run(
            [*tool, "true"], cwd=place, env=own, check=True, capture_output=True
        )  # valgrind's own logs
        totals.append([int(word) for word in out.read_text().partition("\ntotals: ")[2].split()[:2]])
    spent = {field: totals[1][n] - totals[0][n] for n, field in enumerate(("instructions", "system_calls"))}
    assert spent["system_calls"] <= START["system_calls"], f"{spent}, budget {START}"
    assert LEAST * START["instructions"] <= spent["instructions"] <= START["instructions"], (
        f"{spent}, budget {START}"
    )


@pytest.fixture(scope="module")
def ending(folder: Path) -> Path:
    """bench/shutdown's program, which puts records into its store."""
    if not shutil.which("mpicc.mpich"):
        pytest.skip("no mpicc.mpich")
    made, runtime = folder / "shutdown", ROOT / "runtime" / "base"
    sources = [ROOT / "bench" / "shutdown" / "shutdown.c", runtime / "sys.c"]
    subprocess.run(["mpicc.mpich", "-O2", "-D_GNU_SOURCE", "-I", runtime, *sources, "-o", made], check=True)
    return made


@pytest.mark.skipif(not shutil.which("valgrind"), reason="no valgrind")
@pytest.mark.parametrize("files", ENDS)
def test_the_end_of_a_rank_keeps_to_its_budget(iolens: Path, ending: Path, place: Path, files: str) -> None:
    """A node's mounts are among what is told: a dozen more are 2 % of the end with one file. So are paths."""
    out, log = place / "callgrind.out", place / "log.darshan"
    tool = ["valgrind", "--tool=callgrind", "--toggle-collect=mpi_ending", "--dump-line=no"]
    library = places.BUILD / "runtime" / "libiolens.so"
    subprocess.run(
        [*tool, f"--callgrind-out-file={out}", shutil.copy(ending, place), files, "0"],
        cwd=place,
        env={**os.environ, "LD_PRELOAD": str(library), "IOLENS_LOGFILE": str(log)},
        check=True,
        capture_output=True,
        timeout=120,
    )
    assert log.exists()
    work, budget = work_of(out, "libiolens"), ENDS[files]
    spent = sum(work.instructions.values())
    assert LEAST * budget <= spent <= budget, f"{files} files: {spent}, budget {budget}\n{listed(work, MANY)}"
