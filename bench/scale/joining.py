"""What leaders of nodes do with the tables of others: the stores of two ranks, joined some thousand times.

The numbers go into measured.json next to those of bench/shutdown: `joining.py --into bench/scale/measured.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import model

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TIMES = {
    "1 shared": 2000,
    "1024 shared": 100,
    "1 own": 2000,
    "1024 own": 2000,
}  # ranks: one part, where they are many
RUNS = 5  # the quickest counts
FIELDS = (
    "add",
    "encode",
    "part",
    "share",
    "rows",
    "encoded",
)  # s, s, s, bytes, bytes, bytes; each of one rank


def stores(directory: Path, build: Path, scene: str) -> list[Path]:
    """What two ranks leave that make no log."""
    program = directory / "shutdown"
    sources = [HERE.parent / "shutdown" / "shutdown.c", ROOT / "runtime" / "base" / "sys.c"]
    subprocess.run(
        ["mpicc.mpich", "-O2", "-D_GNU_SOURCE", "-I", ROOT / "runtime" / "base", *sources, "-o", program],
        check=True,
    )
    kept = directory / scene.replace(" ", "-")
    kept.mkdir()
    env = {
        **os.environ,
        "LD_PRELOAD": str(build / "runtime" / "libiolens.so"),
        "IOLENS_TMPDIR": str(kept),
        "IOLENS_FINALIZE": "deferred",
    }
    command = ["mpirun.mpich", "-n", "2", str(program), *map(str, model.SCENES[scene])]
    subprocess.run(command, env=env, check=True, capture_output=True)
    return sorted(kept.rglob("*.store"), key=lambda path: int(path.name.split(".")[-3]))


def measure(directory: Path, build: Path) -> dict[str, dict[str, float]]:
    program = directory / "join"
    library = build / "format" / "libiolens-log.a"
    rooms = [ROOT / "format", ROOT / "format" / "join", ROOT / "format" / "base", build / "format"]
    includes = [f"-I{room}" for room in rooms]
    subprocess.run(["cc", "-O2", *includes, HERE / "join.c", library, "-lz", "-o", program], check=True)
    measured = {}
    for scene, times in TIMES.items():
        command = [str(program), *map(str, stores(directory, build, scene)), str(times)]
        runs = [
            subprocess.run(command, check=True, capture_output=True, text=True, cwd=directory).stdout.split()
            for _ in range(RUNS)
        ]
        measured[scene] = dict(zip(FIELDS, (min(map(float, told)) for told in zip(*runs))))
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="what is measured")
    parser.add_argument("--into", type=Path, help="JSON file that gets the numbers under `join`")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        measured = measure(Path(name), chosen.build.resolve())
    print(json.dumps(measured, indent=1))
    if chosen.into:
        known: dict[str, Any] = json.loads(chosen.into.read_text()) if chosen.into.exists() else {}
        known["join"] = measured
        chosen.into.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
