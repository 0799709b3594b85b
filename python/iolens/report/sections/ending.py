"""Which program a job is called by, and how that one ended, where it did not end by itself."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import Any

from iolens.report.source import Source, stamp
from iolens.report.units import counted, write

__all__ = ["command", "ending", "title"]

_INTERPRETER = re.compile(r"(python|pypy|perl|ruby|julia|Rscript|bash|sh|dash|zsh|tclsh|lua)[0-9.]*")
_SHELL = re.compile(r"(bash|sh|dash|zsh)")
_STARTER = re.compile(
    r"(timeout|env|nice|ionice|nohup|setsid|stdbuf|time|taskset|numactl|chrt|unbuffer|catchsegv|strace|ltrace|perf)"
)
"""Programs that start another one, which is meant."""

_OF_STARTER = re.compile(r"-.*|\w+=.*|[0-9][0-9.,:-]*[smhd]?")
"""Words of a starter's own."""

_ALIVE = ("running", "unknown", "torn")
"""How a process ended that was seen alive last."""


def _base(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1]


def _script(words: list[str]) -> str:
    """What stands behind an interpreter's options; "" for -c, a number (anonymized), or nothing."""
    for number, word in enumerate(words):
        if word == "-m":
            return next(iter(words[number + 1 :]), "")
        if word == "-c":
            return ""
        if not word.startswith("-"):
            return "" if word.isdigit() else _base(word)
    return ""


def _called(words: list[str]) -> str:
    """A program's name, or that of what its interpreter runs."""
    name = _base(words[0])
    return (_INTERPRETER.fullmatch(name) and _script(words[1:])) or name


def _started(words: list[str]) -> list[str]:
    """The command that starters start: without these, their options, numbers, signals and variables."""
    rest = list(words)
    while rest and _STARTER.fullmatch(_base(rest[0])):
        rest = rest[1:]
        option = ""
        while rest and (_OF_STARTER.fullmatch(rest[0]) or (option and rest[0].isupper())):
            option = rest[0] if re.fullmatch("-[a-z]", rest[0]) else ""
            rest = rest[1:]
    if len(rest) > 1 and _SHELL.fullmatch(_base(rest[0])) and "/shims/" in rest[1]:
        rest = rest[1:]  # a shim: a script of the program's name that looks for the program
    return rest or words


def _processes(source: Source) -> list[dict[str, Any]]:
    """Program images as they started. A shell that starts the others has no I/O to speak of."""
    return source.data.rows(
        'SELECT rank, pid, exe, command, ended, signal, "start", "end", io_time, mpi FROM process '
        f"WHERE log = {source.log} AND ended <> 'missing' ORDER BY \"start\", rank, pid"
    )


def command(source: Source) -> str:
    """The command line, "" if the log has none or hides it."""
    text = str(source.job["exe"] or "")
    return "" if text.partition(" ")[0].isdigit() else text


def title(source: Source) -> str:
    """What the job is called: its program, or what its interpreter runs; not what only starts that."""
    words = str(source.job["exe"] or "").split()
    if not words:
        return Path(str(source.job["path"])).name
    if _base(words[0]).isdigit():
        return "Anonymized program"
    name, starter = _called(_started(words)), _base(words[0])
    shown = _STARTER.fullmatch(starter) and starter != "env" and name != starter
    return f"{name} (started by {starter})" if shown else name


def _signal(number: int) -> str:
    words = signal.strsignal(number) if 0 < number < signal.NSIG else None
    return f"signal {number}" + (f" ({words.lower()})" if words else "")


def _until(source: Source) -> str:
    """The last moment that the log knows of."""
    start = source.job["start"]
    moment = stamp(start + source.span) if start else None
    return f"numbers until {moment}" if moment else "numbers until then"


def _of_ranks(source: Source, ranks: list[dict[str, Any]], after: str) -> str:
    killed = [row for row in ranks if row["signal"]]
    if killed:
        which = f"{counted(len(killed), 'rank')} of {len(ranks):,}" if len(ranks) > 1 else "The program"
        return f"{which} ended by {_signal(killed[0]['signal'])} {after}"
    if any(row["ended"] == "abort" for row in ranks):
        return f"The program ended by MPI_Abort {after}"
    alive = sum(row["ended"] in _ALIVE for row in ranks)
    return (
        f"{counted(alive, 'rank')} of {len(ranks):,} did not end by itself: {_until(source)}."
        if alive
        else ""
    )


def _of_processes(source: Source, rows: list[dict[str, Any]], after: str) -> str:
    first = [row for row in rows if row["pid"] == rows[0]["pid"]][-1]  # it may have become another program
    words = str(source.job["exe"] or "").split()
    name = _called(_started(words)) if words and _started(words) != words else None
    same = [
        row
        for row in rows
        if name and _called(str(row["command"] or row["exe"] or "-").split() or ["-"]) == name
    ]
    for row in (first, *same[:1]):
        if row["signal"]:
            return f"Ended by {_signal(row['signal'])} {after}"
    if first["ended"] == "running":
        return f"Still running when the log was made: {_until(source)}."
    return f"Recovered: the program was killed; {_until(source)}." if first["ended"] in _ALIVE else ""


def ending(source: Source) -> str:
    """A sentence, "" for a job that ended by itself. Of a job's helpers, those that it ends itself are no news."""
    rows = _processes(source)
    ranks = [row for row in rows if row["mpi"] and row["rank"] >= 0]
    after = f"after {write(source.span, 'seconds')}: numbers until then."
    if ranks:
        return _of_ranks(source, ranks, after)
    return _of_processes(source, rows, after) if rows else ""
