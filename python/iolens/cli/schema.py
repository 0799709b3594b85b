"""iolens schema: the JSON Schemas of what the commands print."""

from __future__ import annotations

import click

from iolens.cli.command import Command

COMMAND = Command(
    group="maintain",
    place=30,
    about="the JSON Schema of what a command prints with --json",
)


@click.command()
@click.argument("name", required=False)
def schema(name: str | None) -> None:
    """The JSON Schema of what a command prints with --json. Without NAME: all schemas.

    "schema" in the output names it and its version. Additions keep the version; removals and changes
    of meaning make a new one.
    """
    from iolens.schemas import load, names, read

    if name:
        print(read(name), end="")
        return
    for one in names():
        told = load(one)
        version = told["properties"]["schema"]["properties"]["version"]["const"]
        print(f"{one:<8}  {version}  {told['title']}")
