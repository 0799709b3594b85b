"""iolens report: logs as one page for people."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from iolens.cli.command import STDOUT, Command, save, to_json, warn
from iolens.error import PARTIAL, USAGE, IolensError
from iolens.program import native
from iolens.shown import say

if TYPE_CHECKING:
    from iolens.report import Document

COMMAND = Command(
    group="explain",
    place=10,
    about="one page for any browser: whether I/O is a problem, why, and what to change",
    reads_logs=True,
    shows_progress=True,
    leaves_at_once=True,
)


def _target(logs: tuple[str, ...], output: str | None, end: str) -> str:
    """Where the report goes: the log's name in the current directory."""
    if output:
        return output
    name = Path(logs[0]).name
    for known in (".gz", ".bz2", ".darshan"):
        name = name.removesuffix(known)
    return f"{name or 'report'}{'-and-more' if len(logs) > 1 else ''}{end}"


def _logs_of_running(jobs: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """Logs of what jobs have done until now, as `iolens recover --live` makes them."""
    program = native("--live")
    made: list[str] = []
    for job in jobs:
        log = folder / f"{Path(job).name}-live.darshan"
        done = subprocess.run(
            [program, "recover", "--live", "-o", log, "--", job], capture_output=True, text=True, check=False
        )
        if done.returncode not in (0, PARTIAL):
            raise IolensError(done.stderr.strip().removeprefix("iolens: "), exit_code=done.returncode)
        for line in done.stderr.splitlines():
            warn(line.removeprefix("iolens: "))
        made += done.stdout.splitlines()
    return tuple(made)


def _save(output: str, content: bytes) -> None:
    save(output, content)
    if output != STDOUT:
        say(output)


def _write(document: Document, logs: tuple[str, ...], form: str, output: str | None) -> None:
    if form == "html":
        from iolens.report.html import to_html

        _save(_target(logs, output, ".html"), to_html(document).encode())
    elif form == "pdf":
        from iolens.report.pdf import to_pdf

        _save(_target(logs, output, ".pdf"), to_pdf(document))
    elif form == "json":
        from iolens.report.plain import to_plain
        from iolens.schemas import stamped

        text = to_json(stamped("report", to_plain(document))) + "\n"
        _save(output or STDOUT, text.encode())
    else:
        from iolens.report.text import print_text

        print_text(document, Path(output) if output and output != STDOUT else None)


@click.command()
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Output file, - for standard output (default: the log's name, in the current directory).",
)
@click.option(
    "--text", "form", flag_value="text", help="Print text for a terminal instead of writing a page."
)
@click.option("--json", "form", flag_value="json", help="Print every table and figure as JSON.")
@click.option("--pdf", "form", flag_value="pdf", help="Write a PDF (needs the package typst).")
@click.option("--csv", metavar="DIR", help="Write every table in full as a CSV file into DIR.")
@click.option("--live", is_flag=True, help="LOG is a job that is still running, as iolens top names it.")
@click.option("--rules", multiple=True, metavar="DIR", help="Additional rules of your site.")
@click.option("--open", "show", is_flag=True, help="Open the page in the browser.")
def report(  # noqa: PLR0913, PLR0917 -- one per option
    logs: tuple[str, ...],
    output: str | None,
    form: str | None,
    csv: str | None,
    live: bool,
    rules: tuple[str, ...],
    show: bool,
) -> int:
    """One page about a job: whether I/O is a problem, why, and what to change; then all the details.

    Several logs make one report: a workflow, an ensemble. The page is a single file that opens offline and fetches
    nothing.
    """
    with ExitStack() as stack:
        if live:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="iolens-report-"))
            logs = _logs_of_running(logs, Path(folder))
        return _report(logs, output, form or "html", csv, rules, show)


def _report(  # noqa: PLR0913, PLR0917
    logs: tuple[str, ...],
    output: str | None,
    form: str,
    csv: str | None,
    rules: tuple[str, ...],
    show: bool,
) -> int:
    if output == STDOUT and form == "pdf" and sys.stdout.isatty():
        raise IolensError("a PDF is not for a terminal: redirect it, or name a file", exit_code=USAGE)
    if output == STDOUT and show:
        raise click.UsageError("--open needs a page in a file: leave out -o -")

    from iolens.metrics import Dataset
    from iolens.report import build
    from iolens.rules import find
    from iolens.rules.text import counted

    with Dataset(logs) as data:
        problems: list[str] = []
        document = build(data, find(data, directories=rules, problems=problems))
        if csv:
            from iolens.report.plain import write_csv

            click.echo(
                f"{csv}: {counted(write_csv(data, document, Path(csv)), 'table')}", err=output == STDOUT
            )
        if not csv or output or form != "html":
            _write(document, logs, form, output)
        for problem in [*problems, *map(str, data.problems)]:
            warn(problem)
        damaged = bool(data.problems)
    if show and form == "html":
        from iolens.cli.browser import open_page

        page = Path(_target(logs, output, ".html"))
        if problem := open_page(page):
            warn(f"{page}: not opened: {problem}")
    return PARTIAL if damaged else 0
