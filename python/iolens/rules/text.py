"""Numbers in sentences: templates whose fields say what a number is, as in ``{size:bytes}``."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from iolens.shown import clean

__all__ = [
    "FORMATS",
    "agree",
    "clean",
    "counted",
    "fields",
    "fill",
    "general",
    "plural",
    "size",
    "within",
    "write",
]

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)(?: ?([kmgt])(?:i?b)?| ?b)?", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def size(text: str) -> float | None:
    """What people write for a number of bytes: 65536, 64KiB, 64k, 1.5 G. None if it is no such thing."""
    found = _SIZE.fullmatch(text)
    value = float(found[1]) * _FACTORS[(found[2] or "").lower()] if found else math.inf
    return None if math.isinf(value) else value


def general(value: float, digits: int) -> str:
    """So many significant digits, and never a power of ten: 1,000 and not 1e+03."""
    text = f"{value:.{digits}g}"
    return f"{float(text):,.0f}" if "e+" in text else text


def _count(value: float) -> str:
    if abs(value) >= 1e7:
        for unit, size in (("trillion", 1e12), ("billion", 1e9), ("million", 1e6)):
            if abs(value) >= 0.9995 * size:
                return f"{general(value / size, 3)} {unit}"
    return f"{value:,.0f}"


def _bytes(value: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if abs(value) < 1023.95 or unit == "PiB":
            break
        value /= 1024
    return f"{value:.{0 if unit == 'B' else 1}f}".removesuffix(".0") + f" {unit}"


def _seconds(value: float) -> str:
    if value == 0:
        return "0 s"
    if abs(value) < 9.995e-7:
        return f"{general(value * 1e9, 3)} ns"
    if abs(value) < 0.0009995:
        return f"{value * 1e6:.0f} us"
    if abs(value) < 0.9995:
        return f"{value * 1e3:.3g} ms"
    if abs(value) < 99.95:
        return f"{value:.3g} s"
    return f"{value:,.0f} s" if abs(value) < 599.5 else _minutes(value)


def _minutes(value: float) -> str:
    """Seconds in the two largest units that people count them in."""
    sign, left = ("-" if value < 0 else ""), round(abs(value))
    minutes, hours = (left + 30) // 60, (left + 1800) // 3600
    if hours >= 720:
        return f"{sign}{(hours + 12) // 24:,} days"
    units = ((left, 60, 3600, "min", "s"), (minutes, 60, 48 * 60, "h", "min"), (hours, 24, 720, "d", "h"))
    whole, small, _, unit, rest = next(one for one in units if one[0] < one[2])
    return f"{sign}{whole // small} {unit}" + (f" {whole % small} {rest}" if whole % small else "")


def _percent(value: float) -> str:
    part = 100 * value
    if 0 < part < 0.1:
        return "less than 0.1 %"
    return f"{part:.1f} %" if part < 9.95 else f"{part:.0f} %"


FORMATS: dict[str, Callable[[float], str]] = {
    "count": _count,
    "bytes": _bytes,
    "seconds": _seconds,
    "percent": _percent,
    "rate": lambda value: f"{_bytes(value)}/s",
    "factor": lambda value: f"{value:,.1f}" if value < 9.95 else f"{value:,.0f}",
}
"""What may stand behind the colon of a field, and as a unit of a column of evidence."""

PLURAL = re.compile(r"# ([A-Za-z5 -]+)")
"""Also a format: ``{n:# file}`` is "1 file" or "2 files"."""


# Begin with a capital letter inside a sentence, too, and have no other one by which to know them.
_NAMES = frozenset({"Darshan", "Lustre", "Python"})


def counted(value: float, noun: str) -> str:
    """A number and what it counts: "1 file", "2 accesses", "3 directories"."""
    return f"1 {noun}" if value == 1 else f"{_count(value)} {plural(noun)}"


@lru_cache(256)
def plural(noun: str) -> str:
    """As units_plural() of cli/text/units.c."""
    if re.search(r"(s|x|ch|sh)$", noun):
        return f"{noun}es"
    return f"{re.sub(r'(?<=[^aeiou])y$', 'ie', noun)}s"


def agree(value: float, one: str, more: str) -> str:
    """The word that goes with the number: "is" with 1, "are" with 2."""
    return one if value == 1 else more


def within(text: str) -> str:
    """A sentence or title as it stands inside a sentence: names keep their capital letter (HDF5, MPI-IO, Python)."""
    word = re.split(r"[^\w-]", text, maxsplit=1)[0]
    return text if word in _NAMES or word[1:] != word[1:].lower() else text[:1].lower() + text[1:]


def write(value: Any, unit: str) -> str:
    """A value in words: "3.2 MiB" for 3355443 and "bytes"."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "unknown"
    if unit in FORMATS and isinstance(value, (int, float)):
        return FORMATS[unit](value)
    if PLURAL.fullmatch(unit):
        return counted(value, unit[2:])
    if isinstance(value, float):
        return general(value, 4)
    return clean(str(value))


def fields(template: str) -> list[tuple[str, str]]:
    """Its fields as (name, format). Raises ValueError for what is no template, or asks for more than a name."""
    found = []
    for _, name, form, conversion in string.Formatter().parse(template):
        if name is None:
            continue
        if not name.isidentifier() or conversion:
            raise ValueError(f'"{{{name}}}" is not the name of a column')
        if form and form not in FORMATS and not PLURAL.fullmatch(form):
            raise ValueError(f'"{{{name}:{form}}}": formats are {", ".join(FORMATS)}, and "# NOUN"')
        found.append((name, form or ""))
    return found


@lru_cache(1024)
def _parsed(template: str) -> tuple[tuple[str, str | None, str | None, str | None], ...]:
    return tuple(string.Formatter().parse(template))


def fill(template: str, values: Mapping[str, Any]) -> str:
    """The template with its fields written. Raises KeyError for a field that has no value."""
    parts = []
    for literal, name, form, _ in _parsed(template):
        parts.append(literal)
        if name is not None:
            parts.append(write(values[name], form or ""))
    return "".join(parts)
