"""Log areas: directories where users write. A log is opened without believing its name or what lies on the way.

Only regular files are opened, and the open descriptor is what is checked and read. Below an area no link is followed.
Where no area is known, a link counts only if root or this user has made it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
from collections import deque

from iolens.fleet.tables.access import only_owner_writes

__all__ = [
    "Way",
    "make_directory",
    "open_below",
    "open_directory",
    "open_log",
    "refusal",
    "stat_log",
    "trusted",
]

_PASSED = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_OPENAT2 = 437
_NO_SYMLINKS, _BENEATH = 0x04, 0x08
_MOST_LINKS = 40
_KINDS = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISDIR, "a directory"),
)


def refusal(mode: int) -> str:
    """Why a file of this mode is no log, "" for a regular file."""
    if stat.S_ISREG(mode):
        return ""
    return next((text for of_kind, text in _KINDS if of_kind(mode)), "no regular file")


def trusted(status: os.stat_result) -> bool:
    """Can only root and this user change the directory?"""
    return status.st_uid in (0, os.geteuid()) and only_owner_writes(status)


# ---- below an area ----


class _How(ctypes.Structure):
    """``struct open_how`` of openat2."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_libc = ctypes.CDLL(None, use_errno=True)


def _openat2(directory: int, path: str, flags: int) -> int:
    how = _How(flags, 0, _NO_SYMLINKS | _BENEATH)
    while True:
        fd = int(
            _libc.syscall(
                ctypes.c_long(_OPENAT2),
                ctypes.c_int(directory),
                ctypes.c_char_p(os.fsencode(path)),
                ctypes.byref(how),
                ctypes.c_size_t(ctypes.sizeof(how)),
            )
        )
        if fd >= 0:
            return fd
        code = ctypes.get_errno()
        if code not in (errno.EINTR, errno.EAGAIN):
            raise OSError(code, os.strerror(code), path)


def _step_by_step(directory: int, path: str, flags: int) -> int:
    """As openat2 does it, where the kernel has none (Linux before 5.6) or a sandbox forbids it."""
    *folders, name = path.split("/")
    if ".." in (*folders, name):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    here = os.dup(directory)
    try:
        for folder in folders:
            below = os.open(folder, _PASSED, dir_fd=here)
            os.close(here)
            here = below
        return os.open(name, flags, dir_fd=here)
    finally:
        os.close(here)


def open_below(directory: int, path: str, *, folder: bool = False) -> int:
    """What lies below a directory, for reading. A link anywhere on the way raises OSError."""
    flags = _DIRECTORY if folder else _FILE
    try:
        return _openat2(directory, path, flags)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EPERM):
            raise
    return _step_by_step(directory, path, flags)


# ---- by an absolute path ----


class Way:
    """The way to a path, from the root directory: a descriptor of where it has come to.

    ``safe`` is false once a user other than root and this one can change what the way leads to.
    """

    def __init__(self) -> None:
        self.fd = os.open("/", _PASSED)
        self.safe = True
        self._links = 0

    def __enter__(self) -> Way:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)

    def follow(self, path: str, *, make: bool = False) -> None:
        """To a directory. make: those that are missing."""
        left = deque(os.path.abspath(path).split("/"))  # noqa: PTH100 - links stay as they are
        while left:
            part = left.popleft()
            if part in ("", "."):
                continue
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=self.fd)
            try:
                below = os.open(part, _PASSED, dir_fd=self.fd)
            except OSError as error:
                if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                    raise
                target = self._target(part, error)
                if target.startswith("/"):
                    self._enter(os.open("/", _PASSED))
                left.extendleft(reversed(target.split("/")))
            else:
                self.note(os.fstat(below))
                self._enter(below)

    def note(self, one: os.stat_result) -> None:
        """Can a user other than root and this one put something else in the place of this one?"""
        here = os.fstat(self.fd)
        mine = (0, os.geteuid())
        kept = here.st_uid in mine and bool(here.st_mode & stat.S_ISVTX) and one.st_uid in mine
        self.safe = self.safe and (trusted(here) or kept)

    def _enter(self, below: int) -> None:
        os.close(self.fd)
        self.fd = below

    def _target(self, name: str, error: OSError) -> str:
        """Of a link that root or this user has made; raises the error for others."""
        one = os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        here = os.fstat(self.fd)
        mine = (0, os.geteuid())
        ours = one.st_uid in mine and here.st_uid in mine and one.st_nlink == 1
        self._links += 1
        if (
            not stat.S_ISLNK(one.st_mode)
            or not ours
            or not (trusted(here) or here.st_mode & stat.S_ISVTX)
            or self._links > _MOST_LINKS
        ):
            raise error
        return os.readlink(name, dir_fd=self.fd)


def open_directory(path: str) -> int:
    """A directory by its absolute path."""
    with Way() as way:
        way.follow(path)
        return os.dup(way.fd)


def make_directory(path: str) -> int:
    """The same; it is made if it is not there."""
    with Way() as way:
        way.follow(path, make=True)
        return os.dup(way.fd)


def stat_log(path: str) -> os.stat_result:
    """Of a log by its absolute path. Raises OSError, for what is no regular file, too."""
    folder, _, name = path.rpartition("/")
    with Way() as way:
        way.follow(folder or ".")
        status = os.stat(name, dir_fd=way.fd, follow_symlinks=False)
    if text := refusal(status.st_mode):
        raise OSError(errno.EINVAL, f"is {text}", path)
    return status


def open_log(path: str) -> tuple[int, bool]:
    """A log by its absolute path, for reading; and whether only root and this user can change what the path leads to.

    Raises OSError, for what is no regular file, too.
    """
    folder, _, name = path.rpartition("/")
    with Way() as way:
        way.follow(folder or ".")
        fd = os.open(name, _FILE, dir_fd=way.fd)
        status = os.fstat(fd)
        way.note(status)
    if text := refusal(status.st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, f"is {text}", path)
    return fd, way.safe and status.st_uid in (0, os.geteuid()) and status.st_nlink == 1
