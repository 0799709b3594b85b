"""Commands on logs that a lake names: ``iolens show lake:4711``. The native command line hands over to here."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from iolens.error import USAGE, IolensError
from iolens.extras import lacks
from iolens.program import run_in_place
from iolens.rules.text import counted
from iolens.shown import say

if TYPE_CHECKING:
    from iolens.fleet.archive import Source

__all__ = ["run"]

_NAMED = re.compile(r"lake:(?:(?P<lake>.+):)?(?P<log>log=)?(?P<number>\d{1,19})")
_SHOWN = 20


def run(program: str, command: str, arguments: Sequence[str]) -> int:
    """Runs the native command with paths in place of what names rows of a lake; its exit code."""
    with ExitStack() as stack:
        given = [
            _path(argument, stack)
            if argument.startswith("lake:") and not os.path.lexists(argument)
            else argument
            for argument in arguments
        ]
        return run_in_place([program, command, *given])  # copies of logs are removed after it


def _path(named: str, stack: ExitStack) -> str:
    found = _NAMED.fullmatch(named)
    if not found:
        raise IolensError(
            "expected lake:JOBID, lake:log=NUMBER, or either with the lake, as in lake:/data/lake:4711",
            named,
            exit_code=USAGE,
        )
    folder = found["lake"] or os.environ.get("IOLENS_LAKE")
    if not folder:
        raise IolensError("which lake? Set IOLENS_LAKE, or write lake:DIR:JOBID", named, exit_code=USAGE)
    try:
        from iolens.fleet import Lake
        from iolens.fleet.archive import extracted, sources
    except ModuleNotFoundError as error:
        raise lacks("a lake", "deltalake", "fleet") from error
    lake = Lake(folder)
    with lake.open() as data:
        rows = sources(data, f"j.{'log' if found['log'] else 'job_id'} = ?", [int(found["number"])])
    if not rows:
        what = "log" if found["log"] else "job"
        raise IolensError(f"no {what} {found['number']} in the lake", folder, exit_code=USAGE)
    if len(rows) > 1:
        say(f"iolens: {named}: the job has {counted(len(rows), 'log')}; name one:", sys.stderr)
        for line in _choice(rows, found["lake"]):
            say(line, sys.stderr)
        sys.exit(USAGE)
    return stack.enter_context(extracted(lake, rows))[0]


def _choice(rows: Sequence[Source], lake: str | None) -> list[str]:
    """One of these, each as it is to be named."""
    before = f"lake:{lake}:" if lake else "lake:"
    lines = []
    for row in rows[:_SHOWN]:
        start = f"{row.start:%Y-%m-%d %H:%M:%S}" if row.start else "unknown start"
        lines.append(f"  {before}log={row.log}  {start}  {row.user}  {row.application}")
    if len(rows) > _SHOWN:
        lines.append(f"  and {len(rows) - _SHOWN} more: iolens fleet job ID lists them")
    return lines
