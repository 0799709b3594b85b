"""Logs made record by record, of any module with records of fixed size, and of file layouts."""

from __future__ import annotations

import itertools
import json
import struct
from pathlib import Path
from typing import Any

import places
from logmaker import LogMaker, record

LUSTRE = 8


def _layout(id: int, stripe_size: int, targets: list[int]) -> bytes:
    component = struct.pack("<4q", stripe_size, len(targets), 0, 0) + struct.pack("<3q", 0, -1, 0) + bytes(16)
    return (
        struct.pack("<Qqqq", id, 0, 1, len(targets)) + component + struct.pack(f"<{len(targets)}q", *targets)
    )


class Make:
    """make(posix=[{...}, ...], mpiio=[...], layouts={id: (stripe size, [OST, ...])}, more of LogMaker): its path."""

    def __init__(self, folder: Path) -> None:
        schema = json.loads((places.BUILD / "format" / "schema.json").read_text())["schema"]
        self.modules = {module["key"]: module for module in schema}
        self.folder = folder
        self.numbers = itertools.count()

    def __call__(self, *, layouts: dict[int, tuple[int, list[int]]] | None = None, **more: Any) -> Path:
        regions = {}
        for key in [k for k in more if k in self.modules]:
            module = self.modules[key]
            raw = b"".join(record(module, **one) for one in more.pop(key))
            regions[module["id"]] = (module["version"], raw)
        if layouts:
            regions[LUSTRE] = (2, b"".join(_layout(id, *layout) for id, layout in layouts.items()))
        path = self.folder / f"made-{next(self.numbers)}.darshan"
        path.write_bytes(bytes(LogMaker(regions=regions, **more)))
        return path
