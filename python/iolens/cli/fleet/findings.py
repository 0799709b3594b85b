"""iolens fleet findings: what the rules found, by user, application and rule."""

from __future__ import annotations

from typing import Any

import click

from iolens.cli.asked import days, form_options, lake_options, print_answers, whose_options
from iolens.cli.engine import engine_options, open_data


@click.command()
@click.option("--rule", default="", metavar="RULE", help="Only this rule.")
@click.option(
    "--severity",
    type=click.Choice(("high", "medium", "low", "info", "good")),
    default="medium",
    show_default=True,
    help="The lowest severity to list.",
)
@click.option(
    "-n", "--rows", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="How many."
)
@lake_options
@whose_options
@engine_options
@form_options
def findings(rule: str, severity: str, rows: int, form: str | None, **options: Any) -> None:
    """What the rules found in all jobs: a row per user, application and rule, the most severe first."""
    from iolens.fleet import Lake
    from iolens.fleet.saved_queries import ask
    from iolens.rules import load

    if rule:
        rule = load().find(rule).id
    since, until = days(options["since"], options["until"])
    whose = {name: options[name] for name in ("user", "application", "cluster")}
    with open_data(Lake(options["lake"]), options, since=since, until=until) as data:
        print_answers([ask(data, "findings", rule=rule, severity=severity, rows=rows, **whose)], form)
