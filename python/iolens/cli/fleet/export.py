"""iolens fleet export: a lake for other programs."""

from __future__ import annotations

from datetime import datetime

import click

from iolens.cli.asked import lake_options


@click.command()
@click.option("--postgres", metavar="SERVER", help="PostgreSQL: postgresql://user@host/database.")
@click.option("--openmetrics", metavar="FILE", help="A file for Prometheus' textfile collector.")
@lake_options
def export(
    postgres: str | None, openmetrics: str | None, lake: str, since: datetime | None, until: datetime | None
) -> None:
    """Hands a lake to PostgreSQL (schema iolens: job, finding, metric; deploy/grafana has a dashboard) or Prometheus.

    What the server has of the days from --since to --until is replaced in one transaction.
    """
    from iolens.cli.asked import days
    from iolens.fleet import Lake
    from iolens.fleet.handover.openmetrics import write_fleet_metrics
    from iolens.fleet.handover.postgres import to_postgres

    if not (postgres or openmetrics):
        raise click.UsageError("--postgres or --openmetrics is missing")
    first, last = days(since, until)
    with Lake(lake).open(since=first, until=last) as data:
        if postgres:
            written = to_postgres(data, postgres, first, last)
            print(", ".join(f"{rows:,} rows of {table}" for table, rows in written.items()))
        if openmetrics:
            write_fleet_metrics(data, openmetrics)
            print(openmetrics)
