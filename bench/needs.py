"""What a benchmark needs that is not there, in one line, before it begins."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

BUILD = Path(__file__).resolve().parents[1] / "build"


def need(
    bench: str, *, packages: Iterable[str] = (), programs: Iterable[str] = (), built: Iterable[str] = ()
) -> None:
    """Ends the program unless all are there. packages: of this Python; built: files below build/."""
    modules = [name for name in packages if find_spec(name) is None]
    missing = [name for name in programs if shutil.which(name) is None]
    unbuilt = [name for name in built if not (BUILD / name).exists()]
    told = []
    if unbuilt or "iolens" in modules:
        what = [*(f"build/{name}" for name in unbuilt), *(["iolens"] if "iolens" in modules else [])]
        told.append(f"{', '.join(what)}: make build, then .venv/bin/python")
    if extras := [name for name in modules if name != "iolens"]:
        told.append(
            f"{', '.join(extras)} for {sys.executable}: ./bootstrap test tests/bench brings what tests use"
        )
    if missing:
        told.append(f"{', '.join(missing)} on PATH")
    if told:
        raise SystemExit(f"bench/{bench}: no {'; no '.join(told)}")
