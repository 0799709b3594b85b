"""iolens fleet sql: a lake as a database."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import click
import duckdb

from iolens.cli.engine import engine_options, open_data
from iolens.cli.sql import FORM, print_result, told
from iolens.error import OK, USAGE, IolensError
from iolens.fleet.tables.lake import Lake


@click.command()
@click.argument("statement")
@click.option("--lake", required=True, metavar="DIR", envvar="IOLENS_LAKE", help="The lake [$IOLENS_LAKE].")
@click.option(
    "--since",
    metavar="DAY",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Only jobs that started then or later (UTC).",
)
@click.option(
    "--until",
    metavar="DAY",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Only jobs that started on this day or before.",
)
@engine_options
@FORM
@click.option("--json", "form", flag_value="json", help="As --format json.")
@click.option("--csv", "form", flag_value="csv", help="As --format csv.")
def sql(
    statement: str, lake: str, since: datetime | None, until: datetime | None, form: str, **engine: Any
) -> int:
    """Queries a lake in SQL.

    In DuckDB's dialect: iolens fleet sql --lake DIR "select user, count(*) from job group by 1". Tables are those of
    `iolens sql`, with a column `day` and more columns in job (user, application, cluster, ...), and finding, metric
    and quarantine. The statement reads one state of the lake, and nothing else.

    With --engine spark, Spark computes it on the machines of --master.
    """
    with open_data(Lake(lake), engine, since=_day(since), until=_day(until)) as data:
        data.seal()
        try:
            print_result(data.query(statement), form)
        except duckdb.Error as error:
            raise IolensError(told(error, data.tables()), exit_code=USAGE) from error
    return OK


def _day(moment: datetime | None) -> date | None:
    return None if moment is None else moment.date()
