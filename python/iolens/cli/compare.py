"""iolens compare: compares runs."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING

import click

from iolens.cli.command import STDOUT, Command, save, to_json, warn
from iolens.cli.usage import FiniteRange
from iolens.error import FINDINGS, OK, PARTIAL, USAGE, IolensError

if TYPE_CHECKING:
    from iolens.compare import Comparison

COMMAND = Command(
    group="explain",
    place=30,
    about="what differs between runs, by how much, and in which files",
    reads_logs=True,
    shows_progress=True,
)

_FORMATS = ("text", "markdown", "json")
_FAIL_ON = {"slower": ("slower", "failed"), "difference": ("slower", "faster", "different", "failed")}


def _paths(pattern: str) -> tuple[str, ...]:
    found = sorted(glob.glob(pattern, recursive=True)) if glob.has_magic(pattern) else [pattern]  # noqa: PTH207
    if not found:
        raise IolensError("no such log", pattern)
    return tuple(found)


def _name(path: str, taken: set[str]) -> str:
    stem = Path(path).name.removesuffix(".darshan")
    short = stem if len(stem) <= 24 else stem[:10] + ".." + stem[-12:]
    while short in taken:
        short += "'"
    taken.add(short)
    return short


def _written(result: Comparison, form: str, everything: bool) -> str:
    from iolens.compare.markdown import to_markdown
    from iolens.compare.text import to_plain, to_text
    from iolens.schemas import stamped

    if form == "json":
        return to_json(stamped("compare", to_plain(result))) + "\n"
    return (to_markdown if form == "markdown" else to_text)(result, everything=everything)


@click.command()
@click.argument("logs", nargs=-1, metavar="LOG LOG [LOG...]")
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="NAME=PATTERN",
    help="A group of repeated runs. The baseline is the first log, or without logs the first group.",
)
@click.option(
    "--map",
    "maps",
    multiple=True,
    metavar="REGEX=TEXT",
    help="Replace in file names before matching them.",
)
@click.option(
    "--tolerance",
    default=5.0,
    show_default=True,
    type=FiniteRange(0),
    metavar="PERCENT",
    help="Changes smaller than this do not count.",
)
@click.option(
    "--fail-on",
    type=click.Choice(list(_FAIL_ON)),
    help="Exit with 1 if a run failed or is slower, or differs at all.",
)
@click.option(
    "--all", "everything", is_flag=True, help="Show all measures and files, not only those that differ."
)
@click.option(
    "--html",
    metavar="FILE",
    help="Also write a page with box plots and a sortable table of files; - prints it instead.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    default="text",
    show_default=True,
    help="Markdown is for job summaries in CI.",
)
@click.option("--json", "form", flag_value="json", help="The same as --format json.")
def compare(  # noqa: PLR0913, PLR0917 -- one per option
    logs: tuple[str, ...],
    groups: tuple[str, ...],
    maps: tuple[str, ...],
    tolerance: float,
    fail_on: str | None,
    everything: bool,
    html: str | None,
    form: str,
) -> int:
    """Compares runs with the first one: what differs, by how much, and in which files.

    Files are matched by role: out.0007 of one run corresponds to out.0008 of another. Repeated runs of one
    configuration form a group (--group old='old/*.darshan' --group new='new/*.darshan'): means are compared, and
    Welch's test tells changes from chance.
    """
    from iolens.compare import Group, Limits, parse_substitution
    from iolens.compare import compare as compare_groups

    taken: set[str] = set()
    chosen = [Group(_name(log, taken), (log,)) for log in logs]
    for text in groups:
        name, equals, pattern = text.partition("=")
        if not equals or not name:
            raise IolensError(
                f'--group "{text}": write NAME=PATTERN, as in new="runs/*.darshan"', exit_code=USAGE
            )
        if name in taken:
            raise IolensError(f'two groups are named "{name}": give each its own name', exit_code=USAGE)
        taken.add(name)
        chosen.append(Group(name, _paths(pattern)))
    result = compare_groups(
        chosen,
        substitutions=[parse_substitution(text) for text in maps],
        limits=Limits(relative=tolerance / 100),
    )
    if html != STDOUT:
        print(_written(result, form, everything), end="")
    if html:
        from iolens.report.build import own_version
        from iolens.report.html import to_html
        from iolens.report.sections.compared import compared

        save(html, to_html(compared(result, own_version())).encode())
    for problem in result.problems:
        warn(str(problem))
    if fail_on and any(verdict in _FAIL_ON[fail_on] for verdict in result.verdicts):
        return FINDINGS
    return PARTIAL if result.problems else OK
