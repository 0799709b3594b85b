"""iolens fleet export: a lake for other programs."""

from __future__ import annotations

from datetime import datetime

import click

from iolens.cli.asked import lake_options
from iolens.cli.command import STDOUT, save
from iolens.shown import say


@click.command()
@click.option("--postgres", metavar="SERVER", help="PostgreSQL: postgresql://user@host/database.")
@click.option("--openmetrics", metavar="FILE", help="A file for Prometheus' textfile collector; - prints it.")
@lake_options
def export(
    postgres: str | None, openmetrics: str | None, lake: str, since: datetime | None, until: datetime | None
) -> None:
    """Exports a lake to PostgreSQL (schema iolens: job, finding, metric; deploy/grafana has a dashboard) or Prometheus.

    Replaces the lake's days from --since to --until in one transaction. Several lakes may have one server.
    """
    from iolens.cli.asked import days
    from iolens.fleet import Lake
    from iolens.fleet.handover.openmetrics import lines
    from iolens.fleet.handover.postgres import to_postgres
    from iolens.rules.text import counted

    if not (postgres or openmetrics):
        raise click.UsageError("--postgres or --openmetrics is missing")
    first, last = days(since, until)
    place = Lake(lake)
    with place.open(since=first, until=last) as data:
        if postgres:
            written = to_postgres(data, place.id, postgres, first, last)
            told = ", ".join(f"{counted(rows, 'row')} of {table}" for table, rows in written.items())
            click.echo(told, err=openmetrics == STDOUT)
        if openmetrics:
            save(openmetrics, "".join(f"{line}\n" for line in lines(data)).encode())
            if openmetrics != STDOUT:
                say(openmetrics)
