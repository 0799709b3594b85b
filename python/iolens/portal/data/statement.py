"""Is a viewer's statement one query of the lake's tables, and nothing else? Told by DuckDB's own parser."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

import duckdb

from iolens.error import USAGE, IolensError
from iolens.metrics.engine import connect

__all__ = ["check"]

LONGEST = 20_000

TABLE_FUNCTIONS = frozenset({"range", "generate_series", "unnest"})

REFUSED = frozenset({
    "getenv", "current_setting", "set_config", "query", "query_table", "getvariable", "nextval", "currval",
    "write_log", "parse_duckdb_log_message", "add_parquet_key", "sleep_ms", "pg_sleep", "current_database",
    "current_schema", "current_schemas", "json_execute_serialized_sql", "from_json_strict", "in_search_path",
    "txid_current", "current_query", "current_role", "current_user", "session_user", "is_histogram_other_bin",
    "which_secret", "load_aws_credentials", "setval",
})  # fmt: skip
"""Functions that tell of the server and not of the lake, or run text."""

_SOURCES = frozenset({
    "BASE_TABLE", "SUBQUERY", "JOIN", "TABLE_FUNCTION", "EXPRESSION_LIST", "EMPTY", "EMPTY_FROM", "CTE", "PIVOT",
    "COLUMN_DATA",
})  # fmt: skip
_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


def _parsed(statement: str) -> Any:
    duck = connect(config={"threads": 1, "memory_limit": "100MB"})
    try:
        duck.execute("SET enable_external_access = false")
        found = duck.execute("SELECT json_serialize_sql(?)", [statement]).fetchone()
    except duckdb.Error as error:
        raise _refused(str(error).splitlines()[0]) from None
    finally:
        duck.close()
    tree = json.loads(found[0]) if found else {}
    if tree.get("error"):
        raise _refused(str(tree.get("error_message", "not understood")).splitlines()[0])
    return tree


def _refused(why: str) -> IolensError:
    return IolensError(why, exit_code=USAGE)


def _common(tree: Any) -> set[str]:
    """Names that WITH gives."""
    found = set()
    for node in _nodes(tree):
        for entry in (
            (node.get("cte_map") or {}).get("map", []) if isinstance(node.get("cte_map"), dict) else []
        ):
            found.add(str(entry.get("key", "")).lower())
        if node.get("type") in ("CTE_NODE", "RECURSIVE_CTE_NODE"):
            found.add(str(node.get("cte_name", node.get("ctename", ""))).lower())
    return found


def _check_table(node: dict[str, Any], known: Collection[str], common: set[str]) -> str:
    """The table's name, "" for one that the statement itself makes."""
    schema, name = str(node.get("schema_name", "")).lower(), str(node.get("table_name", "")).lower()
    if node.get("catalog_name"):
        raise _refused(f'there is no database "{node["catalog_name"]}"')
    full = f"metric.{name}" if schema == "metric" else name
    if schema not in ("", "metric") or (full not in known and not (schema == "" and name in common)):
        raise _refused(f'there is no table "{schema + "." if schema else ""}{name}" here')
    return full if full in known else ""


def _check_function(node: dict[str, Any]) -> None:
    name = str(node.get("function_name", "")).lower()
    if node.get("catalog") or str(node.get("schema", "")).lower() not in ("", "main"):
        raise _refused(f"function {name} is not known here")
    if name in REFUSED or name.startswith(("pragma_", "duckdb_", "read_", "pg_", "http", "write_")):
        raise _refused(f"function {name} may not be used here")


def check(statement: str, known: Collection[str]) -> list[str]:
    """The tables that it names. Raises IolensError for what is not one SELECT over those known (``metric.X``, too)."""
    if len(statement) > LONGEST:
        raise _refused(f"the statement is longer than {LONGEST:,} characters")
    if "\0" in statement:
        raise _refused("the statement has a zero byte")
    tree = _parsed(statement)
    if len(tree.get("statements", [])) != 1:
        raise _refused("one statement at a time")
    common, named = _common(tree), set()
    if not all(re.fullmatch(r"\w+", name) for name in common):
        raise _refused("names of WITH may have letters, digits and _ only")
    for node in _nodes(tree):
        kind = str(node.get("type", ""))
        if kind == "TABLE_FUNCTION":
            function = node.get("function") or {}
            name = str(function.get("function_name", "")).lower()
            if name not in TABLE_FUNCTIONS:
                raise _refused(f"function {name} may not be used here")
        elif kind == "BASE_TABLE":
            named.add(_check_table(node, known, common))
        elif kind.endswith("_NODE") and kind not in _NODES:
            raise _refused("queries (SELECT) only")
        elif kind == "SHOW_REF" and node.get("query") and not node.get("table_name"):
            continue  # DESCRIBE and SUMMARIZE of a query
        elif "alias" in node and "sample" in node and kind not in _SOURCES:
            raise _refused("queries of tables only")
        if "function_name" in node:
            _check_function(node)
    return sorted(named - {""})
