"""iolens fleet history: compares the runs of an application."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from iolens.cli.asked import days, form_options, lake_options, print_answers
from iolens.cli.engine import engine_options, open_data
from iolens.cli.usage import FiniteRange
from iolens.error import USAGE, IolensError
from iolens.shown import say

if TYPE_CHECKING:
    from iolens.fleet.saved_queries import Answer

_BARS = "▁▂▃▄▅▆▇█"
_MEASURES = (("run_time", "seconds"), ("io_time", "seconds"), ("rate", "rate"), ("metadata_time", "seconds"))
_COLORS = ("blue", "green", "yellow", "red")
_SHOWN = 60


def _bars(values: Sequence[float | None]) -> str:
    """A bar per value, from the least to the most; a blank for what is unknown."""
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    width = (high - low) or 1.0
    return "".join(" " if v is None else _BARS[min(7, int(8 * (v - low) / width))] for v in values)


def _quarter(place: float | None) -> str:
    if place is None:
        return "-"
    number = min(3, int(4 * place))
    return click.style(f"quarter {number + 1} of 4", fg=_COLORS[number])


def _line(name: str, unit: str, values: Sequence[float | None], place: float | None) -> str:
    from iolens.rules.text import write

    last = values[-1]
    shown = "-" if last is None else write(last, unit)
    return (
        f"  {name:<24} {_bars(values[-_SHOWN:]):<{min(len(values), _SHOWN)}}  {shown:>12}  {_quarter(place)}"
    )


def _print(runs: Answer, drift: Answer, states: Answer | None, number: int | None) -> None:
    """Small multiples: a line of bars for each measure up to the job, and the job's place among its peers."""
    from iolens.rules.text import counted

    rows = runs.dicts()
    at = next(
        (n for n, row in enumerate(rows) if number in (None, row["job_id"]) and n == len(rows) - 1), None
    )
    if number is not None:
        at = max(n for n, row in enumerate(rows) if row["job_id"] == number)
    job = rows[at if at is not None else -1]
    alike = [row for row in rows if (row["user"], row["nprocs"]) == (job["user"], job["nprocs"])]
    until = [
        row for row in alike if row["start"] is None or job["start"] is None or row["start"] <= job["start"]
    ]
    until = [row for row in until if row is not job] + [job]
    start = f"{job['start']:%Y-%m-%d %H:%M} UTC" if job["start"] else "start unknown"
    say(
        f"job {job['job_id']} of {job['user']}, {start}, {counted(job['nprocs'], 'process')}, "
        f"compared with {counted(len(alike) - 1, 'other run')}"
    )
    for name, unit in _MEASURES:
        say(_line(name, unit, [row[name] for row in until], job[f"{name}_place"]))
    for name in sorted({row["series"] for row in states.dicts()}) if states else ():
        by_log = {row["log"]: row for row in states.dicts() if row["series"] == name} if states else {}
        values = [by_log[row["log"]]["value"] if row["log"] in by_log else None for row in until]
        place = by_log[job["log"]]["place"] if job["log"] in by_log else None
        say(_line(name, "", values, place))
    if drift.rows:
        say()
        print_answers([drift], None)


@click.command()
@click.argument("application", metavar="APP")
@click.option("--job", "number", type=int, metavar="ID", help="The job to compare [the last one].")
@click.option("--user", default="", metavar="NAME", help="Only jobs of this user.")
@click.option("--cluster", default="", metavar="NAME", help="Only jobs of this cluster.")
@click.option(
    "--series",
    multiple=True,
    metavar="FILE",
    help="Numbers of the servers by time: CSV, or Prometheus' answer to a range query; repeatable.",
)
@click.option(
    "--recent",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    metavar="N",
    help="The last N runs may have drifted.",
)
@click.option(
    "--factor",
    type=FiniteRange(1),
    default=1.2,
    show_default=True,
    metavar="X",
    help="How many times the earlier median is a drift.",
)
@lake_options
@engine_options
@form_options
def history(
    application: str, number: int | None, series: tuple[str, ...], form: str | None, **options: Any
) -> None:
    """The runs of the application APP: how much they vary, whether they drift, and how a job compares with its peers.

    Peers are runs of the same user with as many processes. --series adds the state of the file system in the hours of
    each run, as UMAMI draws it.
    """
    from iolens.fleet import Lake
    from iolens.fleet.saved_queries import ask
    from iolens.fleet.series import load_series

    whose = {"application": application, "user": options["user"], "cluster": options["cluster"]}
    since, until = days(options["since"], options["until"])
    with open_data(Lake(options["lake"]), options, since=since, until=until) as data:
        runs = ask(data, "history", **whose)
        if not runs.rows or (number is not None and number not in [row["job_id"] for row in runs.dicts()]):
            what = f"no run of {application}" if not runs.rows else f"no job {number} of {application}"
            raise IolensError(f"{what} in the lake", options["lake"], exit_code=USAGE)
        drift = ask(data, "drift", recent=options["recent"], factor=options["factor"], **whose)
        states = None
        if series:
            load_series(data, series)
            states = ask(data, "series_at", **whose)
        if form:
            print_answers([runs, drift, *([states] if states else [])], form)
        else:
            _print(runs, drift, states, number)
