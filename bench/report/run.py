"""The analysis on logs of 2,048, 250,000 and 10,000,000 records: loading, the whole metric set, memory.

The logs are made by make_log.c, the same on every machine. Each measurement is a process of its own; seconds are
wall-clock of everything after the imports, and the processor time of all threads.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from needs import need

ROOT = Path(__file__).resolve().parents[2]
SIZES = (2_048, 250_000, 10_000_000)

MEASURED = """
import json, resource, sys, time
from iolens.metrics import Dataset, metrics
start = time.perf_counter()
with Dataset(sys.argv[1]) as data:
    data.metric("headline")
    first = time.perf_counter() - start
    for name in metrics():
        data.query(f"SELECT count(*) FROM metric.{name}").fetchall()
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "first": first, "all": time.perf_counter() - start, "cpu": used.ru_utime + used.ru_stime,
    "mb": used.ru_maxrss / 1024, "metrics": len(metrics()),
}))
"""


def build(folder: Path) -> Path:
    """The program that makes logs, from the log library of the build."""
    program = folder / "make_log"
    build = ROOT / "build" / "format"
    rooms = (path for path in (ROOT / "format").iterdir() if path.is_dir())
    include = [f"-I{path}" for path in (build, ROOT / "format", *rooms)]
    sources = [ROOT / "bench" / "report" / "make_log.c", build / "libiolens-log.a"]
    subprocess.run(
        ["cc", "-O2", "-D_GNU_SOURCE", *include, *sources, "-o", program, "-lz", "-lpthread"], check=True
    )
    return program


def measure(log: Path) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", MEASURED, log], check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def page(log: Path) -> tuple[float, float, float, float]:
    """iolens report: seconds, processor time, memory in MB, size of the page in MB."""
    target = log.with_suffix(".html")
    start = time.perf_counter()
    child = subprocess.Popen(
        [ROOT / ".venv" / "bin" / "iolens", "report", "-o", target, log], stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"iolens report {log} failed")
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, target.stat().st_size / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, nargs="+", default=SIZES)
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many")
    parser.add_argument(
        "--page", action="store_true", help="the command iolens report instead of the metrics"
    )
    parser.add_argument("--keep", type=Path, help="folder in which the logs are made, and stay")
    arguments = parser.parse_args()
    need("report", packages=["iolens"], programs=["cc"], built=["format/libiolens-log.a"])
    heads = ("wall, s", "processor, s", "memory, MB", "page, MB")
    if not arguments.page:
        heads = ("first metric, s", "all metrics, s", "processor, s", "memory, MB")
    print(f"| records | log, MB | {' | '.join(heads)} |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(exist_ok=True)
        program = build(Path(scratch))
        for records in arguments.records:
            log = folder / f"{records}.darshan"
            if not log.exists():
                subprocess.run([program, log, str(records)], check=True)
            if arguments.page:
                cells = " | ".join(f"{value:.2f}" for value in page(log))
                print(f"| {records:,} | {log.stat().st_size / 1e6:.1f} | {cells} |", flush=True)
                continue
            rounds = 1 if records > 1_000_000 else arguments.rounds
            best = min((measure(log) for _ in range(rounds)), key=lambda found: found["all"])
            print(
                f"| {records:,} | {log.stat().st_size / 1e6:.1f} | {best['first']:.2f} | {best['all']:.2f} "
                f"| {best['cpu']:.1f} | {best['mb']:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
