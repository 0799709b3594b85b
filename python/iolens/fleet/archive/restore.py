"""Logs out of archives, back to their place or into a folder."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from iolens.error import IolensError
from iolens.fleet.archive.container import Member
from iolens.fleet.archive.source import Source, member
from iolens.fleet.log_area import make_directory, open_log
from iolens.fleet.tables.durable import settle
from iolens.fleet.tables.lake import Lake

__all__ = ["Restored", "restore"]


@dataclass
class Restored:
    """What was restored."""

    logs: int = 0
    there: int = 0
    """They are at their place already."""
    problems: list[str] = field(default_factory=list)


def restore(lake: Lake, wanted: Iterable[Source], to: Path | None = None) -> Restored:
    """Puts logs back to where they were, or into a folder. No file is written over."""
    done = Restored()
    for source in wanted:
        if source.archive is None and not source.at_its_path:
            done.problems.append(f"{source.path}: is not there any more, and in no archive")
            continue
        if to is None and source.at_its_path:
            done.there += 1
            continue
        try:
            found = _found(lake, source)
            # The name in the archive: that in the lake may be a pseudonym.
            target = Path("/", found.name) if source.path.startswith("/") else Path(found.name)
            if to is not None:
                target = to / target.name
            if _write(target, found, source):
                done.logs += 1
            else:
                done.there += 1
        except IolensError as error:
            done.problems.append(str(error))
        except OSError as error:
            done.problems.append(f"{error.filename or source.path}: {error.strerror}")
    return done


def _found(lake: Lake, source: Source) -> Member:
    if source.archive is not None:
        return member(lake, source)
    with os.fdopen(open_log(source.path)[0], "rb") as file:
        return Member(source.path.lstrip("/"), source.read(file), None)


def _write(target: Path, found: Member, source: Source) -> bool:
    """False if it is there already. Raises IolensError if another file is."""
    folder = make_directory(str(target.parent))
    part = f".{target.name}.{secrets.token_hex(4)}.part"
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(part, flags, 0o600, dir_fd=folder), "wb") as file:
            file.write(found.content)
            file.flush()
            if found.owner:
                with contextlib.suppress(PermissionError):  # only root gives files away
                    os.fchown(file.fileno(), *found.owner)
            os.fchmod(file.fileno(), source.mode or 0o400)
            os.utime(file.fileno(), ns=(source.log_mtime, source.log_mtime))
            os.fsync(file.fileno())
        given = _give_name(folder, part, target, found)
        settle(f"/proc/self/fd/{folder}")  # with the folders above it that were made
        return given
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part, dir_fd=folder)
        os.close(folder)


def _give_name(folder: int, part: str, target: Path, found: Member) -> bool:
    """Links stay what they are: a user may have put one in place of the file."""
    try:
        os.link(part, target.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        with os.fdopen(open_log(str(target))[0], "rb") as file:
            if file.read(len(found.content) + 1) == found.content:
                return False
        raise IolensError(
            "another file is here: the log was not restored; --to DIR puts it elsewhere", str(target)
        ) from None
    return True
