"""What observing by eBPF costs: a static program's pread of one byte, bare, observed, and while others are observed.

python bench/kernel/run.py [--rounds 9] [--reads 1000000]

The ways take turns, so that what else the machine does hits them alike. Root, since eBPF needs it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build"
CLI, KERNEL = BUILD / "cli" / "iolens", BUILD / "kernel" / "iolens-kernel"
USER = 64001


def program(place: Path, reads: int) -> list[str | Path]:
    return [place / "preads", place / "file", str(reads)]


def bare(place: Path, reads: int) -> str:
    return subprocess.run(program(place, reads), check=True, capture_output=True, text=True).stdout


def observed(place: Path, reads: int) -> str:
    log = place / "log.darshan"
    log.unlink(missing_ok=True)
    command = [CLI, "run", "--kernel", "--quiet", "-o", log, "--", *program(place, reads)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    if done.stderr:
        raise SystemExit(done.stderr.strip())
    return done.stdout


@contextmanager
def service(place: Path, user: int) -> Iterator[None]:
    """The service of the node, for users from this one on."""
    env = {**os.environ, "IOLENS_LOGPATH": str(place)}
    command = [KERNEL, "--node", "--state", place / "state", "--users-from", str(user)]
    node = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
    try:
        if not node.stdout or node.stdout.readline() != "ready\n":
            raise SystemExit("iolens-kernel does not start")
        yield
    finally:
        node.terminate()
        node.wait()


def beside_service(place: Path, reads: int) -> str:
    """This program is root's, which the service does not observe."""
    with service(place, USER):
        return bare(place, reads)


def by_service(place: Path, reads: int) -> str:
    with service(place, USER):
        done = subprocess.run(
            program(place, reads), user=USER, group=USER, check=True, capture_output=True, text=True
        )
    return done.stdout


WAYS: dict[str, Callable[[Path, int], str]] = {
    "bare": bare,
    "iolens run --kernel": observed,
    "observed by iolens-kernel --node": by_service,
    "not observed, while iolens-kernel --node runs": beside_service,
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--reads", type=int, default=1_000_000)
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="iolens-bench-") as name:
        place = Path(name)
        place.chmod(0o777)
        subprocess.run(["gcc", "-O2", "-static", "-o", place / "preads", HERE / "preads.c"], check=True)
        rows: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
        for _ in range(given.rounds):
            for way, call in WAYS.items():
                (place / "file").unlink(missing_ok=True)
                wall, processor = map(float, call(place, given.reads).split())
                rows[way].append((wall, processor))
    print(f"{'ns per pread of one byte':48} {'wall':>8} {'processor':>10} {'more than bare':>15}")
    for way, times in rows.items():
        wall, processor = (statistics.median(column) for column in zip(*times))
        more = statistics.median(a[1] - b[1] for a, b in zip(times, rows["bare"]))
        print(f"{way:48} {wall:8.0f} {processor:10.0f} {more:15.0f}")


if __name__ == "__main__":
    main()
