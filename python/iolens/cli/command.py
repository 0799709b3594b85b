"""What all commands share: how one is found, how rows are printed, how an error ends."""

from __future__ import annotations

import csv
import datetime
import json
import math
import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from iolens.error import OK, UNREADABLE, USAGE, IolensError

__all__ = ["FORMATS", "fail", "main", "print_rows", "to_json", "warn"]

COMMANDS = ("compare", "explain", "export", "findings", "report", "sql")
"""A command is the function of its name in the file of its name."""

FORMATS = ("table", "json", "csv")


class _Commands(click.Group):
    """Imports the one command that is asked for: start-up stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = getattr(import_module(f"iolens.cli.{name}"), name)
        assert isinstance(command, click.Command)
        return command


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
def iolens() -> None:
    """What a program's I/O does, and what to change."""


def warn(text: str) -> None:
    """One line on standard error."""
    print(f"iolens: {text}", file=sys.stderr)


def fail(text: str, code: int) -> NoReturn:
    """One line on standard error, and the end."""
    warn(text)
    sys.exit(code)


def main() -> NoReturn:
    """Runs the command of ``sys.argv`` and exits with its code: 0, 1 findings, 2 usage, 3 unreadable, 4 partial."""
    try:
        code = iolens.main(prog_name="iolens", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else OK)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "iolens"
        fail(f"{error.format_message().rstrip('.')}; see {where} --help", USAGE)
    except IolensError as error:
        fail(str(error), error.exit_code)
    except BrokenPipeError:  # a pager that was left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(OK)
    except OSError as error:
        fail(f"{error.filename or ''}: {error.strerror or error}".lstrip(": "), UNREADABLE)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)


def to_json(value: Any) -> str:
    """JSON as every command prints it: what JSON has no number for is null, times are ISO 8601."""
    return json.dumps(_plain(value), indent=2, ensure_ascii=False)


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def print_rows(names: Sequence[str], rows: Iterable[Sequence[Any]], form: str) -> None:
    """Rows on standard output, as a table for people, JSON (an array of objects) or CSV."""
    if form == "json":
        print(to_json([dict(zip(names, row)) for row in rows]))
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_plain(v) for v in row] for row in rows)
    else:
        from rich import box
        from rich.console import Console
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        listed = list(rows)
        for number, name in enumerate(names):
            numeric = any(isinstance(row[number], (int, float)) for row in listed)
            table.add_column(name, justify="right" if numeric else "left", overflow="fold")
        for row in listed:
            table.add_row(*(_text(v) for v in row))
        # Not a terminal: as wide as it needs to be, for grep and awk.
        Console(width=None if sys.stdout.isatty() else 10_000, highlight=False, markup=False).print(table)
