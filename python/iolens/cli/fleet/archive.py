"""iolens fleet archive: logs of past days, out of the log area and into archives."""

from __future__ import annotations

from datetime import date, datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click

from iolens.cli.command import warn
from iolens.cli.fleet.retention import before_day
from iolens.error import OK, PARTIAL
from iolens.program import native
from iolens.progress import step

if TYPE_CHECKING:
    from iolens.fleet.archive import Archived


def _tell(done: Archived) -> None:
    from iolens.rules.text import agree, counted

    parts = [f"{counted(done.logs, 'log')} in {counted(done.archives, 'archive')}"]
    if done.logs:
        parts.append(f"{counted(done.bytes, 'byte')} became {done.packed:,}")
    parts.append(f"{done.removed:,} removed from the log area")
    if done.changed:
        waits = agree(
            done.changed, "has changed since the ingest, and waits", "have changed since the ingest, and wait"
        )
        parts.append(f"{done.changed:,} {waits} for another")
    if done.missing:
        parts.append(f"{done.missing:,} {agree(done.missing, 'is', 'are')} not there any more")
    print("; ".join(parts))


@click.command()
@click.option("--lake", required=True, metavar="DIR", envvar="IOLENS_LAKE", help="The lake [$IOLENS_LAKE].")
@click.option("--to", metavar="FOLDER", help="Where archives are kept [LAKE-logs].")
@click.option(
    "--before",
    metavar="AGE",
    callback=before_day,
    help="Only jobs that started before this day (UTC) or age: 2026-01-31, 7d [today].",
)
@click.option("--since", metavar="AGE", callback=before_day, help="Only jobs that started then or later.")
def archive(lake: str, to: str | None, before: date | None, since: date | None) -> int:
    """Packs the logs of past days, one archive per day and cluster, and removes them from the log area.

    An archive is a ZIP file with an index and checksums. Before logs are removed, the archive is on disk and read
    back, and the lake has each log's place; a log that was written to meanwhile stays. All commands open logs in
    archives (`iolens show lake:JOBID`); `iolens fleet restore` puts them back. You can kill it at any moment.
    """
    from iolens.fleet import Lake
    from iolens.fleet.archive import archive as archive_logs

    today = datetime.now(timezone.utc).date()
    made = Lake(lake).for_writing()
    done = archive_logs(
        made,
        Path(to) if to else made.archives,
        before=before or today,
        since=since,
        program=native("archiving"),
        progress=lambda day: step(f"archiving {day}"),
    )
    for problem in done.problems:
        warn(problem)
    _tell(done)
    return PARTIAL if done.problems else OK
