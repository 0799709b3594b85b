#!/usr/bin/env python3
"""Write the reference page of all named queries of a lake from the headers of their SQL files.

usage: querypage.py FILE.md
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Union

from iolens.fleet.saved_queries import Parameter, ResultColumn, queries

_HEAD = """\
# Named queries

Made by `make docs` from `python/iolens/fleet/queries/*.sql`: do not edit.

A named query is SQL over the tables of a [lake](../guide/fleet.md). The commands `iolens fleet top`, `job`, `history`,
`findings` and `screen` print them; in Python `iolens.fleet.saved_queries.ask(data, "top_users", by="bytes")` gives
their rows. Queries can use others: `fleet.jobs` in a file stands for the query `jobs`, whose parameters it takes over.

A parameter has its default (`rows=20`); an empty text leaves it out. Columns stand in their order, with their units.
What means the same in several queries stands [at the end](#in-several-queries)."""

_COMMON = "## In several queries"

Entry = Union[Parameter, ResultColumn]


def _said(one: Entry) -> str:
    if isinstance(one, ResultColumn):
        return f"`{one.name}`{f' ({one.unit})' if one.unit else ''}"
    default = f"{one.default:.15g}" if isinstance(one.default, float) else one.default
    return f"`{one.name}{f'={default}' if default else ''}`"


def _common(every: Iterable[Entry]) -> dict[str, str]:
    """By name, what most of those say that say it more than once."""
    common: dict[str, str] = {}
    for (name, doc), number in Counter((one.name, one.doc) for one in every).most_common():
        if number > 1:
            common.setdefault(name, doc)
    return common


def _listed(what: str, every: Sequence[Entry], common: Mapping[str, str]) -> Iterator[str]:
    """Those that are common in one line, as far as they follow each other."""
    if every:
        yield from (f"{what}:", "")
        for is_common, group in groupby(every, key=lambda one: common.get(one.name) == one.doc):
            if is_common:
                yield f"* {', '.join(map(_said, group))}"
            else:
                yield from (f"* {_said(one)}: {one.doc}" for one in group)
        yield ""


def _table(what: str, common: Mapping[str, str]) -> Iterator[str]:
    yield from ("", f"| {what} | what it is |", "|---|---|")
    yield from (f"| `{name}` | {doc} |" for name, doc in sorted(common.items()))


def page() -> str:
    asked = queries().values()
    parameters = _common(one for query in asked for one in query.parameters)
    columns = _common(one for query in asked for one in query.columns)
    lines = [_HEAD, ""]
    for query in asked:
        lines += [f"## {query.name}", f"{query.title}: {query.definition}", ""]
        lines += _listed("Parameters", query.parameters, parameters)
        lines += _listed("Columns", query.columns, columns)
    lines += [_COMMON, *_table("parameter", parameters), *_table("column", columns)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
