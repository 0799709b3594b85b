"""iolens fleet coverage: which part of a machine's users, jobs and core hours has logs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import click

from iolens.cli.command import print_rows, to_json, warn
from iolens.error import OK
from iolens.fleet.coverage import GROUPS, SLACK, Coverage
from iolens.fleet.coverage import coverage as compute
from iolens.fleet.tables.lake import Lake
from iolens.shown import say

_COUNTED = ("users", "jobs", "core_hours")
_DAY = click.DateTime(["%Y-%m-%d"])


def _percent(part: float | None, whole: float | None) -> float | None:
    return 100 * (part or 0) / whole if whole else None


def _shares(row: dict[str, Any]) -> dict[str, Any]:
    """A group with its percentages behind the numbers."""
    shares = {f"percent_{name}": _percent(row[f"{name}_logged"], row[name]) for name in _COUNTED}
    return {**row, **shares}


def _cell(value: float | None, form: str = ",.0f") -> str:
    return "-" if value is None else f"{value:{form}}"


def _group_rows(found: Coverage) -> list[tuple[str, ...]]:
    rows = [(str(row["key"]) if row["key"] is not None else "-", row) for row in found.groups]
    return [
        (
            name,
            *(
                cell
                for counted in _COUNTED
                for cell in (
                    _cell(row[counted]),
                    _cell(_percent(row[f"{counted}_logged"], row[counted]), ".1f"),
                )
            ),
        )
        for name, row in [*rows, ("all", found.total)]
    ]


def _print_aligned(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Numbers to the right, also those with a mark between thousands."""
    widths = [max(len(row[n]) for row in [names, *rows]) for n in range(len(names))]
    for row in [names, *rows]:
        say("  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:]))]))


def _print_text(found: Coverage) -> None:
    _print_aligned((found.by, "users", "%", "jobs", "%", "core hours", "%"), _group_rows(found))
    for change in found.changes:
        say(f"{change['day']}  {change['text']}")
    if found.no_log:
        print("\nJobs that started under iolens, and those that left no log:")
        rows = [
            (r["state"], r["started"], r["no_log"], r["core_hours"], r["core_hours_no_log"])
            for r in found.no_log
        ]
        rows.append(("all", *(sum(row[n] for row in rows) for n in range(1, 5))))
        _print_aligned(
            ("end", "started", "no log", "%", "core hours", "%"),
            [
                (
                    *(state, _cell(started), _cell(lost), _cell(_percent(lost, started), ".1f")),
                    *(_cell(hours), _cell(_percent(hours_lost, hours), ".1f")),
                )
                for state, started, lost, hours, hours_lost in rows
            ],
        )
    if not found.observed_told:
        print(
            "Accounting does not tell which jobs ran under iolens, so only those with a log are known to have: "
            '"iolens" in the comment of a job tells it, or accounting --observed LIST.'
        )


def _warn_of(found: Coverage) -> None:
    from iolens.rules.text import agree, counted

    unknown, elsewhen = found.unmatched["unknown"], found.unmatched["elsewhen"]
    if unknown:
        warn(
            f"{counted(unknown, 'log')} {agree(unknown, 'is', 'are')} of jobs that the scheduler does not know"
        )
    if elsewhen:
        hours = found.unmatched["seconds_off"] / 3600
        warn(
            f"{counted(elsewhen, 'log')} began {hours:+.1f} h from the run of the job: was the accounting read in "
            "another time zone than it was printed in (accounting --zone)?"
        )


@click.command()
@click.option("--lake", required=True, metavar="DIR", envvar="IOLENS_LAKE", help="The lake [$IOLENS_LAKE].")
@click.option("--by", type=click.Choice(list(GROUPS)), default="day", help="A line for each of these [day].")
@click.option("--since", type=_DAY, metavar="DAY", help="Only jobs that started then or later (UTC).")
@click.option("--until", type=_DAY, metavar="DAY", help="Only jobs that started on this day or before.")
@click.option("--cluster", metavar="NAME", default="", help="Only jobs of this cluster.")
@click.option(
    "--slack",
    metavar="SECONDS",
    type=click.IntRange(0),
    default=SLACK,
    help=f"How long before or after its job a log may begin [{SLACK}].",
)
@click.option("--json", "form", flag_value="json", help="All of it as JSON.")
@click.option("--csv", "form", flag_value="csv", help="Rows as CSV.")
def coverage(  # noqa: PLR0913, PLR0917
    lake: str,
    by: str,
    since: datetime | None,
    until: datetime | None,
    cluster: str,
    slack: int,
    form: str | None,
) -> int:
    """Which part of a machine's users, jobs and core hours has logs.

    Of the jobs in the accounting (`iolens fleet accounting`): users that completed a job on the day and have a log of
    any job of that day; jobs with a log; their core hours. Then the jobs that started under iolens and left no log, by
    how they ended. Days are UTC; a job counts on the day of its start.
    """
    with Lake(lake).open() as data:
        found = compute(data, by=by, since=_day(since), until=_day(until), cluster=cluster, slack=slack)
    groups = [_shares(row) for row in found.groups]
    if form == "json":
        told = {**found.as_dict(), "groups": groups, "total": _shares(found.total) if found.total else {}}
        print(to_json({"schema": {"name": "coverage", "version": 1}, "lake": lake, **told}))
    elif form == "csv":
        names = list(groups[0]) if groups else ["key"]
        print_rows(
            [by if name == "key" else name for name in names], [list(row.values()) for row in groups], "csv"
        )
    else:
        _print_text(found)
    _warn_of(found)
    return OK


def _day(moment: datetime | None) -> date | None:
    return None if moment is None else moment.date()
