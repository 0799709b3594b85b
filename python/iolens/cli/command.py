"""What all commands share: how one is found, how rows are printed, how an error ends."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

import click

from iolens.error import OK, UNREADABLE, USAGE, IolensError
from iolens.shown import clean, say, say_traceback
from iolens.values import iso, plain
from iolens.whole import whole

__all__ = [
    "FORMATS",
    "STDOUT",
    "Command",
    "command_names",
    "fail",
    "keep_private",
    "main",
    "print_rows",
    "save",
    "to_json",
    "warn",
]

FORMATS = ("table", "json", "csv")

STDOUT = "-"
"""In place of a file's name: standard output."""


class Command(NamedTuple):
    """A command is a file, or a folder, with one of these, ``COMMAND``, and the function of its own name.

    The build makes the table of all commands from them (tools/commands.py).
    """

    group: str
    """Under which heading of ``iolens --help``: the last word of a GROUP of cli/cli.h, as explain."""
    place: int
    """Where there: by number, then by name."""
    about: str
    """What it does, in a line."""
    reads_logs: bool = False
    """Logs of a lake may stand among its arguments: lake:4711."""
    shows_progress: bool = False
    """May take more than a second, and ends by itself."""
    leaves_at_once: bool = False
    """Ends without taking apart what Python and DuckDB have built up, which takes as long as ten questions."""


def command_names() -> list[str]:
    """All commands in Python."""
    folder = Path(__file__).parent
    files = [*folder.glob("*.py"), *folder.glob("*/__init__.py")]
    return sorted(
        file.parent.name if file.stem == "__init__" else file.stem
        for file in files
        if "\nCOMMAND = " in file.read_text(encoding="utf-8")
    )


def _module(name: str) -> ModuleType | None:
    """The command's file; None: there is no such command."""
    if not name.isalpha() or not find_spec(f"iolens.cli.{name}"):
        return None
    module = import_module(f"iolens.cli.{name}")
    return module if hasattr(module, "COMMAND") else None


def _row(words: Sequence[str]) -> Command | None:
    """The COMMAND of the one that a command line names."""
    module = _module(words[1]) if len(words) > 1 else None
    row = module.COMMAND if module else None
    assert row is None or isinstance(row, Command)
    return row


class _Commands(click.Group):
    """Imports the one command that is run: start-up stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return command_names()

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        module = _module(name)
        command = getattr(module, name) if module else None
        if command is None:
            return None
        assert isinstance(command, click.Command)
        return command


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
def iolens() -> None:
    """What a program's I/O does, and what to change."""


def warn(text: str) -> None:
    """One line on standard error."""
    say(f"iolens: {text}", sys.stderr)


def keep_private(logs: Iterable[str]) -> None:
    """From now on, only users that may read all of the logs can read what is made."""
    readers = 0o044
    for log in logs:
        with contextlib.suppress(OSError):
            readers &= Path(log).stat().st_mode
    old = os.umask(0o077)
    os.umask(old | (0o077 & ~(readers | readers >> 2)))


def save(output: str, content: bytes) -> None:
    """What a command was asked for, into a file or to standard output. One that is not whole leaves what was there."""
    if output == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    with whole(Path(output)) as part:
        part.write_bytes(content)


def fail(text: str, code: int) -> NoReturn:
    """One line on standard error, and the end."""
    warn(text)
    sys.exit(code)


def progress(row: Command | None) -> contextlib.AbstractContextManager[object]:
    """Tells on a terminal what is under way, from a second on."""
    if not sys.stderr.isatty() or not row or not row.shows_progress:
        return contextlib.nullcontext()
    from iolens.progress import Progress

    return Progress(sys.stderr)


def _for_the_native_command(arguments: list[str]) -> None:
    """What the native command line hands over; it ends the process."""
    if arguments[1:2] == ["lake-logs"]:
        from iolens.cli.native.lake_logs import run

        sys.exit(run(arguments[2], arguments[3], arguments[4:]))
    if arguments[1:2] == ["anonymization-key"]:
        from iolens.cli.native.anonymization_key import run as print_key

        sys.exit(print_key(arguments[2], arguments[3]))


