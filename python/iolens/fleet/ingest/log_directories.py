"""Finding logs: what lies below the folders in which a site keeps them, and which of it is new.

Darshan's layout and iolens' (year/month/day), or any other: every file ``*.darshan``. No file is opened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Callable, NamedTuple

from iolens.fleet.log_area import open_below, refusal, trusted

__all__ = ["Found", "find_logs"]

_LOG = ".darshan"


class Found(NamedTuple):
    """A log as the file system knows it."""

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


def _in_order(name: str) -> list[tuple[int, str]]:
    """Months and days in their order, with and without leading zeros."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name) if part]


def find_logs(
    areas: Iterable[str | os.PathLike[str]], unreadable: Callable[[str, OSError], None]
) -> Iterator[list[Found]]:
    """The logs of each folder, a list per folder, days in their order; links below an area are not followed.

    Their paths are absolute: a log is known by its path, which must not depend on where one stands.
    unreadable: is told of every folder, and file, that cannot be looked at; the others are found.
    """
    for area in areas:
        path = os.path.abspath(area)  # noqa: PTH100 - links stay as they are
        if os.path.isdir(path):  # noqa: PTH112
            yield from _below(path, unreadable)
        else:
            yield _one(path, unreadable)


def _found(path: str, area: str, trusted_folder: bool, status: os.stat_result) -> Found:
    kind = refusal(status.st_mode)
    return Found(path, status.st_size, status.st_mtime_ns, area, trusted_folder, kind)


def _one(path: str, unreadable: Callable[[str, OSError], None]) -> list[Found]:
    folder = os.path.dirname(path)  # noqa: PTH120
    try:
        status = os.lstat(path)
        return [_found(path, folder, trusted(os.stat(folder)), status)]  # noqa: PTH116
    except OSError as error:
        unreadable(path, error)
        return []


def _below(area: str, unreadable: Callable[[str, OSError], None]) -> Iterator[list[Found]]:
    try:
        root = os.open(area, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        unreadable(area, error)
        return
    try:
        waiting = [("", True)]
        while waiting:
            below, sound = waiting.pop()
            path = os.path.join(area, below) if below else area  # noqa: PTH118
            try:
                here = open_below(root, below, folder=True) if below else os.dup(root)
            except OSError as error:
                unreadable(path, error)
                continue
            try:
                sound = sound and trusted(os.fstat(here))
                found, folders = _list(here, path, area, sound, unreadable)
            finally:
                os.close(here)
            folders.sort(key=_in_order, reverse=True)  # the last of the list is the next
            waiting += [(f"{below}/{name}" if below else name, sound) for name in folders]
            if found:
                yield sorted(found)
    finally:
        os.close(root)


def _list(
    here: int, path: str, area: str, sound: bool, unreadable: Callable[[str, OSError], None]
) -> tuple[list[Found], list[str]]:
    """The logs in a folder that is open, and the names of its folders."""
    found, folders = [], []
    try:
        with os.scandir(here) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif entry.name.endswith(_LOG):
                    one = os.path.join(path, entry.name)  # noqa: PTH118
                    try:
                        found.append(_found(one, area, sound, entry.stat(follow_symlinks=False)))
                    except FileNotFoundError:  # it was removed since
                        continue
                    except OSError as error:
                        unreadable(one, error)
    except OSError as error:
        unreadable(path, error)
    return found, folders
