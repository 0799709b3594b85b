"""What observing adds to HDF5 calls: instructions per call (valgrind), or time.

`python bench/hdf5/run.py [--rounds N]`: bare, observed, and observed without the HDF5 modules, which is what the POSIX
calls below cost. With rounds: nanoseconds, the least of that many runs each, taken in turn.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KINDS = [
    "write-hyperslab",
    "get-select-write-close",
    "read-hyperslab",
    "write-all",
    "read-all",
    "open+close",
    "flush",
]
WAYS: dict[str, dict[str, str]] = {
    "bare": {},
    "observed": {"LD_PRELOAD": str(ROOT / "build" / "runtime" / "libiolens.so")},
    "modules off": {
        "LD_PRELOAD": str(ROOT / "build" / "runtime" / "libiolens.so"),
        "IOLENS_MOD_DISABLE": "H5F,H5D",
    },
}


class Bench:
    """The program, and how it is run."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.program = place / "hdf5"
        source = Path(__file__).with_name("hdf5.c")
        # Debian's wrapper links the static library unless it is told not to.
        subprocess.run(["h5cc", "-shlib", "-O1", "-o", self.program, source], check=True, cwd=place)

    def run(self, way: str, calls: int, kind: str, tool: list[str]) -> str:
        log = self.place / "log.darshan"
        log.unlink(missing_ok=True)
        env = {**os.environ, **WAYS[way], "IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGFILE": str(log)}
        command = [*tool, self.program, self.place / "data.h5", str(calls), kind]
        done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
        return done.stdout + done.stderr

    def instructions(self, way: str, kind: str) -> float:
        """From two numbers of calls, so that start and end cancel.

        What HDF5 clears takes 1,700 to 1,900 instructions more at some addresses.
        """

        def count(calls: int) -> int:
            tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
            return int(re.findall(r"Collected : (\d+)", self.run(way, calls, kind, tool))[-1])

        return (count(3000) - count(1000)) / 2000

    def times(self, kind: str, rounds: int) -> list[float]:
        seen: dict[str, list[float]] = {way: [] for way in WAYS}
        for _ in range(rounds):
            for way in WAYS:
                seen[way].append(float(self.run(way, 20000, kind, []).split()[0]))
        return [min(values) for values in seen.values()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=0)
    rounds = parser.parse_args().rounds
    unit = "ns" if rounds else "instructions"
    print(f"| call of 64 B | bare, {unit} | added | of which by POSIX |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        bench = Bench(Path(place))
        for kind in KINDS:
            bare, seen, off = (
                bench.times(kind, rounds) if rounds else [bench.instructions(way, kind) for way in WAYS]
            )
            print(f"| {kind} | {bare:,.0f} | {seen - bare:+,.0f} | {off - bare:+,.0f} |")


if __name__ == "__main__":
    main()
