"""Finding logs: what lies below the folders in which a site keeps them, and which of it is new.

Darshan's layout and iolens' (year/month/day), or any other. Files with a log's name are not opened; of the others the
first bytes decide.
"""

from __future__ import annotations

import bz2
import os
import re
import zlib
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Callable, NamedTuple

from iolens.fleet.archive.adopt import Indexed
from iolens.fleet.archive.container import Entry
from iolens.fleet.log_area import open_below, refusal, trusted

__all__ = ["Found", "Packed", "find_logs", "packed_logs"]

# Darshan 3.x; 1.x and 2.x.
_LOG = (".darshan", ".darshan.gz", ".darshan.bz2")
_UNFINISHED = ".darshan_partial"
_MAGIC = 6567223
# bzip2 gives out no byte of a block before its end.
_BZIP2_BLOCK = 1 << 20


class Packed(NamedTuple):
    """Where a log is that is in an archive."""

    archive: str
    """Its path."""
    entry: Entry


class Found(NamedTuple):
    """A log as the file system knows it, or the index of an archive."""

    path: str
    size: int
    mtime: int
    """Nanoseconds since 1970."""
    area: str = ""
    """The folder that the site has named: what is below is opened without following a link."""
    trusted: bool = False
    """Can only root and this user change the folders from the area to the log?"""
    refusal: str = ""
    """What it is if it is no regular file."""
    owner: int = -1
    """The user that the file belongs to."""
    packed: Packed | None = None
    """The archive that it is read from, whatever is at its path."""


def _in_order(name: str) -> list[tuple[int, str]]:
    """Months and days in their order, with and without leading zeros."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name) if part]


def find_logs(
    areas: Iterable[str | os.PathLike[str]],
    unreadable: Callable[[str, OSError], None],
    skipped: Callable[[str, str], None] = lambda path, reason: None,
    left_out: Collection[str] = (),
) -> Iterator[list[Found]]:
    """The logs of each folder, a list per folder, days in their order; links below an area are not followed.

    Their paths are absolute: a log is known by its path, which must not depend on where one stands.
    unreadable: is called for every folder, and log, that cannot be looked at; the others are found.
    skipped: is called for everything else that is no log, with the reason. left_out: folders: the lake's.
    """
    for area in areas:
        path = os.path.abspath(area)  # noqa: PTH100 - links stay as they are
        if os.path.isdir(path):  # noqa: PTH112
            yield from _below(path, _Looked(path, unreadable, skipped), {*map(os.path.abspath, left_out)})
        else:
            yield _one(path, unreadable)


def packed_logs(archives: Iterable[Indexed]) -> Iterator[list[Found]]:
    """The logs of each archive."""
    for one in archives:
        yield [
            Found(e.path, e.log_size, e.mtime, trusted=True, packed=Packed(str(one.path), e))
            for e in one.entries
        ]


def _found(path: str, area: str, trusted_folder: bool, status: os.stat_result) -> Found:
    kind = refusal(status.st_mode)
    return Found(path, status.st_size, status.st_mtime_ns, area, trusted_folder, kind, status.st_uid)


def _one(path: str, unreadable: Callable[[str, OSError], None]) -> list[Found]:
    folder = os.path.dirname(path)  # noqa: PTH120
    try:
        status = os.lstat(path)
        return [_found(path, folder, trusted(os.stat(folder)), status)]  # noqa: PTH116
    except OSError as error:
        unreadable(path, error)
        return []


def _begins_as_log(head: bytes) -> bool:
    """Does it begin with the number of a version, and the magic number that follows since 2.00?"""
    if not re.match(rb"[123]\.\d\d\0", head):
        return False
    return head[:1] == b"1" or _MAGIC in {int.from_bytes(head[8:16], order) for order in ("little", "big")}


def _head(folder: int, name: str) -> bytes:
    """The first bytes, decompressed. OSError if it cannot be read."""
    with os.fdopen(open_below(folder, name), "rb", buffering=0) as file:
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
    """Looks at entries of folders below an area."""

    def __init__(
        self, area: str, unreadable: Callable[[str, OSError], None], skipped: Callable[[str, str], None]
    ) -> None:
        self.area = area
        self.unreadable = unreadable
        self._skipped = skipped

    def at(self, entry: os.DirEntry[str], folder: int, path: str, sound: bool) -> Found | None:
        """The log that this is, in a folder that is open. What has a log's name and is no file is one to be refused."""
        named = entry.name.endswith(_LOG)
        try:
            status = entry.stat(follow_symlinks=False)
            if reason := "" if named else self._not_taken(entry.name, folder, status):
                self._skipped(path, reason)
                return None
            return _found(path, self.area, sound, status)
        except FileNotFoundError:  # it was removed since
            return None
        except OSError as error:
            if named:
                self.unreadable(path, error)
            else:
                self._skipped(path, "cannot be read and has no log's name")
            return None

    @staticmethod
    def _not_taken(name: str, folder: int, status: os.stat_result) -> str:
        if kind := refusal(status.st_mode):
            return kind.removeprefix("a ")
        if name.endswith(_UNFINISHED):
            return "log of a job that runs or was killed"
        return "" if _begins_as_log(_head(folder, name)) else "no log"


def _below(area: str, looked: _Looked, left_out: Collection[str]) -> Iterator[list[Found]]:
    try:
        root = os.open(area, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        looked.unreadable(area, error)
        return
    try:
        waiting = [("", True)]
        while waiting:
            below, sound = waiting.pop()
            path = os.path.join(area, below) if below else area  # noqa: PTH118
            if path in left_out:
                continue
            try:
                here = open_below(root, below, folder=True) if below else os.dup(root)
            except OSError as error:
                looked.unreadable(path, error)
                continue
            try:
                sound = sound and trusted(os.fstat(here))
                found, folders = _list(here, path, sound, looked)
            finally:
                os.close(here)
            folders.sort(key=_in_order, reverse=True)  # the last of the list is the next
            waiting += [(f"{below}/{name}" if below else name, sound) for name in folders]
            if found:
                yield sorted(found)
    finally:
        os.close(root)


def _list(here: int, path: str, sound: bool, looked: _Looked) -> tuple[list[Found], list[str]]:
    """The logs in a folder that is open, and the names of its folders."""
    found, folders = [], []
    try:
        with os.scandir(here) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif log := looked.at(entry, here, os.path.join(path, entry.name), sound):  # noqa: PTH118
                    found.append(log)
    except OSError as error:
        looked.unreadable(path, error)
    return found, folders
