"""The smallest form of a log that has the same records: as it is, or rewritten with bzip2."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from arro3.core import Table as ArrowTable

from iolens.error import IolensError
from iolens.fleet.archive.container import packed_size
from iolens.log import Log

__all__ = ["AS_IS", "BZIP2", "Form", "best_form"]

AS_IS, BZIP2 = "as is", "bzip2"

LEAST = 16 << 10
"""Bytes: below this bzip2 has made no log smaller than ZIP's own compression makes it as it is."""

# Rewritten, a log is not the same file any more: for less than this it stays as it is.
_WORTH = 0.95


class Form(NamedTuple):
    """A log as it goes into an archive."""

    content: bytes
    name: str


def best_form(log: int, content: bytes, program: str) -> Form:
    """log: a descriptor. program: the native iolens."""
    rewritten = _rewritten(log, program) if len(content) >= LEAST else None
    if rewritten is None or packed_size(rewritten) > _WORTH * packed_size(content):
        return Form(content, AS_IS)
    return Form(rewritten, BZIP2) if same_records(content, rewritten) else Form(content, AS_IS)


def _rewritten(log: int, program: str) -> bytes | None:
    with tempfile.TemporaryDirectory(prefix="iolens-") as folder:
        new = Path(folder) / "log.darshan"
        done = subprocess.run(
            [program, "convert", "--bzip2", "--", f"/proc/self/fd/{log}", new],
            check=False,
            pass_fds=(log,),
            capture_output=True,
            stdin=subprocess.DEVNULL,
        )
        # 4: something was left out that this version does not decode.
        return new.read_bytes() if done.returncode == 0 else None


def _tables(log: Log) -> Iterator[tuple[str, object]]:
    yield "format", log.version
    yield "job", log.job
    yield "mounts", log.mounts
    yield "modules", {m.key: (m.id, m.version, m.partial, m.decoded) for m in log.modules.values()}
    for module in log.modules.values():
        yield module.key, ArrowTable.from_arrow(log.table(module.key))
    yield "names", ArrowTable.from_arrow(log.table("names"))
    yield "sections", tuple(log.trailer)
    for name, table in log.trailer.items():
        yield name, ArrowTable.from_arrow(table)


def same_records(one: bytes, other: bytes) -> bool:
    """Do two logs say the same, in everything that this version decodes, which is everything that is in them?"""
    try:
        with Log(one) as first, Log(other) as second:
            if not all(module.decoded for module in first.modules.values()):
                return False
            pairs = zip(_tables(first), _tables(second))
            return all(a[0] == b[0] and a[1] == b[1] for a, b in pairs)
    except IolensError:
        return False
