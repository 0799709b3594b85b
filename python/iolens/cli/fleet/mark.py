"""iolens fleet mark: notes changes on a machine, shown with its coverage."""

from __future__ import annotations

from datetime import datetime, timezone

import click

from iolens.error import OK
from iolens.fleet.tables.lake import Lake


@click.command()
@click.argument("day", metavar="DAY", type=click.DateTime(["%Y-%m-%d"]))
@click.argument("text", metavar="TEXT")
@click.option("--lake", required=True, metavar="DIR", envvar="IOLENS_LAKE", help="The lake [$IOLENS_LAKE].")
def mark(day: datetime, text: str, lake: str) -> int:
    """Records a change of the machine on a day.

    For instance: iolens fleet mark 2013-02-01 "Cray compiler" --lake DIR.

    `iolens fleet coverage` shows it with the days, and the first days of new versions of the library.
    """
    Lake(lake).for_writing().append("change", [(day.date(), text, datetime.now(timezone.utc))])
    return OK
