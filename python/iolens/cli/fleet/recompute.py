"""iolens fleet recompute: findings of what is in a lake, by the rules as they are now."""

from __future__ import annotations

from datetime import datetime

import click

from iolens.cli.findings import threshold_settings
from iolens.error import OK
from iolens.fleet.tables.lake import Lake
from iolens.fleet.upkeep.recompute import recompute as recompute_lake
from iolens.progress import step

_DAY = click.DateTime(["%Y-%m-%d"])


@click.command()
@click.option("--lake", required=True, metavar="DIR", envvar="IOLENS_LAKE", help="The lake [$IOLENS_LAKE].")
@click.option("--rule", "rules", metavar="NAME", multiple=True, help="Only of this rule; repeatable.")
@click.option("--rules", "directories", metavar="DIR", multiple=True, help="Rules of the site; repeatable.")
@click.option(
    "--thresholds", "file", metavar="FILE", help="Thresholds of rules from a TOML file, a table per rule."
)
@click.option("--since", metavar="DAY", type=_DAY, help="Only jobs that started then or later (UTC).")
@click.option("--until", metavar="DAY", type=_DAY, help="Only jobs that started on this day or before.")
def recompute(  # noqa: PLR0913, PLR0917
    lake: str,
    rules: tuple[str, ...],
    directories: tuple[str, ...],
    file: str | None,
    since: datetime | None,
    until: datetime | None,
) -> int:
    """Computes findings and metrics again.

    For a new version of a rule, or a lake made with --no-rules. Without --rule: all rules, and the metrics. Column
    rule_version of the table finding has the version.
    """
    from iolens.rules.text import counted

    rows = recompute_lake(
        Lake(lake).for_writing(),
        rules=rules,
        directories=directories,
        thresholds=threshold_settings((), file),
        since=since and since.date(),
        until=until and until.date(),
        progress=lambda day: step(f"computing {day}"),
    )
    print(counted(rows, "row"))
    return OK
