"""Fixtures every test may use: where the products are, how to run them, and the material they are held against.

The caller may point the tests elsewhere by IOLENS_BUILD (Meson build directory, default build/), IOLENS_BIN (the CLI),
IOLENS_PRELOAD (the library), IOLENS_CORPUS (logs of released Darshan versions) and IOLENS_ORACLE (reference decoder).
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


def _pointed(variable: str, *candidates: Path) -> Path:
    """The path the caller names, else the first candidate that exists, else the first."""
    named = os.environ.get(variable)
    if named:
        return Path(named).resolve()
    return next((path for path in candidates if path.exists()), candidates[0])


BUILD = _pointed("IOLENS_BUILD", ROOT / "build")
BIN = _pointed("IOLENS_BIN", BUILD / "iolens", BUILD / "cli" / "iolens", ROOT / ".venv" / "bin" / "iolens")
PRELOAD = _pointed("IOLENS_PRELOAD", BUILD / "libiolens.so", BUILD / "runtime" / "libiolens.so")
CORPUS = _pointed("IOLENS_CORPUS", ROOT.parent / "shared" / "corpus")
ORACLE = _pointed("IOLENS_ORACLE", CORPUS.parent / "tools" / "darshan_oracle.py")

# What the caller has set for own use must not reach the programs under test.
for _name in [n for n in os.environ if n.startswith(("IOLENS_", "DARSHAN_")) or n == "LD_PRELOAD"]:
    del os.environ[_name]

# A product that is missing is a broken build here, while missing material (a shared corpus) is a reason to skip.


def _product(path: Path, what: str) -> Path:
    if not path.exists():
        pytest.fail(f"{what} is not built at {path}: run ./bootstrap build", pytrace=False)
    return path


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def build_dir() -> Path:
    """The Meson build directory."""
    return _product(BUILD, "iolens")


@pytest.fixture(scope="session")
def iolens() -> Path:
    """The native CLI."""
    return _product(BIN, "the iolens CLI")


@pytest.fixture(scope="session")
def preload() -> Path:
    """The preload library."""
    return _product(PRELOAD, "libiolens.so")


@pytest.fixture(scope="session")
def programs() -> Path:
    """Directory of the compiled tests/programs/*.c."""
    return _product(BUILD / "tests" / "programs", "the test programs' directory")


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Folder with logs/ and expected/ of released Darshan versions."""
    if not (CORPUS / "logs").is_dir():
        pytest.skip(f"no corpus of released logs at {CORPUS}: set IOLENS_CORPUS")
    return CORPUS


@pytest.fixture(scope="session")
def oracle() -> ModuleType:
    """The independent reference decoder, as a module."""
    if not ORACLE.is_file():
        pytest.skip(f"no reference decoder at {ORACLE}: set IOLENS_ORACLE")
    spec = importlib.util.spec_from_file_location("darshan_oracle", ORACLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def run_iolens(iolens: Path) -> Run:
    """Run the CLI and return the finished process, its output as text (undecodable bytes kept as surrogates)."""

    def run(
        args: Sequence[str | Path],
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> subprocess.CompletedProcess[str]:
        options = {"capture_output": True, "encoding": "utf-8", "errors": "surrogateescape", "timeout": 60, **options}
        return subprocess.run(
            [str(iolens), *map(str, args)],
            cwd=cwd,
            env={**os.environ, **(env or {})},
            check=options.pop("check", False),
            **options,
        )

    return run
