"""What starting and ending processes costs: work that starts many, in turn bare, with an empty library preloaded (less
than it takes no library can), with the library alone (every process writes its log) and under `iolens run` (one log
of all). The work is a shell's loop over a small program; or, as users wait for it, the `configure` of a package whose
sources are given (`apt-get source hello`); or `make` of a program with 60 sources.

Prints the median and the least of wall and processor time, of a loop per process in us, otherwise of all in ms, and
the ratio to the bare ones of the same round, the median over rounds.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from given import at_least
from needs import need

ROOT = Path(__file__).resolve().parents[2]
WAYS = ("bare", "an empty library", "loaded, not observed", "the library alone", "iolens run")

SOURCE = '#include <stdio.h>\n#include <stdlib.h>\nint part_{n}(void) {{ return printf("{n}\\n"); }}\n'
MAKEFILE = """parts = $(patsubst %.c,%.o,$(wildcard *.c))
program: $(parts)
\t$(CC) -o $@ $^
%.o: %.c
\t$(CC) -O1 -c -o $@ $<
"""


def loop(given: argparse.Namespace, place: Path) -> list[str]:
    return ["sh", "-c", f"i=0; while [ $i -lt {given.processes} ]; do {given.program}; i=$((i+1)); done"]


def build(given: argparse.Namespace, place: Path) -> list[str]:
    for n in range(60):
        (place / f"part_{n}.c").write_text(SOURCE.format(n=n))
    (place / "main.c").write_text("int main(void) { return 0; }\n")
    (place / "Makefile").write_text(MAKEFILE)
    return ["make", "-s"]


def configure(given: argparse.Namespace, place: Path) -> list[str]:
    return [str(given.configure.resolve() / "configure"), "--quiet"]


def environment(way: str, given: argparse.Namespace, directory: Path) -> dict[str, str]:
    own = dict(os.environ)
    if way == "an empty library":
        own["LD_PRELOAD"] = str(directory / "empty.so")
    if way in ("loaded, not observed", "the library alone"):
        own["LD_PRELOAD"] = str(given.build / "runtime" / "libiolens.so")
    if way == "the library alone":
        own |= {"IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGPATH": str(directory)}
    return own


def measure(way: str, given: argparse.Namespace) -> tuple[float, float]:
    """Wall and processor time of the work in s."""
    directory = Path(tempfile.mkdtemp(prefix="start-"))
    place = directory / "work"
    place.mkdir()
    try:
        make = ["cc", "-shared", "-nostdlib", "-x", "c", "/dev/null", "-o", directory / "empty.so"]
        subprocess.run(make, check=True)
        run = given.work(given, place)
        if way == "iolens run":
            iolens = given.build / "cli" / "iolens"
            run = [str(iolens), "run", "--quiet", "-o", str(directory / "log.darshan"), "--", *run]
        used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        own = environment(way, given, directory)
        subprocess.run(run, cwd=place, env=own, check=True, stdout=subprocess.DEVNULL)
        took, now = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    finally:
        shutil.rmtree(directory)
    return took, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime


def asked() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(description="cost of starting and ending processes")
    arguments.add_argument("--rounds", type=at_least(1), default=9)
    arguments.add_argument("--processes", type=at_least(1), default=1000, help="in a loop")
    arguments.add_argument("--program", default="/bin/true", help="of the loop")
    arguments.add_argument("--make", action="store_true", help="a program with 60 sources")
    arguments.add_argument("--configure", type=Path, metavar="SOURCES", help="a package")
    arguments.add_argument("--build", type=Path, default=ROOT / "build", help="of iolens")
    given = arguments.parse_args()
    if given.configure and not (given.configure / "configure").exists():
        raise SystemExit(f"bench/start: no configure in {given.configure}: apt-get source hello brings one")
    given.work = configure if given.configure else build if given.make else loop
    need("start", programs=["cc", *(["make"] if given.make else [])], built=["runtime/libiolens.so"])
    return given


def main() -> None:
    given = asked()
    unit, scale = ("us", 1e6 / given.processes) if given.work is loop else ("ms", 1e3)
    rounds: list[dict[str, tuple[float, float]]] = []
    for turn in range(given.rounds):
        ways = WAYS if turn % 2 else WAYS[::-1]
        rounds.append({way: measure(way, given) for way in ways})
    print(f"| | wall {unit} | ratio | processor {unit} | ratio |\n|---|---|---|---|---|")
    for way in WAYS:
        cells = [way]
        for kind in (0, 1):
            all_of_them = [one[way][kind] * scale for one in rounds]
            ratio = statistics.median(one[way][kind] / one["bare"][kind] for one in rounds)
            cells += [f"{statistics.median(all_of_them):.0f} ({min(all_of_them):.0f})", f"{ratio:.2f}"]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
