"""iolens fleet compact: fewer and larger files."""

from __future__ import annotations

import click

from iolens.error import OK
from iolens.fleet.tables.lake import Lake
from iolens.fleet.upkeep.compact import compact as compact_lake


@click.command()
@click.option("--lake", required=True, metavar="DIR", envvar="IOLENS_LAKE", help="The lake [$IOLENS_LAKE].")
@click.option(
    "--keep",
    metavar="HOURS",
    type=click.IntRange(0),
    default=24,
    show_default=True,
    help="How long unneeded files stay, for running queries.",
)
def compact(lake: str, keep: int) -> int:
    """Merges the small files of each day.

    Also removes leftovers of ended ingests and old rows of replaced logs. Queries and ingests may run
    meanwhile.
    """
    from iolens.rules.text import counted

    done = compact_lake(Lake(lake).for_writing(), keep_hours=keep)
    print(
        f"{counted(done.merged, 'file')} merged into {done.made:,}, {done.dropped:,} of unfinished batches and "
        f"{done.removed:,} old ones removed"
    )
    return OK
