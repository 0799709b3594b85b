"""Phases from Python and Fortran, and what SQL, `iolens info`'s neighbours and the report make of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import places
import pytest
from observed import Observe

Run = Callable[..., "subprocess.CompletedProcess[str]"]
FILE = places.ROOT / "python" / "iolens" / "phases.py"

PROGRAM = """\
import os
from phases import phase

@phase("load")
def load():
    os.read(fd, 10)

fd = os.open("data", os.O_RDWR | os.O_CREAT)
with phase("checkpoint"):
    os.write(fd, bytes(1000))
    with phase("header"):
        os.write(fd, bytes(10))
os.lseek(fd, 0, 0)
try:
    with phase("fails"):
        os.write(fd, bytes(7))
        raise ValueError
except ValueError:
    load()
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """With a copy of the one file, and without iolens."""
    shutil.copy(FILE, tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path / "program.py"


def test_python(observe: Observe, program: Path) -> None:
    seen = observe([sys.executable, program], cwd=program.parent)
    assert seen.done.returncode == 0, seen.done.stderr
    told = {
        row["phase"]: (row["count"], row["bytes_read"], row["bytes_written"])
        for row in seen.sections["phases"]
    }
    assert told == {
        "load": ("1", "10", "0"),
        "checkpoint": ("1", "0", "1000"),
        "checkpoint/header": ("1", "0", "10"),
        "fails": ("1", "0", "7"),
    }


def test_python_without_iolens(program: Path) -> None:
    done = subprocess.run([sys.executable, "-W", "error", program], cwd=program.parent, check=False)
    assert (done.returncode, (program.parent / "data").stat().st_size) == (0, 1010)


FORTRAN = """\
program main
   use iolens_phase
   implicit none
   integer :: unit
   call iolens_phase_begin('checkpoint  ')
   open (newunit=unit, file='out', access='stream', form='unformatted')
   write (unit) repeat('x', 1000)
   close (unit)
   call iolens_phase_end('checkpoint')
end program main
"""


def test_fortran(observe: Observe, tmp_path: Path) -> None:
    if not shutil.which("gfortran"):
        pytest.skip("no gfortran")
    (tmp_path / "main.f90").write_text(FORTRAN)
    module = places.ROOT / "api" / "iolens_phase.f90"
    build = ["gfortran", "-Wall", "-Wextra", "-Werror", "-o", "main", module, "main.f90"]
    subprocess.run(build, cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"], cwd=tmp_path, check=False).returncode == 0
    rows = observe([tmp_path / "main"], cwd=tmp_path).sections["phases"]
    assert [(row["phase"], row["count"], row["bytes_written"]) for row in rows] == [
        ("checkpoint", "1", "1000")
    ]


STEPS = """\
import os, time
from phases import phase
fd = os.open("data", os.O_RDWR | os.O_CREAT)
begun = time.monotonic()
for i in range({steps}):
    with phase("step"):
        with phase("checkpoint"):
            os.write(fd, bytes(1 << 20))
    if {regular}:
        time.sleep(max(0, begun + 0.5 * (i + 1) - time.monotonic()))
    else:
        time.sleep(0.05 * (1 + i % 3 * 3))
os.write(fd, bytes(1000))
"""


def steps(observe: Observe, program: Path, regular: bool, number: int = 8) -> Path:
    program.write_text(STEPS.format(regular=regular, steps=number))
    return observe([sys.executable, program], cwd=program.parent).log


def ask(run_iolens: Run, log: Path, query: str) -> list[dict[str, Any]]:
    done = run_iolens(["sql", "--format", "json", log, query])
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def test_the_period_of_checkpoints(observe: Observe, run_iolens: Run, program: Path) -> None:
    log = steps(observe, program, regular=True)
    rows = ask(run_iolens, log, "select * from metric.period where kind = 'phase' order by source")
    assert [row["source"] for row in rows] == ["step", "step/checkpoint"]
    for row in rows:
        assert (row["times"], row["bytes_written"]) == (8, 1 << 20)
        assert row["period"] == pytest.approx(0.5, rel=0.3)
        assert 0 <= row["spread"] <= 0.3
    (heat,) = ask(
        run_iolens, log, "select * from metric.period where kind = 'heat map' and source = 'writes'"
    )
    assert heat["times"] == 8
    assert heat["period"] == pytest.approx(0.5, rel=0.3)


def test_what_is_not_regular_has_no_period(observe: Observe, run_iolens: Run, program: Path) -> None:
    log = steps(observe, program, regular=False, number=12)
    assert ask(run_iolens, log, "select * from metric.period where kind = 'phase'") == []


def test_shares(observe: Observe, run_iolens: Run, program: Path) -> None:
    log = steps(observe, program, regular=False, number=4)
    rows = {row["path"]: row for row in ask(run_iolens, log, "select * from metric.named_phases")}
    assert set(rows) == {"", "step", "step/checkpoint"}
    assert (rows["step/checkpoint"]["bytes_written"], rows["step"]["bytes_written"]) == (4 << 20, 0)
    assert sum(row["share"] for row in rows.values()) == pytest.approx(1, abs=0.01)


def test_the_report_shows_them(observe: Observe, run_iolens: Run, program: Path) -> None:
    log = steps(observe, program, regular=True)
    done = run_iolens(["report", "--text", log], env={**os.environ, "COLUMNS": "160"})
    assert done.returncode == 0, done.stderr
    assert "Phases that the program has named" in done.stdout
    assert "step/checkpoint" in done.stdout
    assert "every 500 ms" in done.stdout or "every 0.5" in done.stdout or "every 50" in done.stdout
