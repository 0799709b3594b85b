"""How what iolens takes grows with records, ranks, threads, logs and traced accesses: exponents, a verdict, a picture.

Processor time of whole commands, the least of some rounds; of ranks, of `iolens recover` from what they left. `--full`
goes up to 2 million records, a million accesses, 1,024 ranks and 8,192 logs, in 15 minutes; without it to a tenth of
that, in two. Exit code 1: something grows faster than n log n. Needs a C compiler and what `make build` makes.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from given import at_least
from needs import need

need("growth", packages=["iolens"], programs=["cc"], built=["format/libiolens-log.a", "cli/iolens"])

from fit import growth  # noqa: E402
from picture import picture, seconds  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
IOLENS = BUILD / "cli" / "iolens"
CALLS = 50_000  # of each thread
AGAIN = 2  # times that what grows too fast is counted again

COMMAND = "from iolens.cli import main; main()"
READ = """
import sys, iolens
print(sum(1 for _ in iolens.open(sys.argv[1])["posix"].batches()))
"""
SCAN = """
import os, sys, iolens
found = iolens.scan([e.path for e in os.scandir(sys.argv[1])])
print(sum(1 for table in (found.job, found["posix"]) for _ in table.batches()))
"""
RULES = """
import os, sys
from iolens.metrics import Dataset
from iolens.rules import find
with Dataset(sorted(e.path for e in os.scandir(sys.argv[1]))) as data:
    print(len(find(data, evidence=False)))
"""


class Workshop:
    """Where logs and programs are made, each once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def program(self, source: str, *, log_library: bool = False) -> Path:
        made = self.folder / Path(source).stem
        if not made.exists():
            format = BUILD / "format"
            rooms = (path for path in (ROOT / "format").iterdir() if path.is_dir())
            before = [f"-I{path}" for path in (format, ROOT / "format", *rooms)] if log_library else []
            behind = [format / "libiolens-log.a", "-lz"] if log_library else []
            command = ["cc", "-O2", "-w", "-D_GNU_SOURCE", *before, ROOT / "bench" / source, *behind]
            subprocess.run([*command, "-lpthread", "-o", made], check=True)
        return made

    def log(self, records: int) -> Path:
        made = self.folder / f"{records}.darshan"
        if not made.exists():
            maker = self.program("report/make_log.c", log_library=True)
            subprocess.run([maker, made, str(records)], check=True)
        return made

    def logs(self, count: int) -> Path:
        """A folder of so many logs of 64 records: no two names are of one file."""
        made, one = self.folder / f"{count}-logs", self.log(64)
        if not made.exists():
            made.mkdir()
            for n in range(count):
                os.link(one, made / f"{n:05}.darshan")
        return made

    def stores(self, processes: int) -> Path:
        """A folder with what so many processes leave when `iolens run` is killed before it makes their log."""
        made = self.folder / f"{processes}-stores"
        if not made.exists():
            made.mkdir()
            loop = f"i=1; while [ $i -lt {processes} ]; do : > own.$i; cat own.$i; i=$((i + 1)); done"
            command = [
                IOLENS,
                "run",
                "-q",
                "-o",
                made / "log",
                "--",
                "sh",
                "-c",
                f"{loop}; echo $$; kill -9 $PPID",
            ]
            env = {**os.environ, "IOLENS_TMPDIR": str(made)}
            done = subprocess.run(
                command, check=False, capture_output=True, text=True, cwd=self.folder, env=env
            )
            wait_for(int(done.stdout))  # the shell, which still runs when `iolens run` does not
        (session,) = made.glob("iolens-*")
        return session

    def trace(self, accesses: int) -> Path:
        made = self.folder / f"{accesses}-accesses.darshan"
        if not made.exists():
            run = [IOLENS, "run", "-q", "--trace", "-o", made, "--"]
            program = [self.program("trace/trace.c"), "random-blocks", str(accesses)]
            subprocess.run([*run, *program], check=True, cwd=self.folder, stdout=subprocess.DEVNULL)
        return made


def wait_for(process: int) -> None:
    """Until a process that is no child of this one has ended."""
    try:
        ended = os.pidfd_open(process)
    except ProcessLookupError:
        return
    select.select([ended], [], [])
    os.close(ended)


def processor_time(command: Sequence[str | Path], folder: Path) -> float:
    child = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"bench/growth: {' '.join(map(str, command))} ended with {child.returncode}")
    return used.ru_utime + used.ru_stime


def read(shop: Workshop, n: int) -> float:
    return processor_time([sys.executable, "-c", READ, shop.log(n)], shop.folder)


