"""Finding logs: what lies below the folders in which a site keeps them, and which of it is new.

Darshan's layout and iolens' (year/month/day), or any other. Files with a log's name are not opened; of the others the
first bytes decide.
"""

from __future__ import annotations

import bz2
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Callable, NamedTuple

__all__ = ["Found", "find_logs"]

# Darshan 3.x; 1.x and 2.x.
_LOG = (".darshan", ".darshan.gz", ".darshan.bz2")
_UNFINISHED = ".darshan_partial"
_MAGIC = 6567223
# bzip2 gives out no byte of a block before its end.
_BZIP2_BLOCK = 1 << 20


class Found(NamedTuple):
    """A log as the file system knows it."""

    path: str
    size: int
    mtime: int
    """Nanoseconds since 1970."""


def _in_order(name: str) -> list[tuple[int, str]]:
    """Months and days in their order, with and without leading zeros."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name) if part]


def find_logs(
    areas: Iterable[str | os.PathLike[str]],
    unreadable: Callable[[str, OSError], None],
    skipped: Callable[[str, str], None] = lambda path, reason: None,
    lake: str = "",
) -> Iterator[list[Found]]:
    """The logs of each folder, a list per folder, days in their order; links to folders are not followed.

    Their paths are absolute: a log is known by its path, which must not depend on where one stands.
    unreadable: is called for every folder, and log, that cannot be looked at; the others are found.
    skipped: is called for everything else that is no log, with the reason. lake: a folder that is left out.
    """
    for area in areas:
        path = os.path.abspath(area)  # noqa: PTH100 - links stay as they are
        if os.path.isfile(path):  # noqa: PTH113
            yield _one(path, unreadable)
        else:
            yield from _below(path, _Looked(unreadable, skipped), os.path.abspath(lake) if lake else "")  # noqa: PTH100


def _one(path: str, unreadable: Callable[[str, OSError], None]) -> list[Found]:
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError as error:
        unreadable(path, error)
        return []
    return [Found(path, status.st_size, status.st_mtime_ns)]


def _begins_as_log(head: bytes) -> bool:
    """Does it begin with the number of a version, and the magic number that follows since 2.00?"""
    if not re.match(rb"[123]\.\d\d\0", head):
        return False
    return head[:1] == b"1" or _MAGIC in {int.from_bytes(head[8:16], order) for order in ("little", "big")}


def _head(path: str) -> bytes:
    """The first bytes, decompressed. OSError if it cannot be read."""
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123
        head = file.read(1024) or b""
        if head[:2] == b"\x1f\x8b":
            decoder: Any = zlib.decompressobj(31)
        elif head[:3] == b"BZh":
            decoder = bz2.BZ2Decompressor()
            head += file.read(_BZIP2_BLOCK) or b""
        else:
            return head[:16]
    try:
        return bytes(decoder.decompress(head, 16))
    except (zlib.error, OSError):
        return b""


class _Looked:
    """Looks at entries of folders."""

    def __init__(
        self, unreadable: Callable[[str, OSError], None], skipped: Callable[[str, str], None]
    ) -> None:
        self.unreadable = unreadable
        self._skipped = skipped

    def at(self, entry: os.DirEntry[str]) -> Found | None:
        """The log that this is."""
        named = entry.name.endswith(_LOG)
        try:
            if reason := self._not_taken(entry, named):
                self._skipped(entry.path, reason)
                return None
            status = entry.stat()
            return Found(entry.path, status.st_size, status.st_mtime_ns)
        except FileNotFoundError:  # it was removed since
            return None
        except OSError as error:
            if named:
                self.unreadable(entry.path, error)
            else:
                self._skipped(entry.path, "cannot be read and has no log's name")
            return None

    @staticmethod
    def _not_taken(entry: os.DirEntry[str], named: bool) -> str:
        if entry.is_dir():
            return "link to a folder"
        if not entry.is_file():
            return "broken link" if entry.is_symlink() else "no regular file"
        if entry.name.endswith(_UNFINISHED):
            return "log of a job that runs or was killed"
        return "" if named or _begins_as_log(_head(entry.path)) else "no log"


def _below(folder: str, looked: _Looked, lake: str) -> Iterator[list[Found]]:
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        found, folders = [], []
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.path != lake:
                            folders.append(entry.name)
                    elif log := looked.at(entry):
                        found.append(log)
        except OSError as error:
            looked.unreadable(here, error)
        folders.sort(key=_in_order, reverse=True)  # the last of the list is the next
        waiting += [os.path.join(here, name) for name in folders]  # noqa: PTH118
        if found:
            found.sort()
            yield found
