"""Where the products and the material of the tests are.

The caller may point the tests elsewhere:
IOLENS_BUILD (Meson build directory, default build/), IOLENS_BIN (the CLI), IOLENS_PRELOAD (the library),
IOLENS_CORPUS (logs of released Darshan versions), IOLENS_ORACLE (reference decoder).
"""

from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


OF_WORKERS = "TESTS_"
"""Before a name that processes of pytest-xdist find: they start when IOLENS_ variables are gone (conftest)."""


def _pointed(variable: str, *candidates: Path) -> Path:
    """The path the caller names, else the first candidate that exists, else the first."""
    named = os.environ.get(variable) or os.environ.get(OF_WORKERS + variable)
    if named:
        os.environ[OF_WORKERS + variable] = named
        return Path(named).resolve()
    return next((path for path in candidates if path.exists()), candidates[0])


BUILD = _pointed("IOLENS_BUILD", ROOT / "build")
BIN = _pointed("IOLENS_BIN", BUILD / "iolens", BUILD / "cli" / "iolens", ROOT / ".venv" / "bin" / "iolens")
PRELOAD = _pointed("IOLENS_PRELOAD", BUILD / "libiolens.so", BUILD / "runtime" / "libiolens.so")
CORPUS = _pointed("IOLENS_CORPUS", ROOT.parent / "shared" / "corpus")
ORACLE = _pointed("IOLENS_ORACLE", CORPUS.parent / "tools" / "darshan_oracle.py")


def make(target: str) -> Path:
    """What a plain build leaves out, made on demand; processes of pytest-xdist take turns."""
    with (BUILD / ".made-by-tests").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        made = subprocess.run(["ninja", "-C", BUILD, target], capture_output=True, check=False)
    assert made.returncode == 0, (made.stdout + made.stderr).decode()
    return BUILD / target
