"""iolens: what a program's I/O does, and what to change."""

from __future__ import annotations

from pathlib import Path

__all__ = ["preload_path"]


def preload_path() -> Path:
    """Path of the preload library that belongs to this package (the file need not exist in a source checkout)."""
    return Path(__file__).resolve().parent / "lib" / "libiolens.so"


def __getattr__(name: str) -> str:
    # Lazy: importlib.metadata costs more than everything else in this package's import.
    if name == "__version__":
        from importlib.metadata import version

        return version("iolens")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
