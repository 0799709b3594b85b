"""The case with hostile arguments calls every wrapped function: a new one needs a line in hostile_arguments.h.

It is clean under AddressSanitizer and UBSan, linked with the preload library's sources: some of the functions, all
with STRESS_SECONDS (`make sanitize`).
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import places

CASES = Path(__file__).resolve().parent / "cases"
# tests/mpiio, tests/hdf5, tests/pnetcdf and tests/runtime/test_phases.py have them
LIBRARIES = re.compile(r"_?P?MPI_|p?mpi_|_?H5[A-Z]|ncmpi_", re.IGNORECASE)
OURS = re.compile(r"__(start|stop)_iolens_|iolens_runtime_(phase|range)_")


def wrapped(preload: Path) -> set[str]:
    done = subprocess.run(["nm", "-D", "--defined-only", preload], check=True, capture_output=True, text=True)
    return {line.split()[2] for line in done.stdout.splitlines()}


def test_every_wrapped_function_is_called(preload: Path, tmp_path: Path) -> None:
    program = tmp_path / "p"
    subprocess.run(["cc", "-w", "-o", program, CASES / "hostile.c"], check=True)
    listed = subprocess.run([program, "--list"], check=True, capture_output=True, text=True)
    names = {n for n in wrapped(preload) if not LIBRARIES.match(n) and not OURS.match(n)}
    assert len(names) > 250
    assert sorted(names - set(listed.stdout.split())) == []
    assert sorted(set(listed.stdout.split()) - names) == []


def test_no_sanitizer_reports_anything(build_dir: Path, tmp_path: Path) -> None:
    program = places.make("tests/stress/hostile-asan")
    listed = subprocess.run([program, "--list"], check=True, capture_output=True, text=True).stdout.split()
    names = listed if "STRESS_SECONDS" in os.environ else listed[::25]
    environment = {
        **os.environ,
        "IOLENS_ENABLE_NONMPI": "1",
        "IOLENS_LOGPATH": str(tmp_path),
        "ASAN_OPTIONS": "handle_segv=0:handle_sigbus=0:detect_leaks=0",
    }
    done = subprocess.run(
        [program, *names], check=False, cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not re.search("runtime error|ERROR: ", done.stderr), done.stderr
    assert {line.split()[0].rstrip(":") for line in done.stdout.splitlines()} == set(names)
