"""What some commands need beyond the rest, and the command that brings it into this installation.

There is no index that has iolens: pip gets the requirements of the extra, which the installation knows itself.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import sysconfig
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from iolens.error import USAGE, IolensError

__all__ = ["install_command", "lacks"]

_MARKED = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")
_SINCE = re.compile(r"""python_version\s*>=\s*['"](\d+)\.(\d+)['"]""")


def _there(requirement: str) -> bool:
    try:
        return bool(version(re.split(r"[^\w.-]", requirement, maxsplit=1)[0]))
    except PackageNotFoundError:
        return False


def _requirements(extra: str) -> tuple[list[str], str]:
    """Of an extra, those not installed yet, else all; and the Python that it needs if this one is too old."""
    found: list[str] = []
    too_old = ""
    for line in requires("iolens") or ():
        requirement, _, marker = line.partition(";")
        marked, since = _MARKED.search(marker), _SINCE.search(marker)
        if not marked or marked[1] != extra:
            continue
        if since and sys.version_info < (int(since[1]), int(since[2])):
            too_old = f"{since[1]}.{since[2]}"
        else:
            found.append(requirement.strip())
    return [requirement for requirement in found if not _there(requirement)] or found, too_old


def _place() -> list[str]:
    """Options of pip for where iolens is: in this Python's own folder, the user's, or one that was named."""
    here = Path(__file__).resolve().parents[1]
    if here in {Path(sysconfig.get_path(kind)).resolve() for kind in ("purelib", "platlib")}:
        return []
    return (
        ["--user"]
        if here == Path(sysconfig.get_path("purelib", f"{os.name}_user")).resolve()
        else ["--target", str(here)]
    )


def install_command(extra: str) -> str:
    """The command, "" if there is none: it needs a later Python, or iolens was not installed as a package."""
    try:
        wanted, _ = _requirements(extra)
    except PackageNotFoundError:
        return ""
    return shlex.join([sys.executable, "-m", "pip", "install", *_place(), *wanted]) if wanted else ""


def lacks(what: str, needed: str, extra: str) -> IolensError:
    """What a command says that lacks a package: what needs what, and how to get it here."""
    try:
        _, too_old = _requirements(extra)
    except PackageNotFoundError:
        too_old = ""
    how = f"Python {too_old} or later" if too_old else install_command(extra) or "install it for this Python"
    return IolensError(f"{what} needs {needed}: {how}", exit_code=USAGE)
