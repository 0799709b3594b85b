"""iolens fleet verify: is a lake whole?"""

from __future__ import annotations

import click

from iolens.error import OK, UNREADABLE
from iolens.fleet.tables.lake import Lake
from iolens.fleet.upkeep.verify import verify as verify_lake
from iolens.shown import say


@click.command()
@click.option("--lake", required=True, metavar="DIR", envvar="IOLENS_LAKE", help="The lake [$IOLENS_LAKE].")
def verify(lake: str) -> int:
    """Reads every file of a lake.

    Every file is there and has its rows, every row is of a job, no log is there twice: a line for everything else, and
    exit code 3.
    """
    problems = list(verify_lake(Lake(lake)))
    for problem in problems:
        say(problem)
    if not problems:
        print("the lake is whole")
    return UNREADABLE if problems else OK
