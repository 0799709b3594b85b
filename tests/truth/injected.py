"""Programs with one cause each, and twins that do the same work without it: run, judged, and printed as a table.

`python tests/truth/injected.py [--drishti COMMAND] [--repeat N] [--page FILE] [--idle N] [WORD...]` runs all
of them, or those whose names have all of the WORDs.
"""

from __future__ import annotations

import argparse
import os
import pty
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO

import table
from iolens.metrics import Dataset
from iolens.rules import Finding, find
from iolens.rules.rule import read_toml
from triggers import Triggers, ask_drishti, command

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROGRAMS = HERE / "programs"
IOLENS = ROOT / ".venv" / "bin" / "iolens"
# With numpy and h5py: `make truth` makes it.
PYTHON = ROOT / ".venv" / "truth" / "bin" / "python"
DATA = 64 << 20
RANKS = "4"

# The programs compute for a tenth of a second: what costs less than five thousandths is no cause in them.
THRESHOLDS = {"severity.seconds": 0.005}

# Two runs on a busy machine differ as much: of each end of the range predicted, or in seconds (ranks that start).
NOISE, STARTS = 0.1, 0.1

MPIS = {
    "mpich": ["mpirun.mpich", "-n", RANKS],
    "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", RANKS],
}
ENVIRONMENT = {
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "UCX_LOG_LEVEL": "error",
    # As below /usr: what a site installs is not the program's I/O.
    "IOLENS_NAME_EXCLUDE": f"^{sys.base_prefix}/,^{ROOT}/.venv/",
}

# Kind of program, as causes.toml has it -> what it runs under.
KINDS = {"serial": [""], "python": [""], "parallel": list(MPIS), "parallel_python": ["openmpi"]}


@dataclass(frozen=True)
class Cause:
    """As causes.toml has it; mpi: of its kinds of runs one."""

    kind: str
    mpi: str
    name: str
    run: str
    twin: str
    rules: list[str]
    fixed: str = ""
    drishti: list[str] = field(default_factory=list)
    before: str = ""
    terminal: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    unmeasured: str = ""
    short: bool = False

    @property
    def label(self) -> str:
        where = {"python": "Python", "parallel_python": "Python, Open MPI", "serial": "C"}
        under = {"mpich": "MPICH", "openmpi": "Open MPI"}
        return f"{self.name} ({where.get(self.kind) or under[self.mpi]})"


@dataclass
class Judged:
    """What is found in one run."""

    log: Path
    found: list[Finding]
    io_time: float
    triggers: Triggers | None = None

    @property
    def problems(self) -> list[Finding]:
        return [f for f in self.found if f.severity in ("high", "medium")]

    @property
    def first(self) -> str:
        return self.problems[0].rule if self.problems else ""


@dataclass
class Case:
    """A cause and what became of it."""

    cause: Cause
    bad: Judged
    twin: Judged
    fixed: Judged

    @property
    def named(self) -> bool:
        return self.bad.first in self.cause.rules

    @property
    def gain(self) -> tuple[float, float] | None:
        """As the first finding predicts it."""
        return self.bad.problems[0].gain if self.named else None

    @property
    def saved(self) -> float:
        """Seconds in I/O."""
        return self.bad.io_time - self.fixed.io_time

    @property
    def predicted(self) -> bool | None:
        """Is as much saved as was predicted, but for what runs differ by? None where it cannot be measured."""
        if self.cause.unmeasured:
            return None
        low, high = self.gain or (0.0, 0.0)
        return min(low * (1 - NOISE), low - STARTS) <= self.saved <= max(high * (1 + NOISE), high + STARTS)


def causes() -> Iterator[Cause]:
    """Of each kind, under each MPI."""
    listed = read_toml((HERE / "causes.toml").read_text())
    for kind, mpis in KINDS.items():
        for one in listed[kind]:
            for mpi in one.get("mpi", mpis):
                yield Cause(kind, mpi, **{key: value for key, value in one.items() if key != "mpi"})


@cache
def build(kind: str, mpi: str, folder: Path) -> list[str]:
    """The command of a kind of program."""
    if kind == "python":
        return [str(PYTHON if PYTHON.exists() else Path(sys.executable)), str(PROGRAMS / "serial.py")]
    if kind == "parallel_python":
        return ["/usr/bin/python3", str(PROGRAMS / "parallel.py")]
    program = folder / f"{kind}-{mpi}"
    compiler = f"mpicc.{mpi}" if mpi else "cc"
    source = PROGRAMS / f"{kind}.c"
    subprocess.run([compiler, "-O1", "-D_GNU_SOURCE", "-o", program, source], check=True)
    return [str(program)]


@contextmanager
def terminal() -> Iterator[IO[str]]:
    """One to write to; a thread reads what appears on it."""
    master, slave = pty.openpty()

    def drain() -> None:
        with suppress(OSError):  # EIO: the last writer has closed it
            while os.read(master, 1 << 16):
                pass
        os.close(master)

    reader = threading.Thread(target=drain)
    reader.start()
    with os.fdopen(slave, "w") as out:
        yield out
    reader.join()


