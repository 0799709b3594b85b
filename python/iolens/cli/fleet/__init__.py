"""iolens fleet: the logs of many jobs in one place. One file per command, imported when it is asked for."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

import click

from iolens.cli.command import Command
from iolens.error import UNREADABLE, USAGE, IolensError
from iolens.extras import lacks

__all__ = ["fleet"]

COMMAND = Command(
    group="explain",
    place=70,
    about="collect the logs of a machine in one lake, and query them together",
)


class _Commands(click.Group):
    """A command is the function of its name in the file of its name, ``import`` in ``import_.py``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(f.stem.rstrip("_") for f in Path(__file__).parent.glob("[a-z]*.py"))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(ctx):
            return None
        try:
            module = next(
                import_module(f"{__name__}.{stem}")
                for stem in (name, f"{name}_")
                if Path(__file__).with_name(f"{stem}.py").exists()
            )
        except ModuleNotFoundError as error:
            if error.name not in ("deltalake", "arro3"):
                raise
            raise lacks("a lake", "deltalake", "fleet") from error
        command = getattr(module, name, None) or getattr(module, f"{name}_")
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """A file of the lake that cannot be read is named, and no fault of the program's."""
        import duckdb

        try:
            return super().invoke(ctx)
        except duckdb.Error as error:
            words = str(error)
            if not isinstance(error, duckdb.IOException) and not re.search("arquet|magic bytes", words):
                raise
            raise _unreadable(error) from error
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in ("_internal", "deltalake"):
                raise
            raise _unreadable(error) from error


def _unreadable(error: Exception) -> IolensError:
    """Of DuckDB's and delta-rs's errors, whose words are about files."""
    return IolensError(
        f"a file of the lake cannot be read: {str(error).splitlines()[0]}: `iolens fleet verify` says what to do",
        exit_code=UNREADABLE,
    )


@click.group(cls=_Commands, invoke_without_command=True, subcommand_metavar="COMMAND [ARGS]...")
@click.pass_context
def fleet(context: click.Context) -> None:
    """The logs of a machine's jobs in a lake of tables, and queries over all of them.

    `iolens fleet ingest /logs --lake DIR` makes a lake or updates it.
    """
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        sys.exit(USAGE)
