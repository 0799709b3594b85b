"""iolens fleet restore: logs out of archives."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import click

from iolens.cli.asked import days, lake_options
from iolens.cli.command import warn
from iolens.error import OK, PARTIAL, USAGE, IolensError


@click.command()
@click.option("--job", type=int, metavar="ID", help="The logs of this job.")
@click.option("--to", metavar="FOLDER", help="Into this folder instead of their old place.")
@lake_options
def restore(
    job: int | None, to: str | None, since: datetime | None, until: datetime | None, lake: str, **_: Any
) -> int:
    """Puts archived logs back to their place, or into a folder.

    Those of a job (--job), or of days (--since, --until). It overwrites no file; the archive keeps the logs.
    """
    if job is None and since is None and until is None:
        raise click.UsageError("--job, --since or --until is needed")
    from iolens.fleet import Lake
    from iolens.fleet.archive import restore as restore_logs
    from iolens.fleet.archive import sources
    from iolens.rules.text import agree, counted

    made = Lake(lake)
    first, last = days(since, until)
    with made.open(since=first, until=last) as data:
        wanted = sources(data, "TRUE" if job is None else "j.job_id = ?", [] if job is None else [job])
    if not wanted:
        raise IolensError("no such logs in the lake", lake, exit_code=USAGE)
    done = restore_logs(made, wanted, Path(to) if to else None)
    for problem in done.problems:
        warn(problem)
    print(
        f"{counted(done.logs, 'log')} restored, {done.there:,} {agree(done.there, 'is', 'are')} there already"
    )
    return PARTIAL if done.problems else OK
