"""Which users can read a lake: its owner, and a group if the site says so. The mode of the lake's folder decides.

What root writes belongs to the owner of the lake, whose service goes on.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

from iolens.error import USAGE, IolensError

__all__ = [
    "PRIVATE",
    "adopt_umask",
    "group_number",
    "keep_owner",
    "like_lake",
    "only_owner_writes",
    "open_to_group",
    "writable_by_others",
]

PRIVATE = 0o700
_GROUP = 0o750


def group_number(name: str) -> int:
    """Raises IolensError for a group that this machine does not know."""
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        raise IolensError(f'--group "{name}": there is no such group', exit_code=USAGE) from None


def open_to_group(folder: Path, group: int) -> None:
    """Everything in a lake becomes readable for a group; the lake's own folder last, which says that all is done."""
    status = folder.stat()
    if status.st_gid == group and status.st_mode & 0o077 == 0o050:
        return
    for place, _, files in os.walk(folder, topdown=False):
        for name in files:
            _give(Path(place, name), group, 0o640)
        _give(Path(place), group, _GROUP | stat.S_ISGID)


def _give(path: Path, group: int, mode: int) -> None:
    with contextlib.suppress(FileNotFoundError):  # a compaction has removed it
        os.chown(path, -1, group, follow_symlinks=False)
        try:
            path.chmod(mode)
        except PermissionError:  # a service that may not set S_ISGID; its own group is this one
            path.chmod(mode & 0o777)


def like_lake(lake: Path, *folders: Path) -> None:
    """New folders outside of a lake have its owner and its readers."""
    has = lake.stat()
    for folder in folders:
        with contextlib.suppress(PermissionError):
            os.chown(folder, -1 if os.geteuid() else has.st_uid, has.st_gid)
        try:
            folder.chmod(stat.S_IMODE(has.st_mode))
        except PermissionError:
            folder.chmod(has.st_mode & 0o777)


def keep_owner(*paths: str | os.PathLike[str]) -> None:
    """What root has made belongs to the owner of the folder that it is in. Folders come before what is in them.

    The descriptor is looked at: the owner may have put another file there, with a link to it elsewhere.
    """
    if os.geteuid():
        return
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    for path in map(Path, paths):
        folder = path.parent.stat()
        if folder.st_uid == 0:
            continue
        with contextlib.suppress(FileNotFoundError):
            handle = os.open(path, flags)
            try:
                made = os.fstat(handle)
                if made.st_uid == 0 and (stat.S_ISDIR(made.st_mode) or made.st_nlink == 1):
                    os.fchown(handle, folder.st_uid, folder.st_gid)
            finally:
                os.close(handle)


def adopt_umask(folder: Path) -> None:
    """From now on only users that can read the folder can read what this process makes."""
    old = os.umask(0o077)
    os.umask(old | (~folder.stat().st_mode & 0o077))


def only_owner_writes(status: os.stat_result) -> bool:
    """Can neither a group nor all users write? A group of the owner's own name is the owner's."""
    if status.st_mode & stat.S_IWOTH:
        return False
    return not status.st_mode & stat.S_IWGRP or _private_group(status)


def _private_group(status: os.stat_result) -> bool:
    try:
        return grp.getgrgid(status.st_gid).gr_name == pwd.getpwuid(status.st_uid).pw_name
    except (KeyError, OverflowError):
        return False


def _parts(folder: Path) -> Iterator[Path]:
    yield folder
    with os.scandir(folder) as entries:
        for entry in entries:
            yield Path(entry.path)
            if entry.is_dir() and (log := Path(entry.path, "_delta_log")).is_dir():
                yield log


def writable_by_others(folder: Path) -> Path | None:
    """A folder or file of a lake that users other than its owner can write."""
    for path in _parts(folder):
        with contextlib.suppress(FileNotFoundError):  # a journal of SQLite
            if not only_owner_writes(path.stat()):
                return path
    return None
