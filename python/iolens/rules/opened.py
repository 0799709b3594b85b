"""Where the files of a finding were opened: what to look at in the program."""

from __future__ import annotations

from collections.abc import Iterable

from iolens.metrics import Dataset
from iolens.metrics.views import LISTS
from iolens.rules.finding import Evidence

__all__ = ["where_opened"]

_ROWS = 10


def where_opened(
    data: Dataset, log: int, needs: Iterable[str], evidence: Iterable[Evidence]
) -> tuple[Evidence, ...]:
    """Calls that opened the files that the evidence names, first what the finding is about most; empty if no log tells.

    needs: the interfaces that the finding is about: a file that the program opened through stdio, too, is meant as
    it opened it through POSIX.
    """
    meant = [one for one in needs if one in LISTS["libc_interfaces"]] or LISTS["libc_interfaces"]
    weights = _weights(evidence)
    if not weights or not data.query("SELECT 1 FROM sites LIMIT 1").fetchall():
        return ()
    listed = sorted(weights)
    marks, quoted = ", ".join("?" * len(listed)), ", ".join(f"'{one}'" for one in meant)
    opened: dict[str, dict[int, str]] = {}
    for place, number, name in data.query(
        f"""
        SELECT DISTINCT place, id, name FROM file_site JOIN name_of USING (log, id)
        WHERE log = {log} AND name IN ({marks}) AND (interface NOT IN libc_interfaces() OR interface IN ({quoted}))
        """,
        listed,
    ).fetchall():
        opened.setdefault(place, {})[number] = name
    ranked = sorted(opened, key=lambda place: (-sum(weights[name] for name in opened[place].values()), place))
    rows = tuple(
        (place, len(names), max(names.values(), key=lambda name: (weights[name], name)))
        for place, names in ((place, opened[place]) for place in ranked[:_ROWS])
    )
    columns, units = ("opened_by", "files", "example"), ("", "count", "")
    return (Evidence("Code that opens these files", columns, units, rows),) if rows else ()


def _weights(evidence: Iterable[Evidence]) -> dict[str, float]:
    """How much a finding is about each file: the seconds of its rows, or their counts if they have no seconds."""
    found: dict[str, float] = {}
    for one in evidence:
        if "name" not in one.columns:
            continue
        name = one.columns.index("name")
        units = ("seconds", "count", "bytes")
        of = next((one.units.index(unit) for unit in units if unit in one.units), None)
        for row in one.rows:
            if isinstance(row[name], str):
                value = row[of] if of is not None else None
                found[row[name]] = found.get(row[name], 0.0) + float(value or 0)
    return found
