#!/usr/bin/env python3
"""Write the thresholds of a metric as a C header, for a command that estimates the same without Python.

usage: thresholds.py METRIC.sql FILE.h
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

_READER = Path(__file__).resolve().parents[1] / "python" / "iolens" / "metrics" / "threshold.py"


def main(metric: Path, output: Path) -> None:
    reader = runpy.run_path(str(_READER))
    lines = [
        f"/* Made by tools/thresholds.py from {metric.name}, in seconds, bytes, bytes/s and parts of 1. */"
    ]
    for name, (value, reason) in reader["read"](metric.read_text(encoding="utf-8")).items():
        lines.append(f"#define {metric.stem.upper()}_{name.upper()} {reader['plain'](value)} /* {reason} */")
    output.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*map(Path, sys.argv[1:]))
