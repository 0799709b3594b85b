"""Colours: Okabe and Ito's for kinds, told apart by people with any colour vision, on light and on dark."""

from __future__ import annotations

__all__ = ["SERIES", "VIRIDIS", "css", "viridis"]

SERIES = {
    "read": ("#0072b2", "#56b4e9"),
    "write": ("#d55e00", "#e69f00"),
    "meta": ("#009e73", "#2fc49a"),
    "wait": ("#cc79a7", "#e39ac4"),
    "both": ("#7b4fa3", "#b79be0"),
    "other": ("#8a8f98", "#7d8590"),
    "first": ("#0072b2", "#56b4e9"),
    "second": ("#d55e00", "#e69f00"),
    "third": ("#009e73", "#2fc49a"),
    "fourth": ("#cc79a7", "#e39ac4"),
}
"""Series -> colour on light, on dark."""

VIRIDIS = (
    *((68, 1, 84), (72, 36, 117), (65, 68, 135), (53, 95, 141), (42, 120, 142), (33, 145, 140)),
    *((34, 168, 132), (68, 191, 112), (122, 209, 81), (189, 223, 38), (253, 231, 37)),
)
"""Eleven stops of the map of that name: lightness grows evenly, for any colour vision."""


def css(dark: bool) -> str:
    """Declarations of the variables --read, --write, ..."""
    return "".join(f"--{name}:{pair[dark]};" for name, pair in SERIES.items())


def viridis(share: float) -> str:
    """The colour of a part of the whole, 0 to 1."""
    place = max(0.0, min(1.0, share)) * (len(VIRIDIS) - 1)
    low = min(len(VIRIDIS) - 2, int(place))
    mixed = (round(a + (b - a) * (place - low)) for a, b in zip(VIRIDIS[low], VIRIDIS[low + 1]))
    return "#" + "".join(f"{value:02x}" for value in mixed)
