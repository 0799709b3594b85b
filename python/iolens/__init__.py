"""iolens: what a program's I/O does, and what to change."""

from __future__ import annotations

from pathlib import Path

__all__ = ["preload_path"]


def preload_path() -> Path:
    """Where this package has its preload library (a source checkout has none)."""
    return Path(__file__).resolve().parent / "lib" / "libiolens.so"


def __getattr__(name: str) -> str:
    # Lazy: importlib.metadata costs more than everything else in this package's import.
    if name == "__version__":
        from importlib.metadata import version

        return version("iolens")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
