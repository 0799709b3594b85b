"""Named queries: what is asked of a lake again and again, an SQL file each in ``queries/``.

The header of a file says what it is, with its parameters and columns. ``fleet.NAME`` in a query stands for another one,
which becomes part of it: what is sent to the database is one statement of plain SQL.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

from iolens.error import USAGE, IolensError
from iolens.log.unknown import unknown_text
from iolens.metrics.literal import literal

__all__ = [
    "Answer",
    "Asked",
    "Parameter",
    "Query",
    "ResultColumn",
    "ask",
    "find_query",
    "parse",
    "queries",
    "statement",
]

_KEY = re.compile(r"-- (\w+)(?: (\w+) \(([^)]*)\))?: (.*)")
_GIVEN = re.compile(r"\$(\w+)")
_USED = re.compile(r"\bfleet\.(\w+)")


class Rows(Protocol):
    """What a query gives."""

    def fetchall(self) -> list[Any]: ...


class Asked(Protocol):
    """What takes queries in DuckDB's SQL: a dataset of logs, a lake by DuckDB, a lake by Spark."""

    def query(self, statement: str, parameters: Mapping[str, Any] | None = None) -> Rows: ...


@dataclass(frozen=True)
class Parameter:
    """``$name`` in a query. The default's type, a number or text, is the parameter's."""

    name: str
    default: float | str
    doc: str

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that there are, the list at the end of ``doc`` with the default in it; () if any is taken."""
        listed = tuple(self.doc.rpartition(": ")[2].split(", "))
        return listed if len(listed) > 1 and self.default in listed else ()


@dataclass(frozen=True)
class ResultColumn:
    """A column of the result. unit: as in evidence of findings (``bytes``, ``seconds``, ``percent``, ...) or empty."""

    name: str
    unit: str
    doc: str


@dataclass(frozen=True)
class Query:
    """What a file says."""

    name: str
    title: str
    definition: str
    parameters: tuple[Parameter, ...]
    columns: tuple[ResultColumn, ...]
    sql: str

    def in_words(self, values: Mapping[str, float | str]) -> str:
        """The definition as a sentence, with the values of a question in it."""

        def value(found: re.Match[str]) -> str:
            given = values.get(found[1], found[0])
            return given if isinstance(given, str) else f"{given:,.6g}" if given < 1e6 else f"{given:,.0f}"

        text = _GIVEN.sub(value, self.definition)
        return text[:1].upper() + text[1:]


@dataclass(frozen=True)
class Answer:
    """Rows of a query, with what was asked."""

    query: Query
    values: Mapping[str, float | str]
    rows: list[tuple[Any, ...]]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.query.columns]

    def dicts(self) -> list[dict[str, Any]]:
        """A dict per row."""
        return [dict(zip(self.names, row)) for row in self.rows]

    def plain(self) -> dict[str, Any]:
        """As it stands in JSON."""
        return {
            "query": self.query.name,
            "title": self.query.title,
            "definition": self.query.definition,
            "parameters": dict(self.values),
            "columns": [{"name": c.name, "unit": c.unit, "description": c.doc} for c in self.query.columns],
            "rows": self.dicts(),
        }


def _default(text: str) -> float | str:
    return float(text) if re.fullmatch(r"-?\d[\d_]*(\.\d+)?", text) else text


def parse(name: str, text: str) -> Query:
    """The query of a file: lines ``-- key: words`` first, ``--   words`` goes on. Raises ValueError."""
    lines = text.splitlines()
    end = next((n for n, line in enumerate(lines) if not line.startswith("--")), len(lines))
    entries: list[tuple[str, str, str, str]] = []
    for line in lines[:end]:
        found = _KEY.match(line)
        if found and found[1] in ("title", "definition", "parameter", "column"):
            entries.append((found[1], found[2] or "", found[3] or "", found[4].strip()))
        elif entries:
            entries[-1] = (*entries[-1][:3], f"{entries[-1][3]} {line[2:].strip()}")
        else:
            raise ValueError(f"{name}: not understood: {line}")
    told = {key: words for key, _, _, words in entries}
    if not told.get("title") or not told.get("definition"):
        raise ValueError(f"{name}: header lacks title or definition")
    return Query(
        name,
        told["title"],
        told["definition"],
        tuple(Parameter(n, _default(more), doc) for key, n, more, doc in entries if key == "parameter"),
        tuple(ResultColumn(n, more, doc) for key, n, more, doc in entries if key == "column"),
        "\n".join(lines[end:]).strip().rstrip(";"),
    )


@cache
def queries() -> dict[str, Query]:
    """All named queries, in alphabetical order."""
    folder = files("iolens.fleet").joinpath("queries")
    found = sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    return {f.name[:-4]: parse(f.name[:-4], f.read_text(encoding="utf-8")) for f in found}


def find_query(name: str) -> Query:
    """The query of this name. Raises IolensError, naming near ones."""
    if name not in queries():
        raise IolensError(
            unknown_text("named query", name, queries(), "docs/reference/queries.md"), exit_code=USAGE
        )
    return queries()[name]


def statement(name: str, made: Mapping[str, str] | None = None) -> tuple[str, dict[str, float | str]]:
    """The SQL of a query with those that it uses in it, and the defaults of all parameters.

    made: queries whose rows are kept in tables, and the SQL that stands for each of them.
    """
    query = find_query(name)
    defaults = {one.name: one.default for one in query.parameters}

    def used(found: re.Match[str]) -> str:
        if made and found[1] in made:
            return f"({made[found[1]]})"
        sql, more = statement(found[1], made)
        for parameter, value in more.items():
            defaults.setdefault(parameter, value)
        return f"({sql})"

    return _USED.sub(used, query.sql), defaults


def ask(data: Asked, name: str, **given: float | str) -> Answer:
    """The rows of a named query. Raises IolensError for a parameter that it has not."""
    sql, values = statement(name)
    for parameter, value in given.items():
        if parameter not in values:
            raise IolensError(
                unknown_text("parameter", parameter, values, f"{name} has others"), exit_code=USAGE
            )
        values[parameter] = value
    # As text, so that what a value makes needless is not read.
    rows = data.query(_GIVEN.sub(lambda found: literal(values[found[1]]), sql)).fetchall()
    return Answer(find_query(name), values, rows)
