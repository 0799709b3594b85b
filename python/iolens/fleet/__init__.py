"""The jobs of a machine, in one place: a lake of Delta tables, and what is asked of all of them.

The tables are those of ``iolens.metrics.Dataset``, so that every metric and every rule runs over a lake as over one
log. ``Lake`` needs ``iolens[fleet]``.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from iolens.fleet.tables.data import LakeData
    from iolens.fleet.tables.lake import Lake

__all__ = ["Lake", "LakeData"]


def __getattr__(name: str) -> Any:
    """Late: what needs no lake needs no deltalake."""
    if name == "Lake":
        from iolens.fleet.tables.lake import Lake

        return Lake
    if name == "LakeData":
        from iolens.fleet.tables.data import LakeData

        return LakeData
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
