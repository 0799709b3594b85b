"""What `iolens top` costs the program that it looks at: instructions (callgrind), and time with and without it in turn.

python bench/top/run.py [--rounds 15] [--pairs 1000000] [--every 1]
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

MOST = 0.01
"""What being looked at may cost."""
CLOCK = 0.1
"""Instructions of an operation: the clock decides how often an access begins a new stretch of the timeline. How often
sampled times are learnt anew would be three times as much: they are exact here."""
FORWARDED = 200
"""Instructions of an operation: a call that is only passed on takes 80."""
HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build"


def environment(place: Path) -> dict[str, str]:
    return {**os.environ, "IOLENS_TMPDIR": str(place / "stores"), "IOLENS_LOGPATH": str(place)}


def run(place: Path, pairs: int, tool: Sequence[str] = (), times: str = "sampled") -> str:
    """The output of the program, observed without a session, its file not excluded."""
    for old in place.glob("*.darshan"):
        old.unlink()
    library = str(BUILD / "runtime" / "libiolens.so")
    observed = {"LD_PRELOAD": library, "IOLENS_ENABLE_NONMPI": "1", "IOLENS_TIMES": times}
    done = subprocess.run(
        [*tool, place / "loop", place / "file", str(pairs)],
        env={**environment(place), **observed},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


@contextmanager
def looked_at(place: Path, every: float) -> Iterator[None]:
    command = [BUILD / "cli" / "iolens", "top", "--every", str(every), "--openmetrics", place / "metrics"]
    top = subprocess.Popen(command, env=environment(place))
    try:
        yield
    finally:
        top.terminate()
        top.wait()


def instructions(place: Path, pairs: int = 100_000) -> float:
    """Of one operation, its times exact."""
    tool = ["valgrind", "--tool=callgrind", "--toggle-collect=pairs", "--callgrind-out-file=/dev/null"]
    return int(re.findall(r"Collected : (\d+)", run(place, pairs, tool, "exact"))[-1]) / (2 * pairs)


def seconds(place: Path, pairs: int) -> tuple[float, float]:
    """Of the wall and of the processor."""
    wall, cpu, _ = map(float, run(place, pairs).split())
    return wall, cpu


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rounds", type=int, default=15)
    asked.add_argument("--pairs", type=int, default=1_000_000)
    asked.add_argument("--every", type=float, default=1.0)
    options = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "stores").mkdir()
        subprocess.run(["cc", "-O1", "-o", place / "loop", HERE / "loop.c"], check=True)
        alone = instructions(place)
        if alone < FORWARDED:
            raise SystemExit(f"the file in {place} is excluded from observation: set TMPDIR to another place")
        with looked_at(place, 0.1):
            seen = instructions(place)
        print(f"instructions of an operation: {alone:.2f} alone, {seen:.2f} looked at ten times a second")
        times: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
        for number in range(2 * options.rounds):
            if number % 2 == (number // 2) % 2:
                times[False].append(seconds(place, options.pairs))
            else:
                with looked_at(place, options.every):
                    times[True].append(seconds(place, options.pairs))
        for which, name in ((0, "wall"), (1, "processor")):
            best = {seen: min(pair[which] for pair in pairs) for seen, pairs in times.items()}
            middle = {seen: statistics.median(p[which] for p in pairs) for seen, pairs in times.items()}
            print(
                f"{name}: {2e-6 * options.pairs / best[False]:.2f} million operations/s alone; "
                f"looked at every {options.every:g} s {100 * (best[True] / best[False] - 1):+.2f} % "
                f"(least), {100 * (middle[True] / middle[False] - 1):+.2f} % (median of {options.rounds})"
            )
        # Noise only adds: the least of each is nearest to what it costs.
        cost = min(cpu for _, cpu in times[True]) / min(cpu for _, cpu in times[False]) - 1
        held = cost < MOST and abs(seen - alone) < CLOCK
        word = "held" if held else "NOT held"
        print(
            f"verdict: {word}: {100 * cost:+.2f} % of processor time (target below {MOST:.0%}) "
            f"by the least of each, as noise only adds, and what is below 0 is noise; {seen - alone:+.3f} instructions "
            f"an operation (target 0; {CLOCK} is the clock's)"
        )
        return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
