"""iolens findings: what the rules find in logs."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from iolens.cli.command import Command, print_rows, to_json, warn
from iolens.error import FINDINGS, OK, PARTIAL, USAGE, IolensError
from iolens.shown import clean, say

if TYPE_CHECKING:
    from iolens.metrics import Dataset
    from iolens.rules import Catalog, Finding, Rule

COMMAND = Command(
    group="explain",
    place=20,
    about="what costs time, and what to change; with exit codes for automatic checks",
    reads_logs=True,
    shows_progress=True,
    leaves_at_once=True,
)

_FIELDS = "log rule title severity message time_lost share gain_low gain_high confidence topic aliases advice".split()


def threshold_value(key: str, text: object) -> float:
    """A threshold's value; sizes may be written as 64KiB, 1M."""
    from iolens.rules.text import size

    value = None if isinstance(text, bool) else size(str(text).strip().replace("_", ""))
    if value is None:
        raise IolensError(f'threshold {key}: "{text}" is no number', exit_code=USAGE)
    return value


def threshold_settings(given: Iterable[str], file: str | None) -> dict[str, float]:
    settings: dict[str, float] = {}
    if file:
        from iolens.rules.rule import RuleError, read_toml

        try:
            table = read_toml(Path(file).read_text(encoding="utf-8"))
        except (RuleError, UnicodeDecodeError) as error:
            raise IolensError(str(error), file, exit_code=USAGE) from error
        for rule, values in table.items():
            named = (
                {f"{rule}.{n}": v for n, v in values.items()} if isinstance(values, dict) else {rule: values}
            )
            settings |= {key: threshold_value(key, value) for key, value in named.items()}
    for one in given:
        key, equals, value = one.partition("=")
        if not equals:
            raise IolensError(f'threshold "{one}": write RULE.NAME=VALUE', exit_code=USAGE)
        settings[key] = threshold_value(key, value)
    return settings


def _chosen(catalog: Catalog, only: Iterable[str], skip: Iterable[str]) -> Catalog:
    def ids(given: Iterable[str]) -> set[str]:
        return {catalog.find(name).id for text in given for name in text.split(",") if name}

    wanted, unwanted = ids(only) or set(catalog.rules), ids(skip)
    return catalog.of(name for name in catalog.rules if name in wanted and name not in unwanted)


def _row(one: Finding, paths: tuple[str, ...]) -> list[Any]:
    low, high = one.gain or (None, None)
    values = {**vars(one), "log": paths[one.log], "gain_low": low, "gain_high": high}
    values["aliases"] = " ".join(one.aliases)
    values["advice"] = " ".join(advice.text for advice in one.advice)
    return [values[name] for name in _FIELDS]


def _answers(data: Dataset, minor: set[int]) -> dict[int, tuple[str, bool]]:
    """By log: a sentence on what the time goes into where it is not I/O; is it more than an I/O worth a look?

    minor: logs with findings of low severity, before which at least the time in I/O stands.
    """
    from iolens.rules.instead import hdf5_times, instead, is_more, is_most
    from iolens.rules.load import LOOK
    from iolens.rules.text import write

    lasted = {row["log"]: row["run_time"] for row in data.metric("headline") if row["run_time"]}
    times = {
        row["log"]: row["value"] - row["hdf5"]
        for row in data.metric("verdict_time")
        if row["log"] in lasted and row["value"] is not None
    }
    said = {
        log: (
            f"I/O takes {write(times[log] / lasted[log], 'percent')} of the run time, and no finding is of weight.",
            False,
        )
        for log in minor.intersection(times)
    }
    hdf5 = hdf5_times(data)
    for row in data.metric("instead"):
        if row["log"] not in lasted:
            continue
        run_time, spent = lasted[row["log"]], times.get(row["log"], 0.0)
        above = hdf5.get(row["log"])
        text = instead(row, run_time, above)
        if text and spent >= LOOK * run_time:
            if is_more(row, run_time, spent, above):
                said[row["log"]] = f"Something else takes more time than I/O: {text}.", True
        elif text:
            how = "time goes" if is_most(row, run_time) else "largest part of the time goes"
            said[row["log"]] = f"The {how} into something else: {text}.", False
    return said


