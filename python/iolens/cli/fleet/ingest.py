"""iolens fleet ingest: new logs into a lake."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from iolens.cli.command import to_json, warn
from iolens.cli.engine import engine_options, spark_session
from iolens.cli.findings import threshold_settings
from iolens.error import OK, PARTIAL, USAGE, IolensError
from iolens.fleet.ingest.batch import Options
from iolens.fleet.ingest.ingest import Ingest, Summary
from iolens.fleet.tables.access import group_number
from iolens.fleet.tables.lake import Lake
from iolens.fleet.tables.pseudonyms import Pseudonyms, read_key
from iolens.rules import load
from iolens.shown import say

_NAMED = 20
"""Folders and logs that cannot be read, in lines of a scan."""

if TYPE_CHECKING:
    from iolens.fleet.spark.pool import SparkPool

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "": 1}


def _seconds(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", value)
    if not found or not float(found[1]):
        raise click.BadParameter("expected a time such as 30s, 5m or 1h")
    return float(found[1]) * _UNITS[found[2]]


def _bytes(context: click.Context, parameter: click.Parameter, value: str) -> int:
    from iolens.rules.text import size

    found = size(value)
    if not found:
        raise click.BadParameter("expected a size such as 64M or 1G")
    return int(found)


class _Bar:
    """A progress bar where standard error is a terminal; nothing elsewhere."""

    def __init__(self) -> None:
        self._bar: Any = None
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task("logs")

    def __enter__(self) -> _Bar:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def __call__(self, summary: Summary, waiting: int) -> None:
        if self._bar:
            done = summary.ingested + summary.quarantined
            self._bar.update(self._task, completed=done, total=done + waiting)


def _tell(summary: Summary, seconds: float, json: bool, again: bool) -> None:
    if json:
        described = {"schema": {"name": "ingest", "version": 1}}
        told = {**described, **dataclasses.asdict(summary), "seconds": round(seconds, 3)}
        print(to_json(told, in_a_line=again), flush=True)
        return
    from iolens.rules.text import counted

    for problem in summary.unreadable[:_NAMED]:
        warn(problem)
    if len(summary.unreadable) > _NAMED:
        warn(f"and {len(summary.unreadable) - _NAMED:,} more")
    parts = [
        f"{counted(summary.found, 'log')} found",
        f"{summary.ingested:,} ingested" + (f" ({summary.replaced:,} replaced)" if summary.replaced else ""),
        f"{summary.known:,} already in the lake",
        f"{summary.quarantined:,} in quarantine" if summary.quarantined else "",
        f"{summary.deferred:,} left for the next scan" if summary.deferred else "",
        f"{summary.unreadable_before:,} still without permission" if summary.unreadable_before else "",
        f"{summary.placed:,} found in archives" if summary.placed else "",
    ]
    print(f"{', '.join(p for p in parts if p)}; {seconds:.1f} s", flush=True)
    for skipped in summary.skipped:
        say(f"{counted(skipped.files, 'file')} skipped: {skipped.reason}, such as {skipped.example}")
    sys.stdout.flush()  # another process may read it line by line


def _scan(
    ingest: partial[Ingest], sources: Sequence[str], archives: list[str], json: bool, again: bool
) -> int | None:
    """One scan. Its exit code, or None if there will be another one, which needs no archives any more."""
    start = time.monotonic()
    try:
        with _Bar() as bar:
            summary = ingest(progress=bar).run(sources, archives)
        archives.clear()
    except (IolensError, OSError) as error:
        if not again:
            raise
        warn(str(error))  # a disk may be full now, and not at the next scan
        return None
    _tell(summary, time.monotonic() - start, json, again=again)
    if again:
        return None
    partial = summary.quarantined or summary.unreadable or summary.unreadable_before
    return PARTIAL if partial else OK


def _check(sources: Sequence[str], archives: Sequence[str], pseudonymize: str | None) -> None:
    if not sources and not archives:
        raise click.UsageError("LOGS... is missing")
    if archives and pseudonymize:
        raise IolensError("--archives: a lake with pseudonyms has no archives", exit_code=USAGE)


def _pool(jobs: int | None, engine: dict[str, Any]) -> tuple[SparkPool, int]:
    """What decodes on a Spark cluster, and how many tasks at a time."""
    from iolens.fleet.spark.pool import SparkPool

    session = spark_session(engine["master"], engine["spark_conf"])
    jobs = jobs or int(session.sparkContext.defaultParallelism)
    return SparkPool(session, jobs + 1), jobs


@click.command()
@click.argument("sources", nargs=-1, metavar="LOGS...", type=click.Path(exists=True))
@click.option(
    "--lake",
    required=True,
    metavar="DIR",
    envvar="IOLENS_LAKE",
    help="The lake; it is made if there is none [$IOLENS_LAKE].",
)
@click.option(
    "--archives",
    metavar="DIR",
    multiple=True,
    type=click.Path(exists=True),
    help="Also jobs in archives that the lake lacks; repeatable.",
)
@click.option("--group", metavar="NAME", help="A group that can read the lake, too [its owner only].")
@click.option("--watch", metavar="TIME", callback=_seconds, help="Scan again after this time, until stopped.")
@click.option(
    "--jobs", "-j", metavar="N", type=click.IntRange(1), help="Processes that decode [one per processor]."
)
@click.option("--cluster", metavar="NAME", default="", help="The name of the logs' machine.")
@click.option(
    "--pseudonymize",
    metavar="KEYFILE",
    help="A keyed hash in place of each name: users, files, hosts, programs.",
)
@click.option("--rules", "directories", metavar="DIR", multiple=True, help="Rules of the site; repeatable.")
@click.option(
    "--thresholds", "file", metavar="FILE", help="Thresholds of rules from a TOML file, a table per rule."
)
@click.option("--no-rules", is_flag=True, help="Without findings and metrics, which recompute adds.")
@click.option("--limit", metavar="N", type=click.IntRange(1), help="At most this many new logs in one scan.")
@click.option(
    "--largest",
    metavar="SIZE",
    default="1G",
    show_default=True,
    callback=_bytes,
    help="Larger logs go into quarantine.",
)
@click.option(
    "--trust-names",
    is_flag=True,
    help="A log belongs to the user in its name, not to the file's owner: for folders where users cannot write.",
)
@engine_options
@click.option("--json", is_flag=True, help="What was done as JSON; with --watch an object per line and scan.")
def ingest(  # noqa: PLR0913, PLR0917
    sources: Sequence[str],
    lake: str,
    archives: tuple[str, ...],
    group: str | None,
    watch: float | None,
    jobs: int | None,
    cluster: str,
    pseudonymize: str | None,
    directories: tuple[str, ...],
    file: str | None,
    no_rules: bool,
    limit: int | None,
    largest: int,
    trust_names: bool,
    json: bool,
    **engine: Any,
) -> int:
    """Brings new logs into a lake.

    LOGS are logs, or folders of any structure. Files with other names than *.darshan, *.darshan.gz and *.darshan.bz2
    count as logs if they begin like one. A log in the lake is read again only if its size or time has changed. You can
    kill ingest at any moment and start it again; several may run at once. The table quarantine has unreadable logs,
    and logs whose name or job contradicts the owner of the file, with the reason.

    With --archives, ingest also adds the jobs in archives, with path, user and cluster, to a new lake or an older copy.

    With --engine spark the machines of a Spark cluster decode: all of them must see logs and lake.
    """
    _check(sources, archives, pseudonymize)
    lake = os.path.abspath(lake)  # noqa: PTH100 - workers of Spark stand elsewhere
    pool, jobs = _pool(jobs, engine) if engine["engine"] == "spark" else (None, jobs)
    key = read_key(Path(pseudonymize)) if pseudonymize else b""
    thresholds = tuple(threshold_settings((), file).items())
    load(directories).with_thresholds(
        dict(thresholds)
    )  # what is wrong in them is said before anything is read
    options = Options(
        lake,
        cluster,
        rules=not no_rules,
        directories=directories,
        thresholds=thresholds,
        key=key,
        trust_names=trust_names,
        largest=largest,
    )
    mark = Pseudonyms(key).mark if key else ""
    number = None if group is None else group_number(group)
    made = Lake.create(lake, pseudonyms=mark, group=number).for_writing()
    scan = partial(Ingest, made, options, jobs=jobs or 0, limit=limit, pool=pool)
    left = list(archives)
    while (code := _scan(scan, sources, left, json, watch is not None)) is None:
        time.sleep(watch or 0)
    return code