def findings(shop: Workshop, n: int) -> float:
    return processor_time([sys.executable, "-c", COMMAND, "findings", shop.log(n)], shop.folder)


def ranks(shop: Workshop, n: int) -> float:
    """Making the log of n processes, each with a file of its own, from what they left."""
    log = shop.folder / "ranks.darshan"
    log.unlink(missing_ok=True)
    return processor_time([IOLENS, "recover", "-o", log, shop.stores(n)], shop.folder)


def threads(shop: Workshop, n: int) -> float:
    """Of a program whose n threads read files of their own."""
    log = shop.folder / "threads.darshan"
    log.unlink(missing_ok=True)
    program = [shop.program("growth/threads.c"), str(n), str(CALLS)]
    return processor_time([IOLENS, "run", "-q", "-o", log, "--", *program], shop.folder)


def scan(shop: Workshop, n: int) -> float:
    return processor_time([sys.executable, "-c", SCAN, shop.logs(n)], shop.folder)


def rules(shop: Workshop, n: int) -> float:
    return processor_time([sys.executable, "-c", RULES, shop.logs(n)], shop.folder)


def traced(shop: Workshop, n: int) -> float:
    return processor_time([IOLENS, "trace", shop.trace(n)], shop.folder)


@dataclass(frozen=True)
class Measure:
    """Sizes: start, then each twice to four times the one before. Those behind `quick` are for --full."""

    title: str
    counts: str
    take: Callable[[Workshop, int], float]
    sizes: Sequence[int]
    quick: int


_RECORDS = (1_000, 16_000, 32_000, 64_000, 125_000, 250_000, 500_000, 1_000_000, 2_000_000)

MEASURES = {
    "records": Measure("Reading a log in batches", "records", read, _RECORDS, 5),
    "findings": Measure("iolens findings", "records", findings, _RECORDS, 5),
    "ranks": Measure("Making the log of a job", "ranks", ranks, (2, 64, 128, 256, 512, 1_024), 4),
    "threads": Measure("Program of several threads", "threads", threads, (1, 4, 8, 16, 32, 64), 5),
    "logs": Measure("Reading many logs", "logs", scan, (16, 1_024, 2_048, 4_096, 8_192), 4),
    "rules": Measure("Rules of many logs", "logs", rules, (16, 512, 1_024, 2_048, 4_096), 4),
    "trace": Measure(
        "iolens trace",
        "traced accesses",
        traced,
        (1_000, 31_000, 62_000, 125_000, 250_000, 500_000, 1_000_000),
        4,
    ),
}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="all sizes, not those that take a minute")
    parser.add_argument("--only", nargs="+", choices=MEASURES, default=list(MEASURES), metavar="NAME")
    parser.add_argument("--rounds", type=at_least(1), default=3, help="the least of so many counts [3]")
    parser.add_argument("--picture", type=Path, help="SVG file")
    parser.add_argument("--json", type=Path, help="file for the points")
    return parser.parse_args()


def measured(name: str, shop: Workshop, chosen: argparse.Namespace) -> list[tuple[int, float]]:
    one = MEASURES[name]
    sizes = one.sizes if chosen.full else one.sizes[: one.quick]
    points = [(n, min(one.take(shop, n) for _ in range(chosen.rounds))) for n in sizes]
    for _ in range(AGAIN):  # what the machine did meanwhile only adds
        if not growth(points).too_fast:
            break
        points = [(n, min(took, *(one.take(shop, n) for _ in range(chosen.rounds)))) for n, took in points]
    return points


def main() -> int:
    chosen = options()
    found: dict[str, list[tuple[int, float]]] = {}
    print(
        "| what | of | from | to | least | most | exponent | n log n | verdict |\n|---|---|---|---|---|---|---|---|---|"
    )
    for name in chosen.only:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = measured(name, Workshop(Path(folder)), chosen)
        one, points, grows = MEASURES[name], found[name], growth(found[name])
        (low, least), (high, most) = points[0], points[-1]
        cells = [one.title, one.counts, f"{low:,}", f"{high:,}", seconds(least), seconds(most)]
        print(
            "| "
            + " | ".join([*cells, f"{grows.exponent:.2f}", f"{grows.allowed:.2f}", grows.verdict])
            + " |",
            flush=True,
        )
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if chosen.picture:
        panels = {MEASURES[name].title: (MEASURES[name].counts, points) for name, points in found.items()}
        chosen.picture.write_text(picture(panels), encoding="utf-8")
    wrong = [MEASURES[name].title for name, points in found.items() if growth(points).too_fast]
    if wrong:
        print(f"bench/growth: more than n log n: {', '.join(wrong)}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
