"""iolens explain: what a metric is."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from dataclasses import asdict

import click

from iolens.cli.command import to_json
from iolens.metrics import TOPICS, Metric, find_metric, metrics

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
    yield "iolens explain METRIC tells more; iolens sql LOG 'select * from metric.NAME' gives its rows."


def _explained(metric: Metric, width: int) -> Iterator[str]:
    yield f"{metric.name}: {metric.title}"
    values = asdict(metric)
    for label in _LABELS:
        if values[label]:
            text = f"{values[label]} is better" if label == "direction" else values[label]
            yield _paragraph(label, text, 14, width)
    yield f"\n{metric.sql}"


@click.command()
@click.argument("metric", required=False)
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")
def explain(metric: str | None, as_json: bool) -> None:
    """What METRIC is: definition, unit, source, caveats, and its SQL. Without METRIC: all there are, by topic."""
    if as_json:
        chosen = [find_metric(metric)] if metric else list(metrics().values())
        told = [asdict(m) for m in chosen]
        print(to_json(told[0] if metric else told))
        return
    width = min(shutil.get_terminal_size((100, 24)).columns, 110)
    print("\n".join(_explained(find_metric(metric), width) if metric else _listed(width)))
