"""Statistics of repeated runs: quartiles, outliers, Welch's t-test, effect size, the chance of an order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Sample", "Welch", "critical_t", "interleaved", "order_chance", "sample", "welch"]


@dataclass(frozen=True)
class Sample:
    """What a group of runs gave for one measure. Quartiles are interpolated between the two nearest values."""

    values: tuple[float, ...]
    """In the order in which the runs were given."""
    minimum: float
    q1: float
    median: float
    q3: float
    maximum: float
    mean: float
    sd: float
    """Standard deviation of the sample (n - 1); 0 for one value."""
    outliers: tuple[float, ...]
    """Values above q3 + 1.5 (q3 - q1)."""

    @property
    def n(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Welch:
    """Welch's test of two samples: is the difference of the means (b - a) more than chance?"""

    t: float
    df: float
    p: float
    """Two-sided."""
    low: float
    """Lower end of the 95 % confidence interval of the difference."""
    high: float
    effect: float
    """Hedges' g: the difference in units of the pooled standard deviation, corrected for small samples."""


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def sample(values: Sequence[float]) -> Sample:
    """The summary of at least one value. Raises ValueError for none."""
    if not values:
        raise ValueError("a sample needs a value")
    ordered = sorted(values)
    mean = min(max(math.fsum(ordered) / len(ordered), ordered[0]), ordered[-1])
    variance = math.fsum((v - mean) ** 2 for v in ordered) / (len(ordered) - 1) if len(ordered) > 1 else 0.0
    q1, median, q3 = (_quantile(ordered, share) for share in (0.25, 0.5, 0.75))
    fence = q3 + 1.5 * (q3 - q1)
    return Sample(
        values=tuple(values),
        minimum=ordered[0],
        q1=q1,
        median=median,
        q3=q3,
        maximum=ordered[-1],
        mean=mean,
        sd=math.sqrt(variance),
        outliers=tuple(v for v in ordered if v > fence),
    )


# Relative spread that arithmetic on doubles makes of equal values.
_ROUNDING = 1e-12


def order_chance(a: Sample, b: Sample) -> float | None:
    """The chance that all values of one sample lie beyond all of the other's in this direction, if both are alike.

    1 in 20 for three and three values. None if the samples are not apart like that.
    """
    if a.maximum < b.minimum or b.maximum < a.minimum:
        return 1 / math.comb(a.n + b.n, a.n)
    return None


def _two_sided_p(t: float, df: float) -> float:
    import mpmath

    return float(mpmath.betainc(df / 2, 0.5, 0, df / (df + t * t), regularized=True))


def critical_t(df: float, p: float) -> float:
    """The t whose two-sided probability is p, by bisection: the probability falls with t."""
    low, high = 0.0, 1.0
    while _two_sided_p(high, df) > p:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _two_sided_p(middle, df) > p else (low, middle)
    return (low + high) / 2


def welch(a: Sample, b: Sample) -> Welch | None:
    """Welch's test (Welch 1947; df after Satterthwaite), None where nothing varies or neither sample has two values.

    Spreads that are only rounding of the values are none.

    A sample of one value is judged by the other's spread: is it one of those runs?
    """
    if max(a.n, b.n) < 2 or max(a.sd, b.sd) <= _ROUNDING * max(abs(a.mean), abs(b.mean)):
        return None
    if min(a.n, b.n) == 1:
        df = float(a.n + b.n - 2)
        pooled = max(a.sd, b.sd)
        error = pooled * math.sqrt(1 / a.n + 1 / b.n)
    else:
        va, vb = a.sd**2 / a.n, b.sd**2 / b.n
        error = math.sqrt(va + vb)
        df = (va + vb) ** 2 / (va**2 / (a.n - 1) + vb**2 / (b.n - 1))
        pooled = math.sqrt(((a.n - 1) * a.sd**2 + (b.n - 1) * b.sd**2) / (a.n + b.n - 2))
    difference = b.mean - a.mean
    margin = critical_t(df, 0.05) * error
    correction = 1 - 3 / (4 * (a.n + b.n) - 9) if a.n + b.n > 3 else 1.0
    return Welch(
        t=difference / error,
        df=df,
        p=_two_sided_p(difference / error, df),
        low=difference - margin,
        high=difference + margin,
        effect=correction * difference / pooled,
    )


def interleaved(a: Sequence[float], b: Sequence[float]) -> bool:
    """Do the starts of two groups alternate, so that a slow hour hits both? False if all of one came first."""
    if len(a) < 2 or len(b) < 2:
        return True
    return min(a) < max(b) and min(b) < max(a)
