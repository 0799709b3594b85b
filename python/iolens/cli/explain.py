"""iolens explain: what a metric is."""

from __future__ import annotations

from dataclasses import asdict

import click

from iolens.cli.command import print_rows, to_json
from iolens.metrics import find_metric, metrics


@click.command()
@click.argument("metric", required=False)
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")
def explain(metric: str | None, as_json: bool) -> None:
    """What METRIC is: definition, unit, source, caveats, and its SQL. Without METRIC: all there are."""
    if metric is None:
        columns = ("name", "unit", "title")
        rows = [[getattr(m, c) for c in columns] for m in metrics().values()]
        print_rows(columns, rows, "json" if as_json else "table")
        return
    found = find_metric(metric)
    if as_json:
        print(to_json(asdict(found)))
        return
    print(found.title)
    for key, value in asdict(found).items():
        if value and key not in ("name", "title", "sql", "layout"):
            print(f"  {key:<11} {value}")
    print(f"\n{found.sql}")
