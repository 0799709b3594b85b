#!/usr/bin/env python3
"""Run a tier of the tests: first, in parallel, the tests that share the machine, then those that need it alone.

usage: tests/run.py quick|full|campaign [ARGUMENTS OF PYTEST...]
The last line adds up both parts. The exit code is 0 if no test failed and at least one passed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COUNTS = ROOT / "build" / "test-counts.json"
TIMINGS = ROOT / "build" / "test-timings.json"
WORKERS = (os.cpu_count() or 1) + 2  # more than cores: some tests only wait, for storage or a clock
NO_TESTS = 5  # pytest's exit code


def part(tier: str, alone: str, *arguments: str) -> tuple[int, dict[str, int]]:
    """Exit code of one run of pytest, and how many tests passed, failed, were skipped."""
    COUNTS.unlink(missing_ok=True)
    # Short, since workers add a folder of their own, and some tests count columns. What failed tests leave is kept.
    place = tempfile.mkdtemp(prefix="t")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        f"--basetemp={place}",
        "--tier",
        tier,
        "--alone",
        alone,
        *arguments,
    ]
    code = subprocess.run(command, check=False, cwd=ROOT, env=environment()).returncode
    if code in (0, NO_TESTS):
        shutil.rmtree(place, ignore_errors=True)
    return code, json.loads(COUNTS.read_text()) if COUNTS.is_file() else {}


def environment() -> dict[str, str]:
    """Python may keep what it has compiled: workers and later runs import every test file again."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run_parts(tier: str, *arguments: str) -> int:
    if tier == "full" and not arguments:
        TIMINGS.unlink(missing_ok=True)  # of every test there is: what is gone is not listed for ever
    code, counts = part(tier, "no", "-n", str(WORKERS), "--dist", "worksteal", *arguments)
    if code in (0, NO_TESTS) or (code == 1 and "-x" not in arguments):
        second, more = part(tier, "yes", *arguments)
        counts = {name: counts.get(name, 0) + more.get(name, 0) for name in {**counts, **more}}
        code = second if code in (0, NO_TESTS) else code
    print(", ".join(f"{counts.get(name, 0)} {name}" for name in ("passed", "failed", "skipped")))
    return 0 if code in (0, NO_TESTS) and counts.get("passed") else code or 1


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    sys.exit(run_parts(*sys.argv[1:]))
