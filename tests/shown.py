"""What `iolens show` prints, as data."""

from __future__ import annotations

from collections import defaultdict

Row = dict[str, str]


def records(text: str) -> dict[tuple[str, str, int], Row]:
    """Counters by (module, file name, rank)."""
    found: dict[tuple[str, str, int], Row] = defaultdict(dict)
    for line in text.splitlines():
        if line and not line.startswith("#"):
            module, rank, _, counter, value, name = line.split("\t")[:6]
            found[module, name, int(rank)][counter] = value
    return dict(found)


def sections(text: str) -> dict[str, list[Row]]:
    """Tables of the extension trailer: a line with the names of the fields, then the rows."""
    rows: dict[str, list[Row]] = defaultdict(list)
    fields: dict[str, list[str]] = {}
    for line in text.splitlines():
        start, *cells = line.split("\t")
        if not start.startswith("# ["):
            continue
        name = start[3:-1]
        if name in fields:
            rows[name].append(dict(zip(fields[name], cells)))
        else:
            fields[name] = [cell.split(" (")[0] for cell in cells]
    return dict(rows)
