"""iolens fleet retention: what a lake forgets with time."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from datetime import date, datetime, time, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click

from iolens.cli.command import warn
from iolens.error import OK, USAGE, IolensError
from iolens.fleet.tables.lake import Lake
from iolens.fleet.tables.pseudonyms import Pseudonyms, read_key
from iolens.fleet.upkeep.pseudonymize import age
from iolens.fleet.upkeep.retention import retain

if TYPE_CHECKING:
    from iolens.fleet.notify import Outbox

__all__ = ["before_day"]

_DAYS = {"d": 1, "w": 7, "y": 365}


def before_day(context: click.Context, parameter: click.Parameter, value: str | None) -> date | None:
    """The day of an option: an age before today, or a day."""
    if value is None:
        return None
    found = re.fullmatch(r"(\d+)([dwy])", value)
    if found:
        today = datetime.now(timezone.utc).date()
        return today - timedelta(days=int(found[1]) * _DAYS[found[2]])
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(
            "expected an age such as 90d, 8w or 2y, or a day such as 2026-01-31"
        ) from None


@click.command()
@click.option("--lake", required=True, metavar="DIR", envvar="IOLENS_LAKE", help="The lake [$IOLENS_LAKE].")
@click.option(
    "--detail",
    metavar="AGE",
    callback=before_day,
    help="Older jobs keep job, metric and finding: no records, no names.",
)
@click.option("--jobs", metavar="AGE", callback=before_day, help="Older jobs are removed.")
@click.option(
    "--pseudonyms",
    metavar="AGE",
    callback=before_day,
    help="Names of older jobs become keyed hashes: users, files, hosts, programs.",
)
@click.option("--key", metavar="KEYFILE", help="The key of pseudonyms, the same for a lake.")
@click.option(
    "--keep",
    metavar="HOURS",
    type=click.IntRange(0),
    default=24,
    show_default=True,
    help="How long files with the old names stay, for running queries.",
)
@click.option(
    "--outbox", metavar="FILE", help="With --pseudonyms: history of notices [outbox.sqlite in the lake]."
)
def retention(  # noqa: PLR0913, PLR0917
    lake: str,
    detail: date | None,
    jobs: date | None,
    pseudonyms: date | None,
    key: str | None,
    keep: int,
    outbox: str | None,
) -> int:
    """Removes old data.

    AGE is a time before today (90d, 8w, 2y) or a day (UTC): earlier jobs are removed, and their logs not ingested
    again. A later compaction frees the space.
    """
    if detail is None and jobs is None and pseudonyms is None:
        raise click.UsageError("--detail, --jobs or --pseudonyms is needed")
    if (pseudonyms is None) != (key is None):
        raise click.UsageError("--pseudonyms and --key belong together")
    if outbox and pseudonyms is None:
        raise click.UsageError("--outbox goes with --pseudonyms")
    from iolens.rules.text import counted

    opened = Lake(lake).for_writing()
    secret = read_key(Path(key)) if key else b""
    with _notices(opened, outbox) if secret else nullcontext() as notices:
        if secret:  # all that can be wrong is told before anything is removed
            opened.use_later_pseudonyms(Pseudonyms(secret).mark)
        removed = retain(opened, detail=detail, jobs=jobs)
        print(f"{counted(sum(removed.values()), 'row')} of {counted(len(removed), 'table')} removed")
        if pseudonyms:
            logs = age(opened, pseudonyms, secret, keep_hours=keep)
            print(f"the names of {counted(logs, 'job')} became pseudonyms")
            _outside(opened, pseudonyms, notices)
    return OK


def _notices(lake: Lake, named: str | None) -> AbstractContextManager[Outbox | None]:
    """The outbox, if there is one; one that is named must be there."""
    from iolens.fleet.notify import Outbox

    path = Path(named or lake.path / "outbox.sqlite")
    if path.exists():
        return Outbox(path)
    if named:
        raise IolensError("no such outbox; nothing was changed", named, exit_code=USAGE)
    return nullcontext()


def _outside(lake: Lake, before: date, notices: Outbox | None) -> None:
    """Outside the tables: removes old notices, and says which files keep names."""
    from iolens.fleet.archive import archived_before
    from iolens.rules.text import agree, counted

    logs, archives = archived_before(lake, before)
    if logs:
        warn(
            f"{counted(archives, 'archive')} still {agree(archives, 'has', 'have')} {counted(logs, 'log')} of before "
            f"{before} with names: delete {agree(archives, 'that file', 'those files')}"
        )
    if notices:
        waiting = notices.forget(datetime.combine(before, time(), timezone.utc).timestamp())
        if waiting:
            wait = f"{agree(waiting, 'waits', 'wait')}, and {agree(waiting, 'names', 'name')} users and files"
            warn(f"{notices.path}: {counted(waiting, 'message')} of before {before} {wait}")
