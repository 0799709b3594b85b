"""iolens mcp: logs for assistants."""

from __future__ import annotations

from importlib.util import find_spec

import click

from iolens.cli.command import Command
from iolens.cli.usage import FiniteRange
from iolens.extras import lacks

COMMAND = Command(
    group="explain",
    place=90,
    about="a server for assistants: summary, findings, SQL",
)


@click.command()
@click.argument("places", nargs=-1, required=True, metavar="DIR|LOG...")
@click.option(
    "--seconds",
    default=10.0,
    show_default=True,
    type=FiniteRange(0, min_open=True),
    help="Time limit of an SQL statement.",
)
@click.option("--memory", default="512MB", show_default=True, help="Memory limit of an SQL statement.")
@click.option(
    "--rows",
    default=200,
    show_default=True,
    type=click.IntRange(1),
    help="Maximum number of rows in its result.",
)
def mcp(places: tuple[str, ...], seconds: float, memory: str, rows: int) -> None:
    """A server for assistants, on standard input and output (Model Context Protocol).

    Assistants may read LOG and the logs in DIR, and nothing else: summary, findings with their evidence and SQL,
    files, comparison, explanations, and SQL that can reach neither files nor the network. Nothing is written.
    """
    if not find_spec("mcp") or not find_spec("mcp.server.mcpserver"):
        raise lacks("mcp", "the MCP SDK, version 2", "mcp")
    from iolens.assistant import Limits, Logs, server

    server(Logs(places, Limits(seconds, memory, rows))).run("stdio")
