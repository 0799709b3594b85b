"""How values are written for people: as in the sentences of findings, but with every digit of a count.

``page/units.js`` says the same to the browser; a test compares them.
"""

from __future__ import annotations

import html
import math
from typing import Any

from iolens.rules.text import FORMATS, clean, general, plural
from iolens.rules.text import write as write_in_words

__all__ = ["UNKNOWN", "clean", "counted", "escape", "number_of", "write"]

UNKNOWN = "–"


def escape(text: str) -> str:
    """A log's text for a page: nothing in it is markup, or changes how the page reads on."""
    return html.escape(clean(text))


def counted(value: float, noun: str) -> str:
    """A number and what it counts, with every digit."""
    return f"{value:,.0f} {number_of(value, noun)}"


def number_of(value: float, noun: str) -> str:
    """The noun as it stands after the number: "file", "files"."""
    return noun if value == 1 else plural(noun)


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
            return f"{value:.0f}" if value == int(value) else general(value, 4)
        return write_in_words(value, unit)
    return clean(str(value))
