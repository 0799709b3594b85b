"""Values as SQL has them."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["literal", "quoted"]


def quoted(text: str) -> str:
    """Text between quotes."""
    return "'" + text.replace("'", "''") + "'"


def literal(value: Any) -> str:
    """A number, a truth value, text, or NULL for None."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, (int, float)):
        return repr(value) if math.isfinite(value) else f"'{value}'::DOUBLE"
    return quoted(str(value))
