"""Thresholds of a metric: ``-- threshold NAME = VALUE [UNIT]: reason`` in its header, ``$NAME`` in its text and query.

The build makes a C header from the same lines (``tools/thresholds.py``): nothing of iolens is imported here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

__all__ = ["LINE", "plain", "read", "replaced"]

LINE = re.compile(r"-- threshold (\w+) = ([\d.]+(?: \S+?)?): (.+)")

_UNITS = {
    "": "1",
    "ms": "0.001",
    "s": "1",
    "%": "0.01",
    "KiB": "1024",
    "MiB": "1048576",
    "MB/s": "1000000",
    "GB/s": "1000000000",
}


def plain(value: str) -> str:
    """As SQL and C write it, in seconds, bytes, bytes/s or parts of 1: "0.0002" for "0.2 ms". Raises ValueError."""
    number, _, unit = value.partition(" ")
    if unit not in _UNITS:
        raise ValueError(f"{value}: the unit is none of {', '.join(filter(None, _UNITS))}")
    text = f"{Decimal(number) * Decimal(_UNITS[unit]):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def read(text: str) -> dict[str, tuple[str, str]]:
    """The thresholds of a metric's file by name: the value as it is written there, and its reason."""
    found = (LINE.fullmatch(line) for line in text.splitlines())
    return {one[1]: (one[2], one[3]) for one in found if one}


def replaced(text: str, values: Mapping[str, str]) -> str:
    """The text with values for names. Raises ValueError for an unknown one."""

    def value(found: re.Match[str]) -> str:
        if found[1] not in values:
            raise ValueError(f"no threshold {found[1]}")
        return values[found[1]]

    return re.sub(r"\$(\w+)", value, text)
