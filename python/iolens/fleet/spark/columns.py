"""The columns that a query has, so that DuckDB's COLUMNS(...) can be written out: Spark has no such thing."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from iolens.metrics.engine import connect

__all__ = ["expand_columns"]


def _ctes(node: exp.Expr) -> dict[str, exp.Expr]:
    """The queries that WITH has named where this one stands; the nearest of a name."""
    found: dict[str, exp.Expr] = {}
    at: exp.Expr | None = node
    while at is not None:
        with_ = at.args.get("with_")
        for cte in with_.expressions if with_ else ():
            found.setdefault(cte.alias_or_name.lower(), cte.this)
        at = at.parent
    return found


def _outputs(query: exp.Expr, columns_of: Callable[[str], list[str]]) -> list[str]:
    """Names of the columns of a query, in order."""
    while isinstance(query, (exp.Subquery, exp.SetOperation)):
        query = query.this
    names: list[str] = []
    for projection in query.expressions:
        if isinstance(projection, exp.Star):
            left_out = {e.name.lower() for e in projection.args.get("except_") or ()}
            names += [
                n for n in _inputs(query, "", columns_of) if n.lower() not in left_out and n not in names
            ]
        elif isinstance(projection, exp.Column) and isinstance(projection.this, exp.Star):
            names += _inputs(query, projection.table, columns_of)
        else:
            names.append(projection.alias_or_name)
    return names


def _inputs(select: exp.Expr, of: str, columns_of: Callable[[str], list[str]]) -> list[str]:
    """Names of the columns of what a SELECT reads: of one of its tables, or ("") of all."""
    joins = [join.this for join in select.args.get("joins") or ()]
    names: list[str] = []
    for source in (select.args["from_"].this, *joins):
        if of and source.alias_or_name.lower() != of.lower():
            continue
        if isinstance(source, exp.Table):
            own = _ctes(select).get(source.name.lower())
            names += columns_of(source.name) if own is None else _outputs(own, columns_of)
        else:
            names += _outputs(source, columns_of)
    return list(dict.fromkeys(names))


def _meant(columns: exp.Columns, names: list[str]) -> list[str]:
    """Those that COLUMNS of a list, a lambda or a regular expression takes. DuckDB says what its functions mean."""
    chosen = columns.this
    if isinstance(chosen, exp.Literal) and chosen.is_string:
        return [name for name in names if re.search(chosen.name, name)]
    if isinstance(chosen, exp.Array):
        return [literal.name for literal in chosen.expressions]
    if not isinstance(chosen, exp.Lambda):
        raise ValueError(f"COLUMNS of {chosen.sql('duckdb')}")
    parameter = chosen.expressions[0].name

    def asked(name: str) -> str:
        def named(node: exp.Expr) -> exp.Expr:
            return (
                exp.Literal.string(name)
                if isinstance(node, exp.Identifier) and node.name == parameter
                else node
            )

        return str(chosen.this.copy().transform(named).sql("duckdb"))

    answers = connect().execute(f"SELECT {', '.join(asked(name) for name in names)}").fetchone()
    return [name for name, answer in zip(names, answers or ()) if answer]


def expand_columns(tree: exp.Expr, columns_of: Callable[[str], list[str]]) -> None:
    """``sum(COLUMNS(...))`` becomes a sum per column, with the column's name; the innermost query first."""
    selects = [s for s in tree.find_all(exp.Select) if any(p.find(exp.Columns) for p in s.expressions)]
    for select in sorted(selects, key=lambda s: -s.depth):
        names = _inputs(select, "", columns_of)
        projections: list[exp.Expr] = []
        for projection in select.expressions:
            columns = projection.find(exp.Columns)
            if columns is None:
                projections.append(projection)
                continue
            for name in _meant(columns, names):
                copy = projection.copy()
                copy.find(exp.Columns).replace(exp.column(name))
                projections.append(exp.alias_(copy, name))
        select.set("expressions", projections)
