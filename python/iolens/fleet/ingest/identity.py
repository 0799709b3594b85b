"""Whose job a log is of, and of which application: by the owner of its file, its name and what it tells."""

from __future__ import annotations

import hashlib
import os
import pwd
import re
import shlex
from functools import cache, lru_cache

__all__ = ["BELONGS", "Contradiction", "application_of", "hashed_path", "job_of", "named_user", "owning_user"]

BELONGS = "the file belongs to "
"""How reasons for contradictions begin."""


class Contradiction(Exception):
    """A log claims to be another user's than the owner of its file."""


# Darshan's names, and ours: USER_PROGRAM_idJOB..., where both USER and PROGRAM may have underscores.
_NAMED = re.compile(r"(?P<who>.+)_id(?P<job>\d+)[_-]")

# Programs that start the program that a job is about.
_LAUNCHERS = frozenset(
    "mpiexec mpirun srun aprun jsrun ibrun orterun prterun prun mpiexec.hydra mpiexec.mpich mpirun.mpich "
    "mpiexec.openmpi mpirun.openmpi env nice time timeout nohup numactl taskset setsid stdbuf xvfb-run".split()
)
_INTERPRETER = re.compile(
    r"(python|pypy|perl|ruby|bash|dash|ksh|zsh|sh|Rscript|julia|node|lua|tclsh|octave)[\d.]*"
)
_SHELL = re.compile(r"(ba|da|k|z)?sh")


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


@lru_cache(1 << 16)
def _program(command: str) -> str:
    return next((os.path.basename(word) for word in _words(command)[:1]), "")  # noqa: PTH119


@lru_cache(1 << 16)
def application_of(command: str) -> str:
    """The program of a command line by its file name: launchers, interpreters and their options are left out.

    ``mpirun -n 4 ./solver in`` is solver, ``python3 -u train.py`` is train.py, ``python3 -m pkg.mod`` is pkg.mod.
    """
    words = _words(command)
    while words:
        name = os.path.basename(words[0])  # noqa: PTH119
        if name in _LAUNCHERS:
            rest = _after_options(words[1:])
            if not rest:
                return name
            words = rest
        elif _INTERPRETER.fullmatch(name):
            return _script(words) or name
        else:
            return name
    return ""


def _after_options(words: list[str]) -> list[str]:
    """What follows the options of a launcher: a value of an option is no program unless nothing else is there."""
    at = 0
    while at < len(words):
        word = words[at]
        if word.startswith("-"):
            value = at + 1 < len(words) and not words[at + 1].startswith("-") and "=" not in word
            at += 2 if value and at + 2 < len(words) else 1
        elif re.fullmatch(r"\w+=.*|[\d.]+[smhd]?", word):  # of env and timeout
            at += 1
        else:
            return words[at:]
    return []


def _script(words: list[str]) -> str:
    """The script of an interpreter's command line, "" if there is none."""
    shell = _SHELL.fullmatch(os.path.basename(words[0])) is not None  # noqa: PTH119
    for number, word in enumerate(words[1:], 1):
        if word == "-m" and number + 1 < len(words):
            return words[number + 1]
        if word in ("-c", "-e", "--"):
            return ""
        if not word.startswith(("-", "+") if shell else "-") and words[number - 1] not in ("-W", "-X", "-O"):
            return os.path.basename(word)  # noqa: PTH119
    return ""


def named_user(path: str, uid: int, command: str) -> str:
    """The user by a log's name, else as this machine knows the uid, else the uid as text.

    Right only where users can neither choose the name nor write the log.
    """
    found = _NAMED.match(os.path.basename(path))  # noqa: PTH119
    if found:
        who = found["who"]
        program = _program(command)
        if program and who.endswith(f"_{program}"):
            return who[: -len(program) - 1]
        return who.split("_")[0] or _known(uid)
    return _known(uid)


def job_of(path: str, version: str) -> int | None:
    """The number of a job from the log's name, where the log has none: 1.x."""
    found = _NAMED.match(os.path.basename(path)) if version.startswith("1.") else None  # noqa: PTH119
    job = int(found["job"]) if found else 0
    return job if 0 < job < 1 << 63 else None


def owning_user(path: str, owner: int, uid: int) -> str:
    """The user that a log belongs to: the owner of its file.

    uid: that of the log's job; 0 is also root of a container. Raises Contradiction if name or job say otherwise.
    """
    user = _known(owner)
    found = _NAMED.match(os.path.basename(path))  # noqa: PTH119
    if found and not _may_name(found["who"], owner, user):
        raise Contradiction(f"{BELONGS}{user}, and its name says otherwise")
    if uid not in (0, owner):
        raise Contradiction(f"{BELONGS}{user}, and its job to {_known(uid)}")
    return user


def _may_name(who: str, owner: int, user: str) -> bool:
    """Can this be USER_PROGRAM of the owner? 0 is root of a container."""
    if f"{who}_".startswith((f"{user}_", f"{owner}_", "0_")):
        return True
    if user != str(owner):
        return False
    # The owner is a user of another machine: the name may be his unless it is that of a user here.
    parts = who.split("_")
    return not any(_exists("_".join(parts[:n])) for n in range(1, len(parts) + 1))


@cache
def _exists(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


@cache
def _known(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return str(uid)


def hashed_path(path: str) -> str:
    """Identifies a log whose path is no longer in the lake. It has no key: a guess of the path can be confirmed."""
    return "#" + hashlib.blake2b(path.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
