"""Instructions of a phase and of a range, begin and end together, as valgrind counts them: the same on any machine."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KINDS = ["phase", "sixtieth", "deep", "wait", "range"]
FEW, MANY = 1000, 3000


def count(program: Path, kind: str, times: int, observed: bool) -> int:
    log = program.with_name("log")
    log.unlink(missing_ok=True)
    run = [ROOT / "build" / "cli" / "iolens", "run", "--quiet", "--ranges", "-o", log, "--"]
    tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={program}.out"]
    command = [*(run if observed else []), *tool, program, kind, str(times)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(re.findall(r"Collected : (\d+)", done.stderr)[-1])


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    print("Instructions, by callgrind:\n")
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory, "phases")
        source = Path(__file__).with_name("phases.c")
        compiler = [os.environ.get("CC", "cc"), "-O2", "-I", ROOT / "api"]
        subprocess.run([*compiler, "-o", program, source], check=True)
        print("| begin and end | without iolens | observed |\n|---|---|---|")
        for kind in KINDS:
            few, many = ([count(program, kind, n, seen) for seen in (False, True)] for n in (FEW, MANY))
            bare, seen = ((b - a) / (MANY - FEW) for a, b in zip(few, many))
            print(f"| {kind} | {bare:.0f} | {seen:.0f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
