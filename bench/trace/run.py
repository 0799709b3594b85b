"""Bytes of a traced access in a log: in the compact form, and in Darshan's region; with --rounds what tracing adds.

`python bench/trace/run.py --rounds 25`: nanoseconds of a `pread` of 64 bytes, bare, observed and traced in turn: the
medians of what a round's runs differ. Within the call, and of the whole command for each call: its start and end, too,
where the log is made.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from needs import need

need("trace", packages=["iolens"], programs=[os.environ.get("CC", "cc")], built=["cli/iolens"])

import iolens  # noqa: E402

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
    env = {**os.environ, "IOLENS_TRACE": form}
    subprocess.run(command, check=True, cwd=program.parent, env=env, stdout=subprocess.DEVNULL)
    program.with_name("data").unlink()
    with iolens.open(log) as opened:
        size: int = opened.modules["dxt_posix"].stored
    return size


def times(program: Path, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Nanoseconds of a call, and of the whole command for each call, a pair a round."""
    run = [ROOT / "build" / "cli" / "iolens", "run", "-q", "-o", "log.darshan"]
    ways: dict[str, list[str | Path]] = {
        "bare": [],
        "observed": [*run, "--"],
        "compact": [*run, "--trace=compact", "--"],
        "on": [*run, "--trace", "--"],
    }
    seen: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, before in ways.items():
            program.with_name("log.darshan").unlink(missing_ok=True)
            command = [*before, program, "small-in-order", str(CALLS)]
            began = time.perf_counter()
            done = subprocess.run(command, cwd=program.parent, check=True, capture_output=True, text=True)
            whole = (time.perf_counter() - began) * 1e9 / CALLS
            seen[way].append((float(done.stdout), whole))
    return seen


def print_times(seen: dict[str, list[tuple[float, float]]]) -> None:
    print(f"ns of one of {CALLS:,} calls; on: with Darshan's region\n")
    print(
        "| | median | added | least of it | whole command | added | least of it |\n|---|---|---|---|---|---|---|"
    )
    before = {"observed": "bare", "compact": "observed", "on": "observed"}
    for way, pairs in seen.items():
        cells = [f"{way} beyond {before[way]}" if way in before else way]
        for values, others in zip(zip(*pairs), zip(*seen[before.get(way, way)])):
            added = statistics.median(a - b for a, b in zip(values, others))
            cells += [
                f"{statistics.median(values):.0f}",
                f"{added:+.0f}",
                f"{min(values) - min(others):+.0f}",
            ]
        print(f"| {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=0)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory, "trace")
        source = Path(__file__).with_name("trace.c")
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-w", "-o", program, source], check=True)
        if rounds:
            print_times(times(program, rounds))
            return
        print(f"| {CALLS:,} accesses | compact | Darshan's region |\n|---|---|---|")
        for pattern in PATTERNS:
            sizes = [stored(program, pattern, form) / CALLS for form in ("compact", "on")]
            print(f"| {pattern} | {sizes[0]:.2f} | {sizes[1]:.1f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
