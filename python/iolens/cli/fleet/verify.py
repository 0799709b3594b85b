"""iolens fleet verify: is a lake whole?"""

from __future__ import annotations

import click

from iolens.cli.command import warn
from iolens.error import OK, PARTIAL, UNREADABLE
from iolens.fleet.tables.lake import Lake
from iolens.fleet.upkeep.repair import ASIDE
from iolens.fleet.upkeep.repair import repair as repair_lake
from iolens.fleet.upkeep.verify import verify as verify_lake
from iolens.shown import say


@click.command()
@click.option("--lake", required=True, metavar="DIR", envvar="IOLENS_LAKE", help="The lake [$IOLENS_LAKE].")
@click.option(
    "--repair", is_flag=True, help="Move damaged files away; the next ingest reads their logs again."
)
def verify(lake: str, repair: bool) -> int:
    """Reads every file of a lake.

    It checks that every file exists and has its rows, every row belongs to a job, no log is there twice, every job has
    all of its rows, every archive is sound and its logs belong to jobs. It prints a line for each fault, with exit
    code 3.

    With --repair, it moves damaged files to the folder "damaged" of the lake, and restores logs that only archives
    have. The next ingest reads the logs of these files, and of incomplete batches, again. It names what is lost, with
    exit code 4.
    """
    opened = Lake(lake).for_writing() if repair else Lake(lake)
    if repair:
        return _repair(opened)
    problems = list(verify_lake(opened))
    for problem in problems:
        say(problem)
    if not problems:
        print("the lake is whole")
    return UNREADABLE if problems else OK


def _repair(lake: Lake) -> int:
    from iolens.rules.text import counted

    done = repair_lake(lake)
    for lost in done.lost:
        warn(lost)
    aside = f"{counted(done.files, 'file')} set aside in {lake.path / ASIDE}" if done.files else ""
    parts = [aside or "no file is damaged"]
    if done.files or done.again:
        parts.append(
            f"the next ingest reads {counted(done.again, 'log')} again, {done.restored:,} restored from archives"
        )
    print("; ".join(parts))
    return PARTIAL if done.lost else OK
