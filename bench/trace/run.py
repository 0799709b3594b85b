"""Bytes of a traced access in a log: in the compact form, and in Darshan's region."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import iolens

ROOT = Path(__file__).resolve().parents[2]
PATTERNS = ["small-in-order", "blocks-written", "stride", "random-blocks", "random-bytes"]
CALLS = 100_000


def stored(program: Path, pattern: str, form: str) -> int:
    log = program.with_name(f"{pattern}.{form}.darshan")
    command = [
        ROOT / "build" / "cli" / "iolens",
        "run",
        "--quiet",
        "-o",
        log,
        "--",
        program,
        pattern,
        str(CALLS),
    ]
    subprocess.run(command, check=True, cwd=program.parent, env={**os.environ, "IOLENS_TRACE": form})
    program.with_name("data").unlink()
    with iolens.open(log) as opened:
        size: int = opened.modules["dxt_posix"].stored
    return size


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory, "trace")
        source = Path(__file__).with_name("trace.c")
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-w", "-o", program, source], check=True)
        print(f"| {CALLS:,} accesses | compact | Darshan's region |\n|---|---|---|")
        for pattern in PATTERNS:
            sizes = [stored(program, pattern, form) / CALLS for form in ("compact", "on")]
            print(f"| {pattern} | {sizes[0]:.2f} | {sizes[1]:.1f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
