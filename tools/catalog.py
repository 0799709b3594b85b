#!/usr/bin/env python3
"""Read the rules' TOML files once, when iolens is built: as JSON they are there in a thirtieth of the time.

usage: catalog.py FOLDER FILE.json FILE.d

FOLDER has advice.toml and catalog/*.toml. FILE.d tells Ninja which files these are.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def main(folder: Path, output: Path, depfile: Path) -> None:
    files = sorted((folder / "catalog").glob("*.toml"))
    advice = folder / "advice.toml"
    tables = {file.stem: tomllib.loads(file.read_text(encoding="utf-8")) for file in files}
    read = {"advice": tomllib.loads(advice.read_text(encoding="utf-8")), "rules": tables}
    output.write_text(json.dumps(read, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
    inputs = " ".join(str(path).replace(" ", "\\ ") for path in (folder / "catalog", advice, *files))
    depfile.write_text(f"{output}: {inputs}\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*map(Path, sys.argv[1:]))
