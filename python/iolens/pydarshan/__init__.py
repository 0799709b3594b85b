"""PyDarshan's interface on top of iolens: a script changes its import line.

    import iolens.pydarshan as darshan
    report = darshan.DarshanReport("job.darshan")
    report.records["POSIX"].to_df()["counters"]

Needs numpy, pandas and pyarrow. Values that Darshan marks with -1 are -1 again, as PyDarshan's users expect; the
tables of iolens have nulls there. `experimental`, `cli`, `lib` and `log_utils` are PyDarshan's own, where it is
installed, and run on our reader.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

from iolens.pydarshan.accumulate import accumulate_records
from iolens.pydarshan.adopted import ADOPTED, Finder
from iolens.pydarshan.report import (
    DarshanRecordCollection,
    DarshanReport,
    Heatmap,
    ModuleNotInDarshanLog,
)

__all__ = [
    "DarshanRecordCollection",
    "DarshanReport",
    "Heatmap",
    "ModuleNotInDarshanLog",
    "accumulate_records",
    "enable_experimental",
    "options",
]

# Whose interface this is: scripts look at it.
__version__ = __darshanutil_version__ = "3.5.0"

logger = logging.getLogger(__name__)
options: dict[str, Any] = {}

sys.meta_path.append(Finder())


def enable_experimental(verbose: bool = False) -> None:
    """PyDarshan's aggregators and operations become methods of DarshanReport."""
    import importlib
    import pkgutil

    for part in ("aggregators", "operations"):
        package = importlib.import_module(f"{__name__}.experimental.{part}")
        for found in pkgutil.iter_modules(package.__path__):
            module = importlib.import_module(f"{package.__name__}.{found.name}")
            setattr(DarshanReport, found.name, getattr(module, found.name))
            if verbose:
                print(f"DarshanReport.{found.name}")


def __getattr__(name: str) -> Any:
    if name in ADOPTED:
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
