#!/usr/bin/env python3
"""Write the reference page of all named queries of a lake from the headers of their SQL files.

usage: querypage.py FILE.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from iolens.fleet.saved_queries import Query, queries

_HEAD = """\
# Named queries

Made by `make docs` from `python/iolens/fleet/queries/*.sql`: do not edit.

A named query is SQL over the tables of a [lake](../guide/fleet.md). The commands `iolens fleet top`, `job`, `history`,
`findings` and `screen` print them; in Python `iolens.fleet.saved_queries.ask(data, "top_users", by="bytes")` gives
their rows. Queries can use others: `fleet.jobs` in a file stands for the query `jobs`, whose parameters it takes over.
An empty text leaves a parameter out."""


def _entry(query: Query) -> Iterator[str]:
    yield f"## {query.name}"
    yield f"{query.title}: {query.definition}"
    yield ""
    if query.parameters:
        yield "| parameter | without it | what it is |"
        yield "|---|---|---|"
        for one in query.parameters:
            default = f"{one.default:.15g}" if isinstance(one.default, float) else one.default
            yield f"| `{one.name}` | {default} | {one.doc} |"
        yield ""
    if query.columns:
        yield "| column | unit | what it is |"
        yield "|---|---|---|"
        yield from (f"| `{one.name}` | {one.unit} | {one.doc} |" for one in query.columns)
        yield ""


def page() -> str:
    lines = [_HEAD, ""]
    for query in queries().values():
        lines += _entry(query)
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
