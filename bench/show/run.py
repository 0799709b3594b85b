"""The native command on one large log: 250,000 POSIX records. Needs numpy and a C compiler.

Every figure is the best of the repeats, each a process of its own; its text goes to /dev/null. Darshan's tools cannot
be installed everywhere: docs/performance/analysis.md has what was measured of them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from given import at_least
from needs import need

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RECORDS = 250_000
IOLENS = os.environ.get("IOLENS_BIN", str(ROOT / "build" / "cli" / "iolens"))

COMMANDS = {
    "show": ["show", "large"],
    "show --total": ["show", "--total", "large"],
    "show --perf --file": ["show", "--perf", "--file", "large"],
    "show --json": ["show", "--json", "large"],
    "show --csv": ["show", "--csv", "large"],
    "convert": ["convert", "large", "new"],
    "convert --bzip2": ["convert", "--bzip2", "large", "new"],
    "merge two": ["merge", "-o", "new", "large", "other"],
    "diff with itself": ["diff", "large", "large"],
}


def measure(command: list[str], folder: Path) -> tuple[float, float, float]:
    """Wall and processor seconds, peak MB."""
    (folder / "new").unlink(missing_ok=True)
    run = [folder / "peak", IOLENS, *command]
    done = subprocess.run(
        run, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True
    )
    code, wall, processor, peak = done.stderr.rpartition("peak: ")[2].split()
    if int(code):
        sys.exit(f"bench/show: iolens {' '.join(command)} ended with {code}")
    return float(wall), float(processor), int(peak) / 1024


def text_size(command: list[str], folder: Path) -> int:
    if command[0] in ("convert", "merge"):
        return (folder / "new").stat().st_size
    pipe = subprocess.Popen([IOLENS, *command], cwd=folder, stdout=subprocess.PIPE)
    assert pipe.stdout
    size = sum(len(part) for part in iter(lambda: pipe.stdout.read(1 << 20), b""))
    pipe.wait()
    return size


def make(folder: Path) -> None:
    sys.path.insert(0, str(HERE.parent / "decode"))
    from make_logs import write

    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cc", "-O2", "-o", folder / "peak", HERE / "peak.c"], check=True)
    for name, seed in (("large", 1), ("other", 2)):
        if not (folder / name).exists():
            write(folder / name, RECORDS, seed)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("folder", nargs="?", type=Path, help="where the logs are made, and stay [a new one]")
    asked.add_argument("repeats", nargs="?", type=at_least(1), default=5, help="the best of so many [5]")
    given = asked.parse_args()
    need(
        "show",
        packages=["numpy"],
        programs=["cc"],
        built=[] if "IOLENS_BIN" in os.environ else ["cli/iolens"],
    )
    folder, repeats = given.folder or Path(tempfile.mkdtemp(prefix="iolens-show-")), given.repeats
    make(folder)
    print(f"{RECORDS:,} records, {(folder / 'large').stat().st_size / 1e6:.1f} MB\n")
    print("| command | s | CPU, s | peak memory, MB | output, MB |\n|---|---|---|---|---|")
    for name, command in COMMANDS.items():
        runs = [measure(command, folder) for _ in range(repeats)]
        best = [min(run[i] for run in runs) for i in range(3)]
        size = text_size(command, folder) / 1e6
        print(f"| {name} | {best[0]:.2f} | {best[1]:.2f} | {best[2]:.0f} | {size:.1f} |", flush=True)
    (folder / "new").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
