"""What a loss of power leaves.

A file without fsync may keep its name and lose its bytes; a name is lost until its folder is synced. So a file is
written under another name, synced, given its name, and its folder is synced; and nothing is removed before all that
stands for it is on disk.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Union

from iolens.fleet.tables.access import keep_owner

__all__ = ["Syncing", "make_folder", "publish", "reason", "settle", "sync"]

AnyPath = Union[str, "os.PathLike[str]"]

_AT_ONCE = 8
"""File systems write one journal entry for all threads that wait for it."""

_libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def _opened(path: AnyPath) -> Iterator[int]:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def _at(path: AnyPath, error: OSError) -> OSError:
    """Of the same class, with a path."""
    return OSError(error.errno, error.strerror, os.fspath(path))


def sync(*paths: AnyPath) -> None:
    """What is in these files and folders survives a loss of power."""
    for path in paths:
        with _opened(path) as handle:
            try:
                os.fsync(handle)
            except OSError as error:
                if error.errno != errno.EINVAL:  # of a file system that syncs no folder
                    raise _at(path, error) from error


def settle(folder: AnyPath) -> None:
    """The same for all that processes of this machine have written to this file system."""
    with _opened(folder) as handle:
        if _libc.syncfs(handle):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), os.fspath(folder))


def make_folder(folder: Path) -> list[Path]:
    """A folder that survives, with those above it; those that were not there."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        sync(path.parent)
    return missing


def publish(content: bytes, path: Path, *, replace: bool = False) -> None:
    """A file that is there whole or not at all. Raises FileExistsError if it is there, unless it is to be replaced."""
    made = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with made.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        keep_owner(made)
        if replace:
            made.replace(path)
        else:
            os.link(made, path)
    except OSError as error:
        raise _at(path, error) from error
    finally:
        made.unlink(missing_ok=True)
    sync(path.parent)


def reason(error: Exception) -> str:
    """Why the system refused, in a line: libraries print paths, codes and colours around its words."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    words = (os.strerror(code) for code in sorted(errno.errorcode))
    return next((each for each in words if each.lower() in text.lower()), text.splitlines()[0])


class Syncing:
    """Files that are synced while the process goes on."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_AT_ONCE)
        self._begun: list[Future[None]] = []

    def begin(self, paths: Iterable[AnyPath]) -> None:
        self._begun += [self._pool.submit(sync, path) for path in paths]

    def end(self) -> None:
        """All of them are on disk. Raises OSError."""
        begun, self._begun = self._begun, []
        for one in begun:
            one.result()

    def __enter__(self) -> Syncing:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
