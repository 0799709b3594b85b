"""Builds fleetgen and runs it: generate.py OUT [--logs 261890] [--seed 1] ... (fleetgen.c names all options)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = Path(os.environ.get("IOLENS_BUILD", ROOT / "build")).resolve()
PROGRAM = BUILD / "bench" / "fleetgen"


def build(program: Path = PROGRAM) -> Path:
    """The program, from the log library of the build; built again when something is newer."""
    library = BUILD / "format" / "libiolens-log.a"
    sources = [*HERE.glob("*.[ch]"), library]
    if program.exists() and all(program.stat().st_mtime > path.stat().st_mtime for path in sources):
        return program
    program.parent.mkdir(exist_ok=True)
    part = program.with_suffix(f".{os.getpid()}")
    rooms = [ROOT / "format", *(path for path in (ROOT / "format").iterdir() if path.is_dir())]
    include = [f"-I{folder}" for folder in [BUILD / "format", *rooms]]
    command = ["cc", "-O2", "-D_GNU_SOURCE", *include, *sorted(HERE.glob("*.c")), library]
    subprocess.run([*command, "-o", part, "-lz", "-lm", "-lpthread"], check=True)
    part.replace(program)
    return program


def generate(out: Path, **settings: object) -> dict[str, Any]:
    """Makes a population below `out` and returns its truth."""
    options = [f"--{name}={value}" for name, value in settings.items()]
    subprocess.run([build(), out, *options], check=True)
    truth: dict[str, Any] = json.loads((out / "truth.json").read_text())
    return truth


def main() -> None:
    program = build()
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
