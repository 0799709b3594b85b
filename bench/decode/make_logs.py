"""Synthetic logs for bench/decode: one large one, many small ones. Needs numpy."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from logmaker import LogMaker

POSIX, POSIX_VERSION, WORDS = 1, 4, 88
# Words of a record that are used, in the order of docs/reference/counters.md after id and rank.
OPENS, READS, BYTES, MAX_BYTE, CONSECUTIVE, SEQUENTIAL, MEMORY, FILE = 2, 5, 16, 18, 20, 22, 26, 28
SIZES, ACCESS, ACCESS_COUNT = (31, 41), 59, 63
STARTS, ENDS, SECONDS, META_SECONDS, SLOWEST = 71, 75, 79, 81, 82


def posix_records(count: int, seed: int) -> tuple[bytes, dict[int, bytes]]:
    """One file after another, every other one read, as in a serial program; times in whole nanoseconds."""
    random = np.random.default_rng(seed)
    table = np.zeros((count, WORDS), dtype=np.int64)
    times = table.view(np.float64)
    ids = random.integers(1, 1 << 62, count)
    calls = random.integers(1, 64, count)
    reads = np.arange(count) % 2
    table[:, 0] = ids
    table[:, OPENS] = 1
    table[:, MEMORY], table[:, FILE] = 8, 4096
    table[:, ACCESS], table[:, ACCESS_COUNT] = 65536, calls
    stamps = np.cumsum(random.integers(1000, 50000, (count, 6)).ravel()).reshape(count, 6)
    times[:, STARTS], times[:, ENDS] = stamps[:, 0] * 1e-9, stamps[:, 1] * 1e-9
    times[:, STARTS + 3], times[:, ENDS + 3] = stamps[:, 4] * 1e-9, stamps[:, 5] * 1e-9
    times[:, META_SECONDS] = (stamps[:, 1] - stamps[:, 0] + stamps[:, 5] - stamps[:, 4]) * 1e-9
    for way in (0, 1):
        mine = reads == 1 - way
        table[mine, READS + way] = table[mine, SIZES[way] + 3] = calls[mine]
        table[mine, BYTES + way] = calls[mine] * 65536
        table[mine, MAX_BYTE + way] = calls[mine] * 65536 - 1
        table[mine, CONSECUTIVE + way] = table[mine, SEQUENTIAL + way] = calls[mine] - 1
        times[mine, STARTS + 1 + way] = stamps[mine, 2] * 1e-9
        times[mine, ENDS + 1 + way] = stamps[mine, 3] * 1e-9
        times[mine, SECONDS + way] = (stamps[mine, 3] - stamps[mine, 2]) * 1e-9
        times[mine, SLOWEST + way] = (stamps[mine, 3] - stamps[mine, 2]) // calls[mine] * 1e-9
    names = {int(i): b"/scratch/project/run-17/out/part.%08d.dat" % n for n, i in enumerate(ids)}
    return table.tobytes(), names


def write(path: Path, count: int, seed: int) -> None:
    raw, names = posix_records(count, seed)
    path.write_bytes(bytes(LogMaker(names=names, regions={POSIX: (POSIX_VERSION, raw)}, job_id=seed)))


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("directory", type=Path)
    asked.add_argument("records", nargs="?", type=int, default=200_000, help="of the large one [200000]")
    asked.add_argument("logs", nargs="?", type=int, default=1000, help="small ones [1000]")
    given = asked.parse_args()
    directory, records, logs = given.directory, given.records, given.logs
    (directory / "small").mkdir(parents=True, exist_ok=True)
    write(directory / "large.darshan", records, 1)
    for i in range(logs):
        write(directory / "small" / f"{i:04}.darshan", 45, 1000 + i)


if __name__ == "__main__":
    main()
