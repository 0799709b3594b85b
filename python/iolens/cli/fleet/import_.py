"""iolens fleet import: published data sets into a lake."""

from __future__ import annotations

import click

from iolens.cli.command import to_json, warn
from iolens.shown import say


@click.command(name="import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(exists=True))
@click.option(
    "--lake",
    required=True,
    metavar="DIR",
    envvar="IOLENS_LAKE",
    help="The lake; it is made if there is none [$IOLENS_LAKE].",
)
@click.option("--cluster", metavar="NAME", default="", help="The data's machine.")
@click.option("--no-rules", is_flag=True, help="Without findings.")
@click.option("--json", "as_json", is_flag=True, help="What was done as JSON.")
def import_(files: tuple[str, ...], lake: str, cluster: str, no_rules: bool, as_json: bool) -> None:
    """Brings published data sets of parsed logs into a lake: CSV or Parquet with Darshan's names of counters.

    A row per job with columns total_<COUNTER>, or a row per record with columns <COUNTER>. Repeating it skips jobs
    that the lake has from the same file.
    """
    from iolens.fleet import Lake
    from iolens.fleet.published.bring import bring
    from iolens.rules import load
    from iolens.rules.text import agree, counted
    from iolens.schemas import stamped

    catalog = load().of([]) if no_rules else load()
    told = []
    for path in files:
        done = bring(Lake.create(lake).for_writing(), path, cluster=cluster, catalog=catalog)
        told.append({"file": path, "jobs": done.jobs, "known": done.known, "findings": done.findings})
        told[-1]["ignored"] = done.ignored
        if not as_json:
            say(
                f"{path}: {counted(done.jobs, 'job')}, {done.known:,} known, {counted(done.findings, 'finding')}"
            )
            if done.ignored:
                shown = ", ".join(done.ignored[:5]) + (", ..." if len(done.ignored) > 5 else "")
                columns = f"{counted(len(done.ignored), 'column')} {agree(len(done.ignored), 'has', 'have')} no place"
                warn(f"{path}: {columns}: {shown}")
    if as_json:
        print(to_json(stamped("imported", {"files": told})))
