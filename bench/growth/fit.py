"""How fast something grows: the exponent of what it takes beyond its start, and whether n log n would grow as fast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

NOISE = 0.1
"""An exponent may be this much above that of n log n: what times of a shared machine are uncertain by."""

STANDS_OUT = 0.5
"""A point counts if it takes at least this much of the start more than the start: the rest is noise around it."""


@dataclass(frozen=True)
class Growth:
    """exponent: of time as a power of n, over the points that stand out. allowed: that of n log n over the same."""

    exponent: float
    allowed: float
    points: int

    @property
    def too_fast(self) -> bool:
        return self.points > 1 and self.exponent > self.allowed + NOISE

    @property
    def verdict(self) -> str:
        if self.points < 2:
            return "within the start"
        return "MORE than n log n" if self.too_fast else "at most n log n"


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Of the straight line with the least squares through the logarithms."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    mean_x, mean_y = (sum(values) / len(logs) for values in zip(*logs))
    spread = sum((x - mean_x) ** 2 for x, _ in logs)
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / spread


def growth(points: Sequence[tuple[int, float]]) -> Growth:
    """points: (n, seconds) in ascending order; the first one is the start, which all others have as well."""
    (first, start), *others = points
    beyond = [(n, took - start) for n, took in others if took - start >= STANDS_OUT * start]
    if len(beyond) < 2:
        return Growth(0.0, 0.0, len(beyond))
    counted = [(n - first, took) for n, took in beyond]
    order = [(n - first, n * math.log(n) - first * math.log(max(first, 1))) for n, _ in beyond]
    return Growth(slope(counted), slope(order), len(beyond))
