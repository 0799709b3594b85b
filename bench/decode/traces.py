"""A trace of ten million accesses to Parquet: seconds, processor time, memory. Needs numpy."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests")]
from given import at_least  # noqa: E402
from logmaker import LogMaker  # noqa: E402

DXT_POSIX, VERSION, RECORDS = 10, 1, 1000


def trace(segments: int) -> bytes:
    """Records of a thousand ranks, each with its share of the accesses: writes of one size class, one after another."""
    random = np.random.default_rng(1)
    each = segments // RECORDS
    parts = []
    for rank in range(RECORDS):
        table = np.zeros((each, 4), dtype=np.int64)
        times = table.view(np.float64)
        lengths = random.integers(1, 256, each) * 4096
        gaps = random.integers(1_000, 50_000, (each, 2))
        stamps = np.cumsum(gaps.ravel()).reshape(each, 2) * 1e-9
        table[:, 0], table[:, 1] = np.cumsum(lengths) - lengths, lengths
        times[:, 2], times[:, 3] = stamps[:, 0], stamps[:, 1]
        parts.append(struct.pack("<Qqq64sqq", 1, rank, 0, b"node%04d" % (rank // 32), each, 0))
        parts.append(table.tobytes())
    return b"".join(parts)


def make(log: Path, segments: int) -> None:
    regions = {DXT_POSIX: (VERSION, trace(segments))}
    log.write_bytes(bytes(LogMaker(names={1: b"/scratch/shared.dat"}, regions=regions, nprocs=RECORDS)))


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("segments", nargs="?", type=at_least(RECORDS), default=10_000_000, help="[10000000]")
    segments = asked.parse_args().segments
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "traced.darshan"
        # In a process of its own: a child's peak of memory counts what its parent had when it began.
        maker = multiprocessing.Process(target=make, args=(log, segments))
        maker.start()
        maker.join()
        command = [
            ROOT / ".venv" / "bin" / "iolens",
            "export",
            log,
            "--table",
            "dxt_posix",
            "--to",
            Path(scratch) / "out",
        ]
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        if status:
            raise SystemExit("iolens export failed")
        size = sum(file.stat().st_size for file in (Path(scratch) / "out").iterdir())
        print(
            "| segments | log, MB | Parquet, MB | wall, s | processor, s | memory, MB |\n|---|---|---|---|---|---|"
        )
        print(
            f"| {segments:,} | {log.stat().st_size / 1e6:.0f} | {size / 1e6:.0f} | {seconds:.1f} "
            f"| {used.ru_utime + used.ru_stime:.1f} | {used.ru_maxrss / 1024:.0f} |"
        )


if __name__ == "__main__":
    main()
