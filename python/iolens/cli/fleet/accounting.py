"""iolens fleet accounting: the scheduler's jobs into a lake."""

from __future__ import annotations

import dataclasses
import re
import sys
from datetime import datetime, timezone, tzinfo
from pathlib import Path

import click

from iolens.cli.command import to_json, warn
from iolens.error import OK, PARTIAL, IolensError
from iolens.fleet.accounting import Reading
from iolens.fleet.accounting.store import Stored, store
from iolens.fleet.tables.lake import Lake
from iolens.shown import say


def _zone(context: click.Context, parameter: click.Parameter, value: str | None) -> tzinfo | None:
    if value is None:
        return None
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError):
        raise click.BadParameter("expected a time zone such as UTC or Europe/Berlin") from None


def _observed(path: str | None) -> set[int]:
    """Numbers of jobs, one a line; what follows a number is not looked at."""
    if path is None:
        return set()
    found: set[int] = set()
    for number, line in enumerate(Path(path).read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        job = re.match(r"\s*(\d+)\b", line)
        if job:
            found.add(int(job[1]))
        elif line.strip():
            raise IolensError(f"line {number}: expected the number of a job", path)
    return found


def _day(seconds: float | None) -> str:
    return "-" if seconds is None else f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%d}"


def _text(path: str, stored: Stored) -> str:
    from iolens.rules.text import counted

    out = ", ".join(f"{number:,} {what}" for what, number in sorted(stored.left_out.items()))
    parts = [
        f"{path}: {counted(stored.jobs, 'run')} of jobs, {_day(stored.first)} to {_day(stored.last)}",
        f"{stored.added:,} new or changed",
        f"left out: {out}" if out else "",
        f"{counted(stored.damaged, 'line')} cannot be read" if stored.damaged else "",
    ]
    return "; ".join(part for part in parts if part)


@click.command()
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
)
@click.option("--lake", required=True, metavar="DIR", envvar="IOLENS_LAKE", help="The lake [$IOLENS_LAKE].")
@click.option(
    "--zone",
    metavar="ZONE",
    callback=_zone,
    help="Time zone of times without one, as UTC or Europe/Berlin [this machine's].",
)
@click.option("--cluster", metavar="NAME", help="The machine, where a file does not name it.")
@click.option("--observed", metavar="LIST", help="Numbers of jobs that ran under iolens, one a line.")
@click.option("--json", is_flag=True, help="What was read, as JSON.")
def accounting(  # noqa: PLR0913, PLR0917
    files: tuple[str, ...],
    lake: str,
    zone: tzinfo | None,
    cluster: str | None,
    observed: str | None,
    json: bool,
) -> int:
    """Brings the scheduler's accounting into a lake.

    `iolens fleet coverage` needs it.

    FILE is what `sacct --parsable2` prints (columns JobID, JobIDRaw, User, Account, State, Start, End, AllocCPUS and
    more), a CSV file with such columns, an accounting log of PBS, or a mysqldump of Slurm's database; plain or
    gzipped, - is standard input. Reading a file twice changes nothing; jobs that were running are updated.
    """
    opened, jobs = Lake(lake).for_writing(), _observed(observed)
    told = []
    for path in files:
        reading = Reading(path, zone=zone, cluster=cluster)
        stored = store(opened, reading, jobs)
        told.append({"path": path, **dataclasses.asdict(stored)})
        for problem in stored.problems:
            warn(problem)
        if not json:
            say(_text(path if path != "-" else "standard input", stored))
    if json:
        print(to_json({"schema": {"name": "accounting", "version": 1}, "lake": lake, "files": told}))
    sys.stdout.flush()
    return PARTIAL if any(one["damaged"] for one in told) else OK
