"""iolens fleet job: one job."""

from __future__ import annotations

from typing import Any

import click

from iolens.cli.asked import days, form_options, lake_options, print_answers
from iolens.cli.engine import engine_options, open_data
from iolens.error import USAGE, IolensError


@click.command()
@click.argument("id", type=int, metavar="ID")
@lake_options
@engine_options
@form_options
def job(id: int, form: str | None, **options: Any) -> None:
    """The job with the scheduler's number ID: its programs, and what the rules found."""
    from iolens.fleet import Lake
    from iolens.fleet.saved_queries import ask

    since, until = days(options["since"], options["until"])
    with open_data(Lake(options["lake"]), options, since=since, until=until) as data:
        found = ask(data, "job", id=id)
        if not found.rows:
            raise IolensError(f"no job {id} in the lake", options["lake"], exit_code=USAGE)
        print_answers([found, ask(data, "job_findings", id=id)], form)
