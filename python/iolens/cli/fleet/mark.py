"""iolens fleet mark: notes changes on a machine, and what its file systems could do."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TextIO

import click

from iolens.error import OK, IolensError
from iolens.fleet.tables.lake import Lake


def _text(file: TextIO) -> str:
    try:
        return file.read()
    except UnicodeDecodeError as error:
        raise IolensError("expected the output of iolens peak --json or --save", file.name) from error


@click.command()
@click.argument("day", metavar="DAY", required=False, type=click.DateTime(["%Y-%m-%d"]))
@click.argument("text", metavar="TEXT", required=False)
@click.option(
    "--peak",
    "peaks",
    multiple=True,
    metavar="FILE",
    type=click.File(encoding="utf-8"),
    help="What `iolens peak --json` printed or --save kept, - for stdin; repeatable.",
)
@click.option("--cluster", metavar="NAME", default="", help="With --peak: the machine.")
@click.option("--lake", required=True, metavar="DIR", envvar="IOLENS_LAKE", help="The lake [$IOLENS_LAKE].")
def mark(day: datetime | None, text: str | None, peaks: tuple[TextIO, ...], cluster: str, lake: str) -> int:
    """Records a change of the machine on a day, or what file systems could do.

    For instance: iolens fleet mark 2013-02-01 "Cray compiler" --lake DIR; iolens peak --json /scratch | iolens fleet
    mark --peak - --lake DIR.

    `iolens fleet coverage` shows changes with the days, and the first days of new versions of the library. The portal
    shows measurements with storage and with jobs.
    """
    if not peaks and (day is None or text is None):
        raise click.UsageError("DAY and TEXT, or --peak FILE, must be given")
    if peaks and day is not None:
        raise click.UsageError("DAY and TEXT do not go with --peak")
    if cluster and not peaks:
        raise click.UsageError("--cluster goes with --peak")
    there = Lake(lake).for_writing()
    if not peaks:
        assert day
        there.append("change", [(day.date(), text, datetime.now(timezone.utc))])
        return OK
    from iolens.fleet.peaks import add_peaks, read_peaks
    from iolens.rules.text import counted

    rows = [row for file in peaks for row in read_peaks(_text(file), file.name)]
    print(f"{counted(len(rows), 'measurement')}, {add_peaks(there, rows, cluster)} new")
    return OK
