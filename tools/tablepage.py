#!/usr/bin/env python3
"""Write the reference page of the tables that queries ask, from what `iolens sql --describe` prints.

usage: tablepage.py FILE.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from iolens.metrics.columns import DESCRIBED, columns_of

_HEAD = """\
# Tables

Made by `make docs` from `python/iolens/metrics/columns.py`: do not edit.

`iolens sql job.darshan "select name, bytes_read from file"` queries these tables in DuckDB's SQL; `Dataset` in Python
and `iolens fleet sql` have the same. `iolens sql --describe TABLE` prints the columns of these, of each module
([counters](counters.md)) and of iolens' own tables ([sections](extension-trailer.md)). Times of day are UTC, in every
output with `Z`; record ids are texts in JSON."""


def _entry(table: str, before: Sequence[str]) -> Iterator[str]:
    columns = columns_of(table)
    alike = next((one for one in before if columns_of(one) == columns[: len(columns_of(one))]), "")
    rest = columns[len(columns_of(alike)) :] if alike else columns
    yield f"## {table}"
    yield DESCRIBED[table] + (f" Columns as of `{alike}`{', and' if rest else '.'}" if alike else "")
    yield ""
    if rest:
        yield "| column | unit | what it is |"
        yield "|---|---|---|"
        yield from (f"| `{one.name}` | {one.unit} | {one.doc} |" for one in rest)
        yield ""


def page() -> str:
    lines = [_HEAD, ""]
    tables = list(DESCRIBED)
    for number, table in enumerate(tables):
        lines += _entry(table, tables[:number])
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
