"""Finding logs: what lies below the folders in which a site keeps them, and which of it is new.

Darshan's layout and iolens' (year/month/day), or any other: every file ``*.darshan``. No file is opened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Callable, NamedTuple

__all__ = ["Found", "find_logs"]

_LOG = ".darshan"


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
    areas: Iterable[str | os.PathLike[str]], unreadable: Callable[[str, OSError], None]
) -> Iterator[list[Found]]:
    """The logs of each folder, a list per folder, days in their order; links to folders are not followed.

    Their paths are absolute: a log is known by its path, which must not depend on where one stands.
    unreadable: is told of every folder, and file, that cannot be looked at; the others are found.
    """
    for area in areas:
        path = os.path.abspath(area)  # noqa: PTH100 - links stay as they are
        if os.path.isfile(path):  # noqa: PTH113
            yield _one(path, unreadable)
        else:
            yield from _below(path, unreadable)


def _one(path: str, unreadable: Callable[[str, OSError], None]) -> list[Found]:
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError as error:
        unreadable(path, error)
        return []
    return [Found(path, status.st_size, status.st_mtime_ns)]


def _below(folder: str, unreadable: Callable[[str, OSError], None]) -> Iterator[list[Found]]:
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        found, folders = [], []
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    name = entry.name
                    if name.endswith(_LOG):
                        try:
                            if not entry.is_dir():
                                status = entry.stat()
                                found.append(Found(entry.path, status.st_size, status.st_mtime_ns))
                                continue
                        except OSError as error:
                            if not isinstance(error, FileNotFoundError):  # it was removed since
                                unreadable(entry.path, error)
                            continue
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(name)
        except OSError as error:
            unreadable(here, error)
        folders.sort(key=_in_order, reverse=True)  # the last of the list is the next
        waiting += [os.path.join(here, name) for name in folders]  # noqa: PTH118
        if found:
            found.sort()
            yield found
