"""Queries in DuckDB's dialect as Spark runs them: what sqlglot does, and the rewrites that it lacks (``rewrites``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Optional, Union

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from iolens.error import USAGE, IolensError
from iolens.fleet.spark.columns import expand_columns
from iolens.fleet.spark.rewrites import REWRITES

__all__ = ["spark_name", "tables_of", "to_spark"]

ColumnsOf = Callable[[str], list[str]]
"""Name of a table or view, as queries name it -> its columns, in order."""

Parameters = Optional[Union[Mapping[str, Any], Sequence[Any]]]

# Functions of Spark that run code or read files.
_REACH_OUT = {"java_method", "reflect", "try_reflect", "read_files", "input_file_name"}

_NOT_CARRIED = {
    exp.With: ("recursive", "a recursive query"),
}


def spark_name(name: str) -> str:
    """What a table or view of the data set is called in Spark: a temporary view has no schema."""
    return name.lower().replace(".", "__")


def _parse(query: str) -> exp.Expr:
    try:
        return parse_one(query, read="duckdb")
    except SqlglotError as error:
        first = re.sub(r"\x1b\[[\d;]*m", "", str(error)).splitlines()[0]
        raise IolensError(f"no valid SQL: {first}", exit_code=USAGE) from error


def _named(tree: exp.Expr) -> Iterable[exp.Table]:
    """The tables of a query that it does not define itself."""
    own = {cte.alias_or_name.lower() for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if table.name and (table.db or table.name.lower() not in own or _is_own_source(table)):
            yield table


def _is_own_source(table: exp.Table) -> bool:
    """``WITH heat AS (SELECT * FROM heat)``: within its own definition the name is the table's."""
    cte = table.find_ancestor(exp.CTE)
    if cte is None or cte.alias_or_name.lower() != table.name.lower():
        return False
    with_ = cte.parent
    assert isinstance(with_, exp.With)
    before = [c.alias_or_name.lower() for c in with_.expressions[: with_.expressions.index(cte)]]
    return table.name.lower() not in before


def _full(table: exp.Table) -> str:
    return f"{table.db}.{table.name}".lower() if table.db else table.name.lower()


def tables_of(query: str) -> list[str]:
    """The tables and views that a query reads, without those that it defines itself: "posix", "metric.headline"."""
    return list(dict.fromkeys(_full(table) for table in _named(_parse(query))))


def _given(tree: exp.Expr, parameters: Mapping[str, Any] | Sequence[Any]) -> exp.Expr:
    """The query with the values of its parameters."""
    values = parameters if isinstance(parameters, Mapping) else {}
    listed = iter([] if isinstance(parameters, Mapping) else parameters)

    def value(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, (exp.Placeholder, exp.Parameter)):
            return node
        name = "" if node.name == "?" else node.name
        if name and name not in values:
            raise IolensError(f"no value is given for ${name}", exit_code=USAGE)
        try:
            return exp.convert(values[name] if name else next(listed))
        except StopIteration:
            raise IolensError("fewer values are given than the query has ?", exit_code=USAGE) from None

    return tree.transform(value)


def _refuse(tree: exp.Expr) -> None:
    if not isinstance(tree, exp.Query):
        raise IolensError("only queries (SELECT) are possible on a lake", exit_code=USAGE)
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier) or table.catalog:
            raise IolensError(f"not a table of the lake: {table.sql('duckdb')}", exit_code=USAGE)
    for function in tree.find_all(exp.Anonymous):
        if function.name.lower() in _REACH_OUT:
            raise IolensError(f"not available on Spark: {function.name}()", exit_code=USAGE)
    for kind, (argument, what) in _NOT_CARRIED.items():
        if any(node.args.get(argument) for node in tree.find_all(kind)):
            raise IolensError(f"not available on Spark: {what}", exit_code=USAGE)
    if any(join.args.get("method") == "ASOF" for join in tree.find_all(exp.Join)):
        raise IolensError("not available on Spark: ASOF JOIN", exit_code=USAGE)


def to_spark(query: str, columns_of: ColumnsOf, parameters: Parameters = None) -> str:
    """The query in Spark's dialect.

    parameters: numbers and text, for ``?`` a list, for ``$name`` a dict.
    Raises IolensError for what is no SQL, no query, or not carried.
    """
    tree = _parse(query)
    _refuse(tree)
    if parameters:
        tree = _given(tree, parameters)
    for table in list(_named(tree)):
        name = spark_name(_full(table))
        if not table.alias and table.db:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
        table.set("db", None)
        table.set("this", exp.to_identifier(name))
    expand_columns(tree, columns_of)
    for rewrite in REWRITES:
        tree = tree.transform(rewrite)
    return tree.sql("spark", identify=True, comments=False)
