"""iolens fleet top: the users, applications and files that cost most."""

from __future__ import annotations

from typing import Any

import click

from iolens.cli.asked import days, form_options, lake_options, print_answers, whose_options
from iolens.cli.engine import engine_options, open_data

_WHAT = ("users", "applications", "files", "directories")
_BY = ("time", "bytes", "metadata", "small", "io", "jobs")


@click.command()
@click.argument("what", type=click.Choice(_WHAT))
@click.option(
    "--by", type=click.Choice(_BY), default="time", show_default=True, help="Order by this, largest first."
)
@click.option(
    "-n", "--rows", type=click.IntRange(1), default=10, show_default=True, metavar="N", help="How many."
)
@click.option(
    "--depth",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Directories: the first N parts of the path; 0 for all.",
)
@lake_options
@whose_options
@engine_options
@form_options
def top(what: str, by: str, rows: int, depth: int, form: str | None, **options: Any) -> None:
    """Users, applications, files or directories by what they cost.

    time: time lost, by findings (users, applications); seconds in calls (files, directories).
    """
    from iolens.fleet import Lake
    from iolens.fleet.saved_queries import ask

    if by in ("io", "jobs") and what in ("files", "directories"):
        raise click.UsageError(f"--by {by} goes with users and applications")
    if depth and what != "directories":
        raise click.UsageError("--depth goes with directories")
    more = {"depth": depth} if what == "directories" else {}
    since, until = days(options["since"], options["until"])
    whose = {name: options[name] for name in ("user", "application", "cluster")}
    with open_data(Lake(options["lake"]), options, since=since, until=until) as data:
        print_answers([ask(data, f"top_{what}", by=by, rows=rows, **more, **whose)], form)