def run(cause: Cause, arguments: str, folder: Path, idle: int = 0) -> Path:
    """The log of one run, in a place of its own. idle: processes without I/O that the job has before it."""
    place, log = Path(tempfile.mkdtemp(dir=folder)), Path(tempfile.mkdtemp(dir=folder)) / "run.darshan"
    with (place / "data0").open("wb") as data:
        for _ in range(DATA >> 20):
            data.write(bytes(range(256)) * 4096)
    command = [*MPIS.get(cause.mpi, []), *build(cause.kind, cause.mpi, folder), str(place)]
    environment = {**os.environ, **ENVIRONMENT, **cause.environment}
    script = ["sh", "-c", f'for i in $(seq {idle}); do /bin/true; done; exec "$@"', "job"] if idle else []

    def start(words: list[str]) -> None:
        with terminal() if cause.terminal else (place / "console").open("w") as console:
            done = subprocess.run(
                words, env=environment, timeout=120, stdout=console, stderr=subprocess.PIPE, check=False
            )
        assert done.returncode == 0, (words, done.stderr[-2000:])

    if cause.before:
        start([*command, *shlex.split(cause.before)])
    start([str(IOLENS), "run", "--quiet", "-o", str(log), "--", *script, *command, *shlex.split(arguments)])
    shutil.rmtree(place)
    return log


def seconds(data: Dataset) -> float:
    """In I/O, on average over all ranks; where datasets of HDF5 take more than what is below them, in these."""
    (hdf5,) = data.rows(
        "SELECT sum(read_time + write_time + meta_time) / any_value(nprocs) AS s FROM h5d JOIN job USING (log)"
    )
    return max(float(data.metric("headline")[0]["io_time"] or 0), float(hdf5["s"] or 0))


def io_time(log: Path) -> float:
    with Dataset(log) as data:
        return seconds(data)


def judge(log: Path, drishti: str = "") -> Judged:
    with Dataset(log) as data:
        judged = Judged(log, find(data, thresholds=THRESHOLDS), seconds(data))
    if drishti:
        judged.triggers = ask_drishti(drishti, log)
    return judged


def compare(cause: Cause, folder: Path, drishti: str = "", repeat: int = 1) -> Case:
    """The runs with the median time in I/O stand for the others."""
    asked = [cause.run, cause.twin, *([cause.fixed] if cause.fixed else [])]
    logs = [[run(cause, arguments, folder) for arguments in asked] for _ in range(repeat)]
    chosen = [judge(sorted(runs, key=io_time)[repeat // 2], drishti) for runs in zip(*logs)]
    return Case(cause, chosen[0], chosen[1], chosen[-1])


def changed(cause: Cause, folder: Path, idle: int) -> str:
    """How the findings of the program and its twin change with idle processes; "" if they stay."""
    for arguments in (cause.run, cause.twin):
        plain, among = (judge(run(cause, arguments, folder, count)) for count in (0, idle))
        if (plain.first, {f.rule for f in plain.problems}) != (among.first, {f.rule for f in among.problems}):
            names = [", ".join(f.rule for f in judged.problems) or "none" for judged in (plain, among)]
            return f"{cause.label}: {arguments}: {names[0]}; with {idle} idle processes: {names[1]}"
    return ""


def score(cases: Iterable[Case]) -> tuple[float, float]:
    """Precision: of first findings the part that names the cause. Recall: of causes the part that is named first."""
    listed = list(cases)
    right = sum(case.named for case in listed)
    wrong = sum(bool(c.bad.first) and not c.named for c in listed) + sum(bool(c.twin.first) for c in listed)
    return right / max(1, right + wrong), right / max(1, len(listed))


def with_idle_processes(chosen: list[Cause], idle: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        told = []
        for cause in chosen:
            told += [text] if (text := changed(cause, Path(folder), idle)) else []
            print(told[-1] if text else f"{cause.label}: as without them", flush=True)
    print(
        f"{len(chosen) - len(told)} of {len(chosen)} programs have the same findings with {idle} idle processes."
    )
    return 1 if told else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drishti", type=command, help="the command of an installed Drishti")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each program; the median counts")
    parser.add_argument("--page", type=Path, help="put the table into this page")
    parser.add_argument(
        "--idle", type=int, help="only whether so many /bin/true before it change what is found"
    )
    parser.add_argument("words", nargs="*", help="only causes whose names have all of these")
    asked = parser.parse_args()
    chosen = [c for c in causes() if all(w in f"{c.label} {c.kind} {c.rules}" for w in asked.words)]
    if asked.idle:
        return with_idle_processes(chosen, asked.idle)
    cases, begin = [], time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for cause in chosen:
            cases.append(compare(cause, Path(folder), asked.drishti or "", asked.repeat))
            print(table.row(cases[-1]), flush=True)
    if not cases:
        parser.error("no cause has all of these words")
    took = f"{asked.repeat} runs of each program, {(time.monotonic() - begin) / 60:.0f} minutes."
    print(table.total(cases, score(cases)), took, sep="\n")
    if asked.page:
        table.put(asked.page, cases, score(cases), took)
    precision, recall = score(cases)
    wrong = [c.cause.label for c in cases if c.predicted is False]
    for label in wrong:
        print(f"saved otherwise than predicted: {label}")
    return 0 if precision >= 0.95 and recall >= 0.95 and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
