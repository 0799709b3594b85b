"""The ZIP files: one member per log, each read by its offset, and two members that say what is in the file.

A damaged directory at the end, or a damaged member, leaves the other members readable: the lake has their offsets.
"""

from __future__ import annotations

import bz2
import contextlib
import csv
import hashlib
import io
import os
import struct
import time
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO, NamedTuple

from iolens.error import IolensError

__all__ = ["Entry", "Member", "Writer", "digest_of", "read_index", "read_member"]

_LOCAL = struct.Struct("<4s5H3I2H")
_OWNER = struct.Struct("<HHBBIBI")
"""Info-ZIP's field of Unix owners."""
_OWNER_ID = 0x7875
_INDEX = tuple("member offset bytes blake2b mtime_ns form log_bytes log_blake2b job_id user cluster".split())

_UNPACK = {
    zipfile.ZIP_STORED: lambda packed: packed,
    zipfile.ZIP_DEFLATED: lambda packed: zlib.decompress(packed, -15),
    zipfile.ZIP_BZIP2: bz2.decompress,
}


def digest_of(content: bytes) -> str:
    """As the lake has it of each log, and ``b2sum -l 128`` prints it."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


class Entry(NamedTuple):
    """What the index of an archive says of a log."""

    path: str
    """Where the log was."""
    place: int
    """Byte in the archive."""
    size: int
    """Bytes as the archive has it."""
    digest: str
    """The same of these bytes."""
    mtime: int
    form: str
    log_size: int
    """Bytes as it was ingested."""
    original: str
    """Digest of these."""
    mode: int
    user: str
    """As the lake had it, "" where the index does not say."""
    cluster: str


class Member(NamedTuple):
    """A log out of an archive."""

    name: str
    content: bytes
    owner: tuple[int, int] | None
    """User and group that the log belonged to."""


class Writer:
    """Makes an archive. Nothing is at its path before, and everything is on disk after ``close``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o640)
        self.file: BinaryIO = os.fdopen(handle, "w+b")
        self._zip = zipfile.ZipFile(self.file, "w", allowZip64=True)
        self._index: list[tuple[object, ...]] = []

    def add(
        self,
        log: str,
        content: bytes,
        status: os.stat_result,
        *,
        form: str,
        known: tuple[int, str, int, str, str],
    ) -> int:
        """A member, compressed where that makes it smaller; its offset.

        known: what the lake has of the log: bytes, digest, job, user, cluster.
        """
        info = zipfile.ZipInfo(log.lstrip("/"), _dos_time(status.st_mtime))
        info.external_attr = (status.st_mode & 0xFFFF) << 16
        info.extra = _OWNER.pack(_OWNER_ID, 11, 1, 4, status.st_uid, 4, status.st_gid)
        info.compress_type = _best(content)
        offset = self.file.tell()
        self._zip.writestr(info, content, compresslevel=9)
        digest = digest_of(content)
        self._index.append((info.filename, offset, len(content), digest, status.st_mtime_ns, form, *known))
        return offset

    def close(self) -> None:
        """Adds the index, in two forms: a table, and what ``b2sum -c`` takes."""
        table = io.StringIO()
        rows = csv.writer(table, lineterminator="\n")
        rows.writerow(_INDEX)
        rows.writerows(self._index)
        self._zip.writestr(
            "index.csv", table.getvalue().encode("utf-8", "surrogateescape"), zipfile.ZIP_DEFLATED
        )
        sums = "".join(f"{row[3]}  {row[0]}\n" for row in self._index)
        self._zip.writestr("B2SUMS", sums.encode("utf-8", "surrogateescape"), zipfile.ZIP_DEFLATED)
        self._zip.close()
        self.file.flush()
        os.fsync(self.file.fileno())
        os.posix_fadvise(
            self.file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED
        )  # what is read back comes from the disk

    def abandon(self) -> None:
        """Nothing is left."""
        self.path.unlink(missing_ok=True)
        for opened in (self._zip, self.file):
            with contextlib.suppress(OSError, ValueError):  # the disk may be full
                opened.close()


