"""iolens sql: logs as a database."""

from __future__ import annotations

import click

from iolens.cli.command import FORMATS, print_rows, warn
from iolens.error import PARTIAL, USAGE, IolensError


@click.command()
@click.argument("arguments", nargs=-1, required=True, metavar="LOG... STATEMENT")
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", help="How rows are printed.")
def sql(arguments: tuple[str, ...], form: str) -> int:
    """Asks the logs in SQL (DuckDB's dialect): iolens sql job.darshan "select name, bytes_read from file".

    Tables: job, file, record, name, mount, module, metadata, one per module (posix, mpiio, stdio, ...), one per
    section of the trailer (process, operation, ...), and metric.NAME for every metric. Column log = number of the log.
    """
    import duckdb

    from iolens.metrics import Dataset

    *logs, statement = arguments
    if not logs:
        raise click.UsageError("a log and a statement are needed")
    with Dataset(logs) as data:
        try:
            result = data.query(statement)
            names = [column[0] for column in result.description or ()]
            rows = result.fetchall()
        except duckdb.Error as error:
            raise IolensError(str(error).splitlines()[0], exit_code=USAGE) from error
        print_rows(names, rows, form)
        for problem in data.problems:
            warn(str(problem))
        return PARTIAL if data.problems else 0
