"""Values as SQL has them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["literal", "quoted", "texts", "with_values"]

# Strings, quoted names and comments, in which nothing stands for a value; then what does.
_PARAMETER = re.compile(
    r"""(?:\be'(?:\\.|''|[^'\\])*'|'(?:''|[^'])*'|"(?:""|[^"])*"|--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\1\$)|\$([a-z_]\w*)|(\?)""",
    re.IGNORECASE | re.DOTALL,
)


def quoted(text: str) -> str:
    """Text between quotes."""
    return "'" + text.replace("'", "''") + "'"


def texts(values: Sequence[str]) -> str:
    """Many texts as one list, which is read ten times as fast as a list of literals."""
    joined = "".join(values)
    mark = next(mark for mark in map(chr, range(0xE000, 0x10FFFF)) if mark not in joined)
    return f"string_split({quoted(mark.join(values))}, '{mark}')" if values else "[]::VARCHAR[]"


def literal(value: Any) -> str:
    """A number, a truth value, text, or NULL for None."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, (int, float)):
        return repr(value) if math.isfinite(value) else f"'{value}'::DOUBLE"
    return quoted(str(value))


def with_values(statement: str, values: Sequence[Any] | Mapping[str, Any]) -> str | None:
    """The statement with the values in it, of ``?`` a list, of ``$name`` a dict; None if these are not just its own."""
    named = isinstance(values, Mapping)
    given = dict(values) if isinstance(values, Mapping) else {str(n): value for n, value in enumerate(values)}
    used: list[str] = []

    def fill(found: re.Match[str]) -> str:
        if not found[2] and not found[3]:
            return found[0]
        key = found[2] if named else "" if found[2] else str(len(used))
        used.append(key or "")
        text = literal(given.get(key or ""))
        return f"({text})" if text.startswith("-") else text

    filled = _PARAMETER.sub(fill, statement)
    return filled if set(used) == set(given) else None
