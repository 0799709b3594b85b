"""The modules that this version knows: the generated table of modules/*/*.toml."""

from __future__ import annotations

from typing import NamedTuple

from iolens.log import _native

__all__ = ["KNOWN", "TRACES", "KnownModule"]


class KnownModule(NamedTuple):
    """A row of the table; what its TOML does not say is None."""

    id: int
    """In a 3.41 log."""
    darshan: str
    """Darshan's name."""
    key: str | None
    """Name of its table, None if only its name is known."""
    version: int
    """Of its records; 0 = not decoded."""
    kind: str
    """What its rows are made from."""
    roles: bool
    """Its counters have roles: records of files or parts of them."""
    recorded: bool
    """The preload library writes it."""
    title: str | None
    level: str | None
    """libc, middleware or library."""
    library: str | None
    """What it is shown together with."""
    library_title: str | None
    over: str | None
    """Key of the module whose records hold what this one moved."""
    within: str | None
    """Key of the module that has the files these objects are in."""
    traces: str | None
    """Key of the module whose accesses these are."""


KNOWN = tuple(KnownModule(*row) for row in _native.modules())
"""By id."""

TRACES = tuple(m for m in KNOWN if m.traces)
"""Modules of single accesses, not counters."""
