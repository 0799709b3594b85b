"""Bytes per file of logs of injected records (bench/shutdown), compared with those that papers give for Darshan's.

The papers' jobs have 2,400 to 12,000 ranks. Sizes hardly depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent / "shutdown"), str(HERE)]

import darshan_log  # noqa: E402
from run import OPTIONS, SCENES, Bench  # noqa: E402  (of shutdown)

# Snyder et al. 2016, Tables I and III: Darshan 2.3.0 and 3.0.0.
PUBLISHED = {
    "1 shared": ("891", "1,075"),
    "1024 shared": ("27.3", "54.6"),
    "1 own": ("121.8", "243.7"),
    "1024 own": ("26.4", "47.7"),
}
TIMEOUT = 300


def per_file(size: int, files: int) -> str:
    return f"{size / files:.1f}"


def row(bench: Bench, ranks: int, scene: str) -> list[str]:
    bench.job(ranks, scene, True, TIMEOUT)
    log = darshan_log.read(bench.log)
    best = bench.directory / "best.darshan"
    bench.convert(best)
    shared, own = SCENES[scene]
    files = shared + own * ranks
    sizes = [log.size, log.size - log.regions["trailer"], best.stat().st_size]
    cells = [str(ranks), scene, *(per_file(size, files) for size in sizes), *PUBLISHED[scene]]
    best.unlink()
    return cells


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--build", type=Path, default=ROOT / "build")
    arguments.add_argument("--mpi", choices=OPTIONS, default="mpich")
    arguments.add_argument("--ranks", type=int, nargs="+", default=[1, 16, 128])
    arguments.add_argument("--scenes", nargs="+", choices=SCENES, default=list(SCENES))
    chosen = arguments.parse_args()
    print("| ranks | files | per file, B | without extension | best | Darshan 2.3.0 | Darshan 3.0.0 |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(chosen.mpi, chosen.build.resolve(), "", Path(name))
        for ranks in chosen.ranks:
            for scene in chosen.scenes:
                print("|", " | ".join(row(bench, ranks, scene)), "|", flush=True)


if __name__ == "__main__":
    main()
