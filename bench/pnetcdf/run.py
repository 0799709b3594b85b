"""What observing adds to PnetCDF calls: instructions per call (valgrind), or time.

`python bench/pnetcdf/run.py [--rounds N]`: bare, observed, and observed without the PnetCDF modules, which is what the
MPI-IO and POSIX calls below cost. With rounds: nanoseconds, the least of that many runs each, taken in turn.
One rank of Open MPI, for which Debian's PnetCDF is built.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KINDS = ["put_vara_int_all", "get_vara_int_all", "get_var1_int_all", "iput_vara_int, cancel", "inq_varid"]
LIBRARY = str(ROOT / "build" / "runtime" / "libiolens.so")
WAYS: dict[str, dict[str, str]] = {
    "bare": {},
    "observed": {"LD_PRELOAD": LIBRARY},
    "modules off": {"LD_PRELOAD": LIBRARY, "IOLENS_MOD_DISABLE": "PNETCDF_FILE,PNETCDF_VAR"},
}


class Bench:
    """The program, and how it is run."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.program = place / "pnetcdf"
        source = Path(__file__).with_name("pnetcdf.c")
        command = ["mpicc.openmpi", "-O1", "-I/usr/include", "-o", self.program, source, "-lpnetcdf"]
        subprocess.run(command, check=True, cwd=place)

    def run(self, way: str, calls: int, kind: str, tool: list[str]) -> str:
        log = self.place / "log.darshan"
        log.unlink(missing_ok=True)
        env = {**os.environ, **WAYS[way], "IOLENS_LOGFILE": str(log)}
        command = [*tool, self.program, self.place / "data.nc", str(calls), kind]
        done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
        return done.stdout + done.stderr

    def instructions(self, way: str, kind: str) -> float:
        """From two numbers of calls, so that start and end cancel."""

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
    print(f"| call | bare, {unit} | added | of which by MPI-IO and POSIX |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        bench = Bench(Path(place))
        for kind in KINDS:
            bare, seen, off = (
                bench.times(kind, rounds) if rounds else [bench.instructions(way, kind) for way in WAYS]
            )
            print(f"| `{kind}` | {bare:,.0f} | {seen - bare:+,.0f} | {off - bare:+,.0f} |")


if __name__ == "__main__":
    main()
