"""Reading logs: iolens against PyDarshan, and against decompression alone, in one run.

Needs darshan (PyDarshan), pyarrow and numpy.

Every figure is the best of the repeats, which alternate between the two; each is a process of its own, its clock starts
after the imports. Peak memory is what the reading adds to the process after the imports.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from given import at_least
from needs import need

HERE = Path(__file__).resolve().parent
RECORDS, RAW_RECORD = 200_000, 704

MEASURE = """
import json, os, re, sys, time
def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])
directory = sys.argv[1]
large, small = directory + "/large.darshan", sorted(e.path for e in os.scandir(directory + "/small"))
{setup}
before, wall, cpu = peak(), time.perf_counter(), time.process_time()
{body}
print(json.dumps(dict(wall=time.perf_counter() - wall, cpu=time.process_time() - cpu, peak=peak() - before)))
"""

# pyarrow loads pandas at the first table.
IOLENS = (
    "import iolens, pyarrow, iolens.log; pyarrow.table({}), pyarrow.table(iolens.open(small[0])['posix'])"
)
PYDARSHAN = "import darshan, pandas"
READ = (
    "for path in small:\n"
    "    report = darshan.DarshanReport(path, read_all=False)\n"
    "    report.metadata; report.mod_read_all_records('POSIX')"
)
TO_DF = "; frame = report.records['POSIX'].to_df()"
ONE_BY_ONE = "for path in small:\n    log = iolens.open(path); log.job; "
ZLIB = """
import zlib, iolens
(region,) = (m[5:] for m in iolens.open(large).native.modules() if m[2] == 'posix')
stored = open(large, 'rb').read()[region[0] : sum(region)]
"""
PROGRAMS = {
    "large, to a table": (
        (IOLENS, "table = pyarrow.table(iolens.open(large)['posix']); assert len(table) > 1"),
        (
            PYDARSHAN,
            "report = darshan.DarshanReport(large, read_all=False); report.mod_read_all_records('POSIX')\n"
            "frames = report.records['POSIX'].to_df()",
        ),
    ),
    "large, to_df alone": (
        (IOLENS, "table = pyarrow.table(iolens.open(large)['posix'])"),
        (
            PYDARSHAN
            + "\nreport = darshan.DarshanReport(large, read_all=False); report.mod_read_all_records('POSIX')",
            "frames = report.records['POSIX'].to_df()",
        ),
    ),
    "large, in batches": (
        (IOLENS, "rows = sum(1 for _ in iolens.open(large)['posix'].batches())"),
        (
            PYDARSHAN,
            "report = darshan.DarshanReport(large, read_all=False); report.mod_read_all_records('POSIX')",
        ),
    ),
    "small logs: job, records": (
        (
            IOLENS,
            "scan = iolens.scan(small); job = pyarrow.table(scan.job); rows = pyarrow.table(scan['posix'])",
        ),
        (PYDARSHAN, READ),
    ),
    "small logs: job, table": (
        (
            IOLENS,
            "scan = iolens.scan(small); job = pyarrow.table(scan.job); rows = pyarrow.table(scan['posix'])",
        ),
        (PYDARSHAN, READ + TO_DF),
    ),
    "small logs, one by one, to tables": (
        (IOLENS, ONE_BY_ONE + "pyarrow.table(log['posix'])"),
        (PYDARSHAN, READ + TO_DF),
    ),
    "the same, in batches, against records": (
        (IOLENS, ONE_BY_ONE + "rows = sum(1 for _ in log['posix'].batches())"),
        (PYDARSHAN, READ),
    ),
    # What decompression alone takes: by zlib, and by iolens, which counts records only.
    "large, to a table, against zlib alone": (
        (IOLENS, "table = pyarrow.table(iolens.open(large)['posix'])"),
        (ZLIB, "zlib.decompress(stored)"),
    ),
    "large, to a table, against counting": (
        (IOLENS, "table = pyarrow.table(iolens.open(large)['posix'])"),
        (IOLENS, "rows = iolens.open(large)['posix'].num_records"),
    ),
}


def measure(directory: Path, setup: str, body: str) -> dict[str, float]:
    program = MEASURE.format(setup=setup, body=body)
    command = [sys.executable, "-c", program, str(directory)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return {k: float(v) for k, v in json.loads(done.stdout).items()}


def best(
    directory: Path, pair: tuple[tuple[str, str], tuple[str, str]], repeats: int
) -> list[dict[str, float]]:
    runs: list[list[dict[str, float]]] = [[], []]
    for _ in range(repeats):
        for which, (setup, body) in enumerate(pair):
            runs[which].append(measure(directory, setup, body))
    return [{key: min(run[key] for run in of_one) for key in of_one[0]} for of_one in runs]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument(
        "directory", nargs="?", type=Path, help="where the logs are made, and stay [a new one]"
    )
    asked.add_argument("repeats", nargs="?", type=at_least(1), default=5, help="the best of so many [5]")
    given = asked.parse_args()
    need("decode", packages=["iolens", "darshan", "numpy", "pandas", "pyarrow"])
    directory, repeats = given.directory or Path(tempfile.mkdtemp(prefix="iolens-decode-")), given.repeats
    if not (directory / "large.darshan").exists():
        subprocess.run([sys.executable, HERE / "make_logs.py", directory], check=True)
    print(
        f"The best of {repeats}. Other: PyDarshan, or what the row names; ratio: how many times as long the other\n"
        "takes, of wall and of processor time.\n"
    )
    print("| what | iolens, s | other, s | ratio | CPU, s | CPU, s | ratio | added memory, MB |")
    print("|---|---|---|---|---|---|---|---|")
    for name, pair in PROGRAMS.items():
        a, b = best(directory, pair, repeats)
        cells = [f"{a['wall']:.4f}", f"{b['wall']:.3f}", f"{b['wall'] / a['wall']:.1f}"]
        cells += [f"{a['cpu']:.4f}", f"{b['cpu']:.3f}", f"{b['cpu'] / a['cpu']:.1f}"]
        cells += [f"{a['peak'] / 1024:.0f}, other {b['peak'] / 1024:.0f}"]
        print("| " + " | ".join([name, *cells]) + " |", flush=True)
    print(f"\nraw records of the large log: {RECORDS * RAW_RECORD / 2**20:.0f} MB")


if __name__ == "__main__":
    main()
