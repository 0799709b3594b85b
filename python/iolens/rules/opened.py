"""The lines of code that a finding is about: those that make its calls, else those that opened its files."""

from __future__ import annotations

from collections.abc import Iterable

from iolens.metrics import Dataset
from iolens.metrics.views import LISTS
from iolens.rules.finding import Evidence
from iolens.rules.rule import Rule

__all__ = ["where_called"]

_ROWS = 10
_KINDS = ("read", "write", "meta")
_OF_WRITES = ("commit", "flush", "sync")
"""In the name of a rule: the time is that of writes."""


def where_called(data: Dataset, log: int, rule: Rule, evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Lines that cost most of what the finding is about; empty if no log tells.

    Of Python code the lines that make the calls, else the calls that opened the files that the evidence names. The rule
    says which kinds of calls are meant, and which interfaces: a file that the program opened through stdio, too, is
    meant as it opened it through POSIX.
    """
    evidence = tuple(evidence)
    if not evidence:
        return ()
    meant = [one for one in rule.needs if one in LISTS["libc_interfaces"]] or LISTS["libc_interfaces"]
    called = _where_called(data, log, _kinds(rule), meant, evidence)
    return called or _where_opened(data, log, meant, evidence)


def _kinds(rule: Rule) -> list[str]:
    """The kinds of calls that a rule is about."""
    found = [kind for kind in ("read", "write") if kind in rule.id]
    if any(word in rule.id for word in _OF_WRITES):
        found = [*found, "write"]
    if rule.topic == "metadata" and not found:
        found = ["meta"]
    return found or list(_KINDS)


def _where_called(
    data: Dataset, log: int, kinds: Iterable[str], meant: Iterable[str], evidence: Iterable[Evidence]
) -> tuple[Evidence, ...]:
    names, directories = list(_weights(evidence)), _texts(evidence, "directory")
    if (
        not (names or directories)
        or not data.query(f"SELECT 1 FROM lines WHERE log = {log} LIMIT 1").fetchall()
    ):
        return ()
    column, listed = ("name", names) if names else ("directory", directories)
    quoted = [", ".join(f"'{one}'" for one in texts) for texts in (kinds, meant)]
    rows = data.query(
        f"""
        SELECT place, sum(time) AS time, sum(calls)::BIGINT AS calls, sum(bytes)::BIGINT AS bytes, source,
            any_value(line) AS line
        FROM line JOIN name USING (log, id)
        WHERE log = {log} AND {column} IN ({", ".join("?" * len(listed))}) AND kind IN ({quoted[0]})
            AND interface IN ({quoted[1]}) AND basis IN ('counted', 'estimated')
        GROUP BY place, source ORDER BY time DESC, calls DESC, place, source LIMIT {_ROWS}
        """,
        listed,
    ).fetchall()
    columns = ("called_from", "time", "calls", "bytes", "source", "line")
    units = ("", "seconds", "count", "bytes", "", "")
    return (Evidence("Lines that make these calls", columns, units, tuple(rows)),) if rows else ()


def _where_opened(
    data: Dataset, log: int, meant: Iterable[str], evidence: Iterable[Evidence]
) -> tuple[Evidence, ...]:
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


def _texts(evidence: Iterable[Evidence], column: str) -> list[str]:
    """What stands in that column."""
    found = (row[one.columns.index(column)] for one in evidence if column in one.columns for row in one.rows)
    return sorted({text for text in found if isinstance(text, str)})


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