def _print(  # noqa: PLR0913, PLR0917
    found: list[Finding], data: Dataset, form: str, verbose: bool, every: bool, rules: Mapping[str, Rule]
) -> None:
    paths = data.paths
    if form == "json":
        from iolens.schemas import stamped

        listed = [{**asdict(one), "path": paths[one.log]} for one in found]
        print(to_json(stamped("findings", {"logs": paths, "findings": listed})))
    elif form == "sarif":
        from iolens.rules.code_scanning import to_sarif

        print(to_json(to_sarif(found, data, rules)))
    elif form == "github":
        from iolens.rules.code_scanning import workflow_annotations

        for line in workflow_annotations(found, data):
            say(line)
    elif form == "csv":
        print_rows(_FIELDS, [_row(one, paths) for one in found], "csv")
    else:
        from iolens.cli.finding_text import finding_lines

        color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        width = min(shutil.get_terminal_size((100, 24)).columns, 110)
        answers = _answers(data, {one.log for one in found if one.severity == "low"})
        for number, path in enumerate(paths):
            if len(paths) > 1:
                click.secho(f"{clean(path)}\n", bold=True, color=color)
            of_log = [f for f in found if f.log == number]
            said, more = answers.get(number, ("", False))
            if not more and (verbose or any(f.severity in ("high", "medium") for f in of_log)):
                said = ""
            for line in finding_lines(of_log, width, verbose, every, said):
                click.echo(line, color=color)


@click.command()
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option(
    "-v", "--verbose", is_flag=True, help="Show all advice with code, evidence, assumptions and references."
)
@click.option("--all", "every", is_flag=True, help="Also what costs less than 1 % of the run time.")
@click.option("--json", "form", flag_value="json", help="Everything as JSON.")
@click.option("--csv", "form", flag_value="csv", help="One row per finding.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("json", "csv", "sarif", "github")),
    help="sarif: at their lines, for code scanning and editors; github: as annotations of a workflow's run.",
)
@click.option(
    "--fail-on",
    type=click.Choice(("high", "medium", "low")),
    help="Exit with 1 if there are findings of this severity or higher.",
)
@click.option("--only", multiple=True, metavar="RULE,...", help="Only these rules, by name or Drishti code.")
@click.option("--skip", multiple=True, metavar="RULE,...", help="All rules except these.")
@click.option(
    "--rules",
    "directories",
    multiple=True,
    type=click.Path(),
    envvar="IOLENS_RULES",
    metavar="DIR",
    help="Additional rules of your site (several: repeat, or set IOLENS_RULES=DIR:DIR).",
)
@click.option(
    "--threshold",
    "given",
    multiple=True,
    metavar="RULE.NAME=VALUE",
    help="Change a threshold, for example to 64KiB or 0.2.",
)
@click.option("--thresholds", "file", metavar="FILE", help="Thresholds from a TOML file, a table per rule.")
def findings(
    logs: tuple[str, ...], form: str | None, verbose: bool, every: bool, fail_on: str | None, **options: Any
) -> int:
    """What costs time in LOG and what to change, most severe first.

    `iolens explain RULE` says what a rule looks at, with its thresholds. Exit code 1: --fail-on has found something.
    """
    from iolens.metrics import Dataset
    from iolens.rules import SEVERITIES, find, load

    catalog = _chosen(load(options["directories"]), options["only"], options["skip"])
    catalog = catalog.with_thresholds(threshold_settings(options["given"], options["file"]))
    problems: list[str] = []
    with Dataset(logs) as data:
        found = find(data, catalog=catalog, problems=problems)
        _print(found, data, form or "text", verbose, every or verbose, catalog.rules)
        for line in [*problems, *(str(p) for p in data.problems)]:
            warn(line)
        partial = bool(data.problems)
    if fail_on and any(SEVERITIES.index(f.severity) <= SEVERITIES.index(fail_on) for f in found):
        return FINDINGS
    return PARTIAL if partial else OK
