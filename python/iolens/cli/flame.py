"""iolens flame: the flame graph of I/O."""

from __future__ import annotations

from pathlib import Path

import click

from iolens.cli.command import STDOUT, Command, save, to_json, warn
from iolens.error import OK, PARTIAL, UNREADABLE, IolensError
from iolens.shown import say

COMMAND = Command(
    group="explain",
    place=27,
    about="the flame graph of I/O: which stacks of lines cost seconds, bytes or calls",
    reads_logs=True,
    shows_progress=True,
    leaves_at_once=True,
)


@click.command()
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option("-o", "--output", metavar="FILE", help="Output file, - for standard output.")
@click.option(
    "--by",
    type=click.Choice(("seconds", "bytes", "calls")),
    default="seconds",
    help="What the width of a frame stands for.",
)
@click.option(
    "--collapsed", "form", flag_value="collapsed", help="Collapsed stacks, in microseconds, bytes or calls."
)
@click.option("--speedscope", "form", flag_value="speedscope", help="A profile for speedscope, as JSON.")
def flame(logs: tuple[str, ...], output: str | None, by: str, form: str | None) -> int:
    """The flame graph of LOG's I/O: a page that opens offline (default: the log's name with .flame.html, here).

    Stacks are those of Python code, up to eight lines; other programs have the place that opened the file.
    --collapsed and --speedscope print to standard output unless -o names a file.
    """
    from iolens.metrics import Dataset
    from iolens.report.flame import collapsed, read_stacks, speedscope, to_html

    with Dataset(logs) as data:
        stacks = read_stacks(data, by)
        problems = [str(problem) for problem in data.problems]
    name = Path(logs[0]).name.removesuffix(".darshan")
    if not stacks:
        raise IolensError(
            f"no {by} of I/O to draw; `iolens info` says what was seen", logs[0], exit_code=UNREADABLE
        )
    if form == "collapsed":
        text = "".join(f"{line}\n" for line in collapsed(stacks, by))
    elif form == "speedscope":
        text = to_json(speedscope(stacks, by, name)) + "\n"
    else:
        text = to_html(stacks, by, name)
    target = output or (STDOUT if form else f"{name}.flame.html")
    save(target, text.encode())
    if target != STDOUT:
        say(target)
    for problem in problems:
        warn(problem)
    return PARTIAL if problems else OK
