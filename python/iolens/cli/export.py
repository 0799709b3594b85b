"""iolens export: logs for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from iolens.cli.command import Command, keep_private, warn
from iolens.error import OK, PARTIAL, USAGE, IolensError
from iolens.shown import say

COMMAND = Command(
    group="transform",
    place=30,
    about="write logs for other programs: Parquet, CSV, JSON, Perfetto, OpenMetrics",
    reads_logs=True,
    shows_progress=True,
)

_FORMATS = ("parquet", "csv", "json", "perfetto", "openmetrics")


def _folder(to: str, force: bool) -> Path:
    """The folder to write into, made if it is not there; one with something in it only if it is wanted."""
    folder = Path(to)
    if folder.exists() and not folder.is_dir():
        raise IolensError("is not a directory", to, exit_code=USAGE)
    if folder.is_dir() and not force and any(folder.iterdir()):
        raise IolensError("is not empty; --force writes into it", to, exit_code=USAGE)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _checked(tables: tuple[str, ...], form: str) -> None:
    from iolens.export import FORMATS, table_names
    from iolens.log.unknown import unknown_text

    if tables and form not in FORMATS:
        raise click.UsageError(f"--table goes with {', '.join(FORMATS)}")
    for name in tables:
        if name not in table_names():
            raise IolensError(unknown_text("table", name, table_names()), exit_code=USAGE)


@click.command()
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option(
    "--to", required=True, metavar="DIR", help="Folder for the files; created if it does not exist."
)
@click.option("--format", "form", type=click.Choice(_FORMATS), default="parquet", show_default=True)
@click.option(
    "--table",
    "tables",
    multiple=True,
    metavar="NAME",
    help="Only this table, as in posix or metric.perf; may be repeated.",
)
@click.option("--force", is_flag=True, help="Write into a folder that already has files.")
def export(logs: tuple[str, ...], to: str, form: str, tables: tuple[str, ...], force: bool) -> int:
    """Writes logs for other programs and prints the names of the files.

    parquet, csv, json: one file per table (job, file, record, modules, sections, metrics), without empty tables; the
    column log tells logs apart. perfetto: one trace per log, for ui.perfetto.dev. openmetrics: metrics.txt, for
    Prometheus.
    """
    from iolens.export import write_openmetrics, write_perfetto, write_tables
    from iolens.metrics import Dataset

    _checked(tables, form)
    keep_private(logs)
    with Dataset(logs, every_column=True) as data:
        folder = _folder(to, force)
        if form == "perfetto":
            written = list(write_perfetto(data, folder))
            if not written and data.problems:
                raise data.problems[0]
            if not written:
                raise IolensError(
                    "no trace, timeline or heat map to draw: run the program with `iolens run --trace`",
                    ", ".join(logs),
                    exit_code=USAGE,
                )
        elif form == "openmetrics":
            written = list(write_openmetrics(data, folder))
        else:
            written = list(write_tables(data, folder, form, tables))
        for path in written:
            say(str(path))
        for problem in data.problems:
            warn(str(problem))
        return PARTIAL if data.problems else OK
