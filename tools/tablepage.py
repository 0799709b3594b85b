#!/usr/bin/env python3
"""Write the reference page of the tables that queries ask, from what `iolens sql --describe` prints.

usage: tablepage.py FILE.md
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from iolens.metrics.columns import DESCRIBED, ColumnText, columns_of

_HEAD = """\
# Tables

Made by `make docs` from `python/iolens/metrics/columns.py`: do not edit.

`iolens sql job.darshan "select name, bytes_read from file"` queries these tables in DuckDB's SQL; `Dataset` in Python
and `iolens fleet sql` have the same. `iolens sql --describe TABLE` prints the columns of these, of each module
([counters](counters.md)) and of iolens' own tables ([sections](extension-trailer.md)). Times of day are UTC, in every
output with `Z`; record ids are texts in JSON."""


SEVERAL = "Columns of several tables"
# From so many tables on, a column stands once, at the end of the page.
_ALIKE = 3


def _rows(columns: Sequence[ColumnText]) -> Iterator[str]:
    yield "| column | unit | what it is |"
    yield "|---|---|---|"
    yield from (f"| `{one.name}` | {one.unit} | {one.doc} |" for one in columns)
    yield ""


def _alike(table: str, before: Sequence[str]) -> tuple[str, list[ColumnText]]:
    """What is said of the columns that an earlier table has too, and the rest."""
    columns = columns_of(table)
    for one in before:
        earlier = columns_of(one)
        if earlier == columns[: len(earlier)]:
            rest = columns[len(earlier) :]
            return f" Columns as of `{one}`{', and' if rest else '.'}", rest
        if columns == earlier[: len(columns)]:
            return f" Columns as of `{one}`, up to `{columns[-1].name}`.", []
    return "", columns


def _entry(table: str, before: Sequence[str], several: Sequence[ColumnText]) -> Iterator[str]:
    said, rest = _alike(table, before)
    yield f"## {table}"
    yield DESCRIBED[table] + said
    yield ""
    own = [one for one in rest if one not in several]
    if own:
        yield from _rows(own)
    if shared := [f"`{one.name}`" for one in rest if one in several]:
        yield f"As in [several tables](#columns-of-several-tables): {', '.join(shared)}."
        yield ""


def page() -> str:
    lines = [_HEAD, ""]
    tables = list(DESCRIBED)
    seen = Counter(one for number, table in enumerate(tables) for one in _alike(table, tables[:number])[1])
    several = [one for one, number in seen.items() if number >= _ALIKE]
    for number, table in enumerate(tables):
        lines += _entry(table, tables[:number], several)
    return "\n".join([*lines, f"## {SEVERAL}", "", *_rows(several)])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
