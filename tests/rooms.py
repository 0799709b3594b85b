"""The C rooms, what each may include, and which headers are their fronts: docs/architecture.md explains them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

# Which rooms a C room may include besides itself.
MAY_INCLUDE = {
    "format": set(),
    "runtime": {"format"},
    "modules": {"runtime", "format"},
    "kernel": {"runtime", "format"},
    "ranges": set(),
    "cli": {"format"},
    "api": {"format"},
    "python": {"format"},
}
ROOMS = [*MAY_INCLUDE, "tools", "tests", "bench"]
# Headers directly in a room that are a front -> the inner room that implements them.
FRONT = {
    "format/log.h": "container",
    "format/trailer.h": "trailer",
    "format/writer.h": "write",
    "format/rewrite.h": "write",
    "format/assemble.h": "assemble",
    "format/merge.h": "merge",
    "cli/cli.h": "text",
    "runtime/mpi/mpi.h": "mpi/finalize",
}


def sources(root: Path, *suffixes: str, rooms: Iterable[str]) -> Iterator[Path]:
    return (p for room in rooms for p in sorted((root / room).rglob("*")) if p.suffix in suffixes)


def show(violations: list[str]) -> str:
    return "\n" + "\n".join(violations)
