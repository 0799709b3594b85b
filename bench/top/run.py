"""What `iolens top` costs the program that it looks at: instructions (callgrind), and time with and without it in turn.

python bench/top/run.py [--rounds 15] [--pairs 1000000] [--every 1]
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from given import at_least
from needs import need

need("top", packages=["iolens", "mpmath"], programs=["cc", "valgrind"], built=["cli/iolens"])

from iolens.compare.statistics import sample, welch  # noqa: E402

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


Times = dict[bool, list[tuple[float, float]]]


def measure(place: Path, options: argparse.Namespace) -> Times:
    """Rounds in turn, looked at or not."""
    times: Times = {False: [], True: []}
    for number in range(2 * options.rounds):
        if number % 2 == (number // 2) % 2:
            times[False].append(seconds(place, options.pairs))
        else:
            with looked_at(place, options.every):
                times[True].append(seconds(place, options.pairs))
    return times


def added(times: Times) -> float:
    """To the processor time, as a part of it. Noise only adds: the least of each is nearest to what it costs."""
    return min(cpu for _, cpu in times[True]) / min(cpu for _, cpu in times[False]) - 1


def proven(times: Times) -> bool:
    """That it costs more than it may, beyond chance."""
    alone, seen = (sample([cpu for _, cpu in times[which]]) for which in (False, True))
    test = welch(alone, seen)
    return test is not None and test.low > MOST * alone.mean


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rounds", type=at_least(1), default=15)
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
        times = measure(place, options)
        for which, name in ((0, "wall"), (1, "processor")):
            best = {seen: min(pair[which] for pair in pairs) for seen, pairs in times.items()}
            middle = {seen: statistics.median(p[which] for p in pairs) for seen, pairs in times.items()}
            print(
                f"{name}: {2e-6 * options.pairs / best[False]:.2f} million operations/s alone; "
                f"looked at every {options.every:g} s {100 * (best[True] / best[False] - 1):+.2f} % "
                f"(least), {100 * (middle[True] / middle[False] - 1):+.2f} % (median of {options.rounds})"
            )
        cost, same = added(times), abs(seen - alone) < CLOCK
        word = "NOT held" if not same or proven(times) else "held" if cost < MOST else "unproven"
        print(
            f"verdict: {word}: {seen - alone:+.3f} instructions an operation (target 0; {CLOCK} is the clock's); "
            f"{100 * cost:+.2f} % of processor time by the least of each, as noise only adds; below 0 is noise (target "
            f"below {MOST:.0%}; more --rounds have less noise)"
        )
        return 1 if word == "NOT held" else 0


if __name__ == "__main__":
    raise SystemExit(main())
