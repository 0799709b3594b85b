"""iolens sql: logs as a database."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import click

from iolens.cli.command import FORMATS, Command, print_rows, warn
from iolens.error import PARTIAL, USAGE, IolensError
from iolens.shown import say
from iolens.values import iso

COMMAND = Command(
    group="explain",
    place=60,
    about="query one or more logs in SQL",
    reads_logs=True,
    shows_progress=True,
    leaves_at_once=True,
)

_ROWS = 10_000


def _rows(result: Any) -> Iterator[Sequence[Any]]:
    while rows := result.fetchmany(_ROWS):
        yield from rows


def _print_lines(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Rows that are wider than the terminal: a line per column."""
    width = max(map(len, names), default=0)
    for number, row in enumerate(rows):
        print(f"{'' if number == 0 else chr(10)}row {number + 1}")
        for name, value in zip(names, row):
            text = iso(value) if isinstance(value, datetime) else value
            say(f"  {name:<{width}}  {'-' if value is None else text}")


def _too_wide(names: Sequence[str]) -> bool:
    least = sum(max(len(name), 4) + 2 for name in names)
    return sys.stdout.isatty() and least > shutil.get_terminal_size().columns


FORM = click.option(
    "--format",
    "form",
    type=click.Choice((*FORMATS, "lines")),
    default="table",
    help="How to print rows; lines: one line per column, the default for rows wider than the terminal.",
)


def print_result(result: Any, form: str) -> None:
    """The rows of a statement in one of the forms of ``FORM``."""
    names = [column[0] for column in result.description or ()]
    if form == "lines" or (form == "table" and _too_wide(names)):
        _print_lines(names, _rows(result))
    else:
        print_rows(names, _rows(result), form)


def _describe(tables: Sequence[str], form: str) -> None:
    from iolens.log.unknown import unknown_text
    from iolens.metrics.columns import DESCRIBED, columns_of, described_tables

    rows: list[tuple[str, ...]] = []
    for table in tables or DESCRIBED:
        if table not in described_tables():
            raise IolensError(unknown_text("table", table, described_tables()), exit_code=USAGE)
        rows += [(table, *column) for column in columns_of(table)]
    print_rows(("table", "column", "unit", "meaning"), rows, "table" if form == "lines" else form)


@click.command()
@click.argument("arguments", nargs=-1, metavar="LOG... STATEMENT")
@click.option(
    "--describe", is_flag=True, help="The columns of TABLE... (all tables that are no module's) instead."
)
@FORM
def sql(arguments: tuple[str, ...], describe: bool, form: str) -> int:
    """Queries logs in SQL (DuckDB's dialect): iolens sql job.darshan "select name, bytes_read from file".

    Tables: job, file, record, name, mount, module, metadata, one per module (posix, mpiio, stdio, ...), one per
    section of the trailer (process, operation, ...), and metric.NAME for every metric. Column log is the number of
    the log. "show tables" and "describe file" list what there is, `iolens sql --describe file` says what it means.
    A statement can reach neither files nor the network.
    """
    if describe:
        _describe(arguments, form)
        return 0
    import duckdb

    from iolens.export import table_names
    from iolens.metrics import Dataset

    *logs, statement = arguments or ("",)
    if not logs:
        raise click.UsageError("a log and a statement are needed")
    with Dataset(logs, every_column=True) as data:
        data.seal()
        try:
            print_result(data.query(statement), form)
        except duckdb.Error as error:
            raise IolensError(told(error, [*table_names(), "name"]), exit_code=USAGE) from error
        for problem in data.problems:
            warn(str(problem))
        return PARTIAL if data.problems else 0


def told(error: Exception, tables: Iterable[str]) -> str:
    """One line: what is wrong, and what may have been meant."""
    import re

    from iolens.log.unknown import unknown_text

    if "'pytz'" in str(error):
        return "a result has a time zone of its own: write (...)::TIMESTAMP, which is in UTC"
    lines = [line for line in str(error).splitlines() if line.strip()]
    table = re.search(r"Table with name (\w+) does not exist", lines[0])
    if table:
        return unknown_text("table", table[1], tables, '"show tables" lists them')
    return " ".join([lines[0], *(line for line in lines[1:] if line.startswith("Candidate"))])
