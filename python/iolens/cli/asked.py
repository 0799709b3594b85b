"""What the commands that ask a lake share: their options, and how answers are printed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Callable

import click

from iolens.cli.command import print_rows, to_json
from iolens.shown import clean

if TYPE_CHECKING:
    from iolens.fleet.saved_queries import Answer, ResultColumn

__all__ = ["days", "form_options", "lake_options", "print_answers", "whose_options"]

Command = Callable[..., Any]

_DAY = click.DateTime(["%Y-%m-%d"])


def lake_options(command: Command) -> Command:
    """--lake, --since, --until."""
    for option in (
        click.option(
            "--until", metavar="DAY", type=_DAY, help="Only jobs that started on this day or before."
        ),
        click.option("--since", metavar="DAY", type=_DAY, help="Only jobs that started then or later (UTC)."),
        click.option(
            "--lake", required=True, metavar="DIR", envvar="IOLENS_LAKE", help="The lake [$IOLENS_LAKE]."
        ),
    ):
        command = option(command)
    return command


def whose_options(command: Command) -> Command:
    """--user, --application, --cluster."""
    for name in ("cluster", "application", "user"):
        command = click.option(f"--{name}", default="", metavar="NAME", help=f"Only jobs of this {name}.")(
            command
        )
    return command


def form_options(command: Command) -> Command:
    """--json, --csv."""
    command = click.option("--csv", "form", flag_value="csv", help="Rows as CSV.")(command)
    return click.option("--json", "form", flag_value="json", help="All of it as JSON.")(command)


def days(since: datetime | None, until: datetime | None) -> tuple[date | None, date | None]:
    """What --since and --until say."""
    return since and since.date(), until and until.date()


def print_answers(answers: Sequence[Answer], form: str | None) -> None:
    """JSON: an object with all of them. CSV: the rows of the first. Else tables with their titles."""
    if form == "json":
        from iolens.schemas import stamped

        print(to_json(stamped("fleet", {"answers": [answer.plain() for answer in answers]})))
        return
    if form == "csv":
        print_rows(answers[0].names, answers[0].rows, "csv")
        return
    for number, answer in enumerate(answers):
        if number or len(answers) > 1:
            print(f"{'' if number == 0 else chr(10)}{answer.query.title}")
        if answer.rows:
            _print_table(answer)
        else:
            print("none")
    sys.stdout.flush()


def _cell(value: Any, column: ResultColumn) -> str:
    from iolens.rules.text import write

    return "-" if value is None else write(value, column.unit)


def _print_table(answer: Answer) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in answer.query.columns:
        table.add_column(clean(column.name), justify="right" if column.unit else "left", overflow="fold")
    for row in answer.rows:
        table.add_row(*map(_cell, row, answer.query.columns))
    # Not a terminal: as wide as it needs to be, for grep and awk.
    Console(width=None if sys.stdout.isatty() else 10_000, highlight=False, markup=False).print(table)
