"""iolens: what a program's I/O does, and what to change."""

from __future__ import annotations

TYPE_CHECKING = False  # typing and pathlib are all that this import would take, 60 million instructions
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from iolens.error import IolensError
    from iolens.log import Log, Scan, open, scan
    from iolens.phases import phase, steps

__all__ = ["IolensError", "Log", "Scan", "open", "phase", "preload_path", "scan", "steps"]

_FROM_LOG = {"Log", "Scan", "open", "scan"}


def preload_path() -> Path:
    """Where this package has its preload library (a source checkout has none)."""
    from pathlib import Path

    return Path(__file__).resolve().parent / "lib" / "libiolens.so"


def __getattr__(name: str) -> Any:
    # Lazy: importlib.metadata costs more than everything else in this package's import.
    if name == "__version__":
        from importlib.metadata import version

        return version("iolens")
    if name == "log":  # `import iolens` is enough for iolens.log.open
        import importlib

        return importlib.import_module("iolens.log")
    if name in _FROM_LOG:
        from iolens import log

        return getattr(log, name)
    if name in {"phase", "steps"}:
        from iolens import phases

        return getattr(phases, name)
    if name == "load_ipython_extension":
        from iolens import notebook

        return notebook.load_ipython_extension
    if name == "IolensError":
        from iolens import error

        return error.IolensError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__", "log"})
