"""iolens explain: what a metric is."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from dataclasses import asdict

import click

from iolens.cli.command import Command, to_json
from iolens.error import USAGE, IolensError
from iolens.metrics import TOPICS, Metric, find_metric, metrics
from iolens.schemas import stamped

COMMAND = Command(
    group="explain",
    place=50,
    about="what a metric or a rule is: definition, unit, source, caveats",
    leaves_at_once=True,
)

_LABELS = ("definition", "unit", "direction", "needs", "caveats", "source")


def _paragraph(label: str, text: str, indent: int, width: int) -> str:
    first = f"  {label:<{indent - 4}}  "
    return textwrap.fill(
        text,
        max(width, indent + 20),
        initial_indent=first,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
    )


def _listed(width: int) -> Iterator[str]:
    indent = max(len(name) for name in metrics()) + 4
    for topic in TOPICS:
        here = [m for m in metrics().values() if m.topic == topic]
        if here:
            yield topic
            yield from (_paragraph(m.name, f"{m.title} [{m.unit}]", indent, width) for m in here)
            yield ""
    yield "iolens explain METRIC says more; iolens sql LOG 'select * from metric.NAME' gives its rows."


def _explained(metric: Metric, width: int) -> Iterator[str]:
    yield f"{metric.name}: {metric.title}"
    values = asdict(metric)
    for label in _LABELS:
        if values[label]:
            text = f"{values[label]} is better" if label == "direction" else values[label]
            yield _paragraph(label, text, 14, width)
    yield f"\n{metric.sql}"


def _rule(name: str, as_json: bool) -> bool:
    """Prints the rule of this name, or for this code; False if there is none."""
    from iolens.cli.finding_text import rule_lines
    from iolens.rules import load

    found = next((r for r in load().rules.values() if name == r.id or name.upper() in r.aliases), None)
    if found:
        width = min(shutil.get_terminal_size((100, 24)).columns, 110)
        print(to_json(stamped("rule", asdict(found))) if as_json else "\n".join(rule_lines(found, width)))
    return found is not None


@click.command()
@click.argument("metric", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def explain(metric: str | None, as_json: bool) -> None:
    """What METRIC is: definition, unit, source, caveats, SQL. Without METRIC: all metrics by topic.

    METRIC may also be a rule, or Drishti's code for it: what it looks at, thresholds, advice.
    """
    if metric and metric not in metrics() and _rule(metric, as_json):
        return
    if metric and metric not in metrics():
        from iolens.log.unknown import unknown_text
        from iolens.rules import load

        raise IolensError(
            unknown_text(
                "metric or rule", metric, [*metrics(), *load().rules], "`iolens explain` lists the metrics"
            ),
            exit_code=USAGE,
        )
    if as_json:
        if metric:
            print(to_json(stamped("metric", asdict(find_metric(metric)))))
        else:
            print(to_json(stamped("metrics", {"metrics": [asdict(m) for m in metrics().values()]})))
        return
    width = min(shutil.get_terminal_size((100, 24)).columns, 110)
    print("\n".join(_explained(find_metric(metric), width) if metric else _listed(width)))
