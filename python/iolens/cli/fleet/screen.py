"""iolens fleet screen: the three screens of the Hopper study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from iolens.cli.asked import days, form_options, lake_options, print_answers
from iolens.cli.engine import engine_options, open_data
from iolens.error import USAGE, IolensError

if TYPE_CHECKING:
    from iolens.fleet.saved_queries import Answer

_SCREENS = ("screen_redundant_reads", "screen_metadata", "screen_small_writes")
_LARGEST = {
    "screen_redundant_reads": ("Largest single-job redundant read volume", "bytes"),
    "screen_metadata": ("Largest single-job metadata ratio", "percent"),
    "screen_small_writes": ("Largest single-job small write count", "count"),
}


def _thresholds(given: tuple[str, ...]) -> dict[str, float]:
    from iolens.cli.findings import threshold_value
    from iolens.fleet.saved_queries import statement

    known = statement("screen")[1]
    values = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name not in known:
            raise IolensError(
                f'threshold "{text}": write NAME=NUMBER with {", ".join(known)}', exit_code=USAGE
            )
        values[name] = threshold_value(name, value)
    return values


def _limits(values: Any) -> dict[str, str]:
    from iolens.rules.text import FORMATS

    return {
        "screen_redundant_reads": f"> {FORMATS['bytes'](values['bytes'])}",
        "screen_metadata": f"meta_time / nprocs > {values['seconds']:g} s; nprocs >= {values['ranks']:g}; "
        f"metadata_ratio >= {FORMATS['percent'](values['ratio'])}",
        "screen_small_writes": f"> {FORMATS['count'](values['writes'])} small writes; 0 collective writes",
    }


def _print(summary: Answer) -> None:
    """In the form of the study's tables."""
    from iolens.fleet.saved_queries import find_query
    from iolens.rules.text import write

    limits = _limits(summary.values)
    for number, row in enumerate(summary.dicts()):
        largest, unit = _LARGEST[row["screen"]]
        lines = {
            "Threshold": limits[row["screen"]],
            "Total jobs analyzed": f"{row['jobs']:,}",
            "Jobs matching metric": f"{row['matching']:,}",
            "Unique users matching metric": f"{row['users']:,}",
            largest: "-" if row["largest"] is None else write(row["largest"], unit),
        }
        print(f"{'' if number == 0 else chr(10)}{find_query(row['screen']).title}  [{row['screen']}]")
        for label, text in lines.items():
            print(f"  {label:<42}  {text}")


@click.command()
@click.option("--jobs", "listed", is_flag=True, help="The jobs themselves, too, the largest first.")
@click.option(
    "--threshold", "given", multiple=True, metavar="NAME=NUMBER", help="bytes, ratio, seconds, ranks, writes."
)
@lake_options
@engine_options
@form_options
def screen(listed: bool, given: tuple[str, ...], form: str | None, **options: Any) -> None:
    """Jobs that read data repeatedly, spend their time in metadata, or write small pieces to shared files.

    Tables 3, 4 and 5 of the NERSC screening study: jobs analyzed, matching, users, largest.
    """
    from iolens.fleet import Lake
    from iolens.fleet.saved_queries import ask, statement

    values = _thresholds(given)
    since, until = days(options["since"], options["until"])
    with open_data(Lake(options["lake"]), options, since=since, until=until) as data:
        summary = ask(data, "screen", **values)
        jobs = []
        for name in _SCREENS if listed else ():
            known = statement(name)[1]
            jobs.append(ask(data, name, **{key: value for key, value in values.items() if key in known}))
        if form:
            print_answers([summary, *jobs], form)
            return
        _print(summary)
        if jobs:
            print()
            print_answers(jobs, None)