def _dos_time(seconds: float) -> tuple[int, int, int, int, int, int]:
    year, *rest = time.gmtime(seconds)[:6]
    month, day, hour, minute, second = rest
    return (year, month, day, hour, minute, second) if 1980 <= year <= 2107 else (1980, 1, 1, 0, 0, 0)


def _best(content: bytes) -> int:
    sizes = {
        zipfile.ZIP_STORED: len(content),
        zipfile.ZIP_DEFLATED: len(zlib.compress(content, 9)) - 6,
        zipfile.ZIP_BZIP2: len(bz2.compress(content, 9)),
    }
    return min(sizes, key=lambda method: sizes[method])


def packed_size(content: bytes) -> int:
    """What a member of this content takes, at the least."""
    return min(len(content), len(zlib.compress(content, 9)) - 6, len(bz2.compress(content, 9)))


def read_member(file: BinaryIO, offset: int, digest: str) -> Member:
    """The log that begins at this byte. Raises IolensError if it is not the one with this digest."""
    path = str(file.name)
    try:
        file.seek(offset)
        head = _LOCAL.unpack(file.read(_LOCAL.size))
        mark, _, _, method, _, _, _, stored, size, name_length, extra_length = head
        if mark != b"PK\3\4" or method not in _UNPACK:
            raise ValueError
        name = file.read(name_length).decode("utf-8", "surrogateescape")
        extra = file.read(extra_length)
        if stored == 0xFFFFFFFF or size == 0xFFFFFFFF:
            size, stored = _large(extra)
        packed = file.read(stored)
        content = _UNPACK[method](packed)
    except (ValueError, OverflowError, EOFError, struct.error, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise IolensError(error.strerror or str(error), path) from error
        raise IolensError("the log in the archive is damaged", path, offset) from error
    if len(content) != size or digest_of(content) != digest:
        raise IolensError("the log in the archive is damaged: its checksum differs", path, offset)
    return Member(name, content, _owner(extra))


def read_index(path: Path) -> list[Entry]:
    """What is in an archive, without reading the logs. Raises IolensError."""
    try:
        with zipfile.ZipFile(path) as container:
            table = container.read("index.csv").decode("utf-8", "surrogateescape")
            modes = {info.header_offset: info.external_attr >> 16 for info in container.infolist()}
        return [_entry(row, modes) for row in csv.DictReader(io.StringIO(table, newline=""))]
    except OSError as error:
        raise IolensError(error.strerror or str(error), str(path)) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, LookupError, ValueError, TypeError) as error:
        raise IolensError("the archive has no index that can be read", str(path)) from error


def _entry(row: dict[str, str], modes: dict[int, int]) -> Entry:
    place = int(row["offset"])
    return Entry(
        f"/{row['member']}",
        place,
        int(row["bytes"]),
        row["blake2b"],
        int(row["mtime_ns"]),
        row["form"],
        int(row["log_bytes"]),
        row["log_blake2b"],
        modes[place] & 0o7777,
        row.get("user", ""),
        row.get("cluster", ""),
    )


def _fields(extra: bytes) -> dict[int, bytes]:
    fields = {}
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<HH", extra)
        fields[kind] = extra[4 : 4 + length]
        extra = extra[4 + length :]
    return fields


def _large(extra: bytes) -> tuple[int, int]:
    size, stored = struct.unpack_from("<QQ", _fields(extra).get(1, b""))
    return int(size), int(stored)


def _owner(extra: bytes) -> tuple[int, int] | None:
    found = _fields(extra).get(_OWNER_ID, b"")
    if len(found) != _OWNER.size - 4:
        return None
    _, _, user, _, group = struct.unpack("<BBIBI", found)
    return user, group
