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

__all__ = ["install_command", "lacks", "module_command"]

_MARKED = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")
_PYTHON = re.compile(r"""python_version\s*(>=|<)\s*['"](\d+)\.(\d+)['"]""")
_DEBIAN = Path("/usr/lib/iolens")
_PACKAGES = {"elftools": "pyelftools"}
"""Packages that do not have their module's name."""


def _there(requirement: str) -> bool:
    try:
        return bool(version(re.split(r"[^\w.-]", requirement, maxsplit=1)[0]))
    except PackageNotFoundError:
        return False


def _requirements(extra: str) -> tuple[list[str], str]:
    """Of an extra ("": what all commands need), those not installed yet, else all; and the Python that it needs if this
    one is too old."""
    found: list[str] = []
    too_old = ""
    for line in requires("iolens") or ():
        requirement, _, marker = line.partition(";")
        marked, python = _MARKED.search(marker), _PYTHON.search(marker)
        if (marked[1] if marked else "") != extra:
            continue
        older = python is not None and sys.version_info < (int(python[2]), int(python[3]))
        if not python or older == (python[1] == "<"):
            found.append(requirement.strip())
        elif older:
            too_old = f"{python[2]}.{python[3]}"
    return [requirement for requirement in found if not _there(requirement)] or found, too_old


def _folder() -> Path:
    return Path(__file__).resolve().parents[1]


def _is_debian_s() -> bool:
    """A folder of dpkg's, into which pip shall not write."""
    return _folder() == _DEBIAN and Path("/usr/share/doc/iolens/copyright").exists()


def _place() -> list[str]:
    """Options of pip for where iolens is: in this Python's own folder, the user's, or one that was named.

    Debian's pip refuses the first two outside an environment.
    """
    here = _folder()
    refused = (
        sys.prefix == sys.base_prefix and Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED").exists()
    )
    if not refused:
        if here in {Path(sysconfig.get_path(kind)).resolve() for kind in ("purelib", "platlib")}:
            return []
        if here == Path(sysconfig.get_path("purelib", f"{os.name}_user")).resolve():
            return ["--user"]
    return ["--target", str(here)]


def _pip(wanted: list[str]) -> str:
    return shlex.join([sys.executable, "-m", "pip", "install", *_place(), *wanted])


def install_command(extra: str) -> str:
    """The command, "" if there is none: it needs a later Python, or iolens was not installed as a package.

    With Debian's packages: that of an environment with the wheel, as docs/guide/install.md says.
    """
    if _is_debian_s():
        return f"python3 -m venv ENV && ENV/bin/pip install 'WHEEL[{extra}]'"
    try:
        wanted, _ = _requirements(extra)
    except PackageNotFoundError:
        return ""
    return _pip(wanted) if wanted else ""


def module_command(module: str) -> str:
    """The command that installs what all commands need, where this module of it is missing."""
    if _is_debian_s():
        return "apt install --reinstall iolens-analysis"
    name = module.partition(".")[0]
    name = _PACKAGES.get(name, name)
    try:
        wanted, _ = _requirements("")
    except PackageNotFoundError:
        wanted = []
    return _pip(wanted if any(re.match(rf"{name}\b", one) for one in wanted) else [name])


def lacks(what: str, needed: str, extra: str) -> IolensError:
    """What a command says that lacks a package: what needs what, and how to get it here."""
    try:
        _, too_old = _requirements(extra)
    except PackageNotFoundError:
        too_old = ""
    how = f"Python {too_old} or later" if too_old else install_command(extra) or "install it for this Python"
    if _is_debian_s():
        how = f"Debian's packages of iolens lack it, its wheel does not: {how}"
    return IolensError(f"{what} needs {needed}: {how}", exit_code=USAGE)