def main() -> NoReturn:
    """Runs the command of ``sys.argv`` and exits with its code: 0, 1 findings, 2 usage, 3 unreadable, 4 partial.

    ``--options`` instead of a command prints what ``iolens completion`` asks for.
    """
    if sys.argv[1:] == ["--options"]:
        from iolens.cli.usage import option_lines

        print("\n".join(option_lines(command_names(), iolens)))
        sys.exit(OK)
    sys.excepthook = lambda kind, error, trace: say_traceback(error)
    try:
        _for_the_native_command(sys.argv)
        row = _row(sys.argv)
        with progress(row):
            code = iolens.main(prog_name="iolens", standalone_mode=False)
        sys.stdout.flush()
        code = code if isinstance(code, int) else OK
        if row and row.leaves_at_once:
            sys.stderr.flush()
            os._exit(code)
        sys.exit(code)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        from iolens.cli.usage import usage_text

        fail(usage_text(error), USAGE)
    except IolensError as error:
        fail(str(error), error.exit_code)
    except MemoryError:
        fail(
            "not enough memory for what the log unpacks to; if it is sound (iolens check tells), "
            "a machine or a job with more memory reads it",
            UNREADABLE,
        )
    except ModuleNotFoundError as error:  # as pip install --no-deps leaves it
        if (error.name or "iolens").partition(".")[0] == "iolens":
            raise
        from iolens.extras import module_command

        fail(f"{sys.argv[1]} needs {error.name}: {module_command(error.name or '')}", USAGE)
    except BrokenPipeError:  # a pager that was left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(OK)
    except OSError as error:
        fail(f"{error.filename or ''}: {error.strerror or error}".lstrip(": "), UNREADABLE)
    except Exception as error:
        if not _is_no_utf8(error) or all(word.isprintable() or word == _utf8(word) for word in sys.argv):
            raise
        fail(f"{' '.join(sys.argv[1:2])}: an argument is not UTF-8: rename the file, or link to it", USAGE)


def _is_no_utf8(error: Exception) -> bool:
    """DuckDB takes texts that are UTF-8; DuckDB 2 has an error of its own for others."""
    return isinstance(error, UnicodeEncodeError) or "cannot encode str as UTF-8" in str(error)


def _utf8(word: str) -> str:
    return word.encode("utf-8", "replace").decode("utf-8")


_UNUSUAL = re.compile(r"[^\n -~]")


def to_json(value: Any, *, in_a_line: bool = False) -> str:
    """JSON as every command prints it, of values as ``plain`` has them.

    What a terminal would obey, and bytes of names that are not UTF-8, stand as escapes.
    """
    text = json.dumps(plain(value), indent=None if in_a_line else 2, ensure_ascii=False)
    return _UNUSUAL.sub(lambda c: c[0] if c[0].isprintable() else _in_json(c[0]), text)


def _in_json(character: str) -> str:
    return "\\u007f" if character == "\x7f" else json.dumps(character)[1:-1]


def _for_terminal(value: Any) -> Any:
    """A cell of CSV: a file or a program gets its exact bytes."""
    cell = plain(value)
    return clean(cell) if isinstance(cell, str) else cell


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, datetime):
        return iso(value)
    return f"{value:.6g}" if isinstance(value, float) else clean(str(value))


def print_rows(names: Sequence[str], rows: Iterable[Sequence[Any]], form: str) -> None:
    """Rows on standard output, as a table for people, JSON (an array of objects) or CSV.

    Only CSV that does not go to a terminal has the exact bytes of names.
    """
    if form == "json":
        print(to_json([dict(zip(names, row)) for row in rows]))
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        cell = _for_terminal if sys.stdout.isatty() else plain
        writer.writerow(map(cell, names))
        writer.writerows(map(cell, row) for row in rows)
    else:
        from rich import box
        from rich.console import Console
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        listed = list(rows)
        for number, name in enumerate(names):
            numeric = any(isinstance(row[number], (int, float)) for row in listed)
            table.add_column(clean(name), justify="right" if numeric else "left", overflow="fold")
        for row in listed:
            table.add_row(*(_text(v) for v in row))
        # Not a terminal: as wide as it needs to be, for grep and awk.
        Console(width=None if sys.stdout.isatty() else 10_000, highlight=False, markup=False).print(table)
