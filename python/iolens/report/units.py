"""How values are written for people: as in the sentences of findings, but with every digit of a count.

``page/units.js`` says the same to the browser; a test compares them.
"""

from __future__ import annotations

import math
from typing import Any

from iolens.rules.text import FORMATS
from iolens.rules.text import write as write_in_words

__all__ = ["UNKNOWN", "clean", "write"]

UNKNOWN = "–"


def clean(text: str) -> str:
    """Text of a log without what would change how a page or a terminal reads on: control and direction characters."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def write(value: Any, unit: str) -> str:
    """The value in words; units are those of ``iolens.rules.text``. What is not known is a dash."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        if unit == "count":
            return f"{value:,.0f}"
        if unit not in FORMATS:
            return f"{value:.0f}" if value == int(value) else f"{value:.4g}"
        return write_in_words(value, unit)
    return clean(str(value))
