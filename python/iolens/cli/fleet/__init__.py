"""iolens fleet: the logs of many jobs in one place. One file per command, imported when it is asked for."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import click

from iolens.error import USAGE, IolensError

__all__ = ["fleet"]


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
            raise IolensError(
                "a lake needs deltalake: pip install 'iolens[fleet]'", exit_code=USAGE
            ) from error
        command = getattr(module, name, None) or getattr(module, f"{name}_")
        assert isinstance(command, click.Command)
        return command


@click.group(cls=_Commands, invoke_without_command=True, subcommand_metavar="COMMAND [ARGS]...")
@click.pass_context
def fleet(context: click.Context) -> None:
    """The jobs of a machine: their logs in one place, a lake of tables, and what is asked of all of them.

    `iolens fleet ingest /logs --lake DIR` makes a lake, and brings it up to date; `iolens fleet COMMAND --help` tells
    more.
    """
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        sys.exit(USAGE)
