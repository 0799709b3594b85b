"""What runs with and without iolens differ by, and whether that is more than chance."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from iolens.compare.statistics import Sample, Welch, critical_t, sample, welch
from iolens.overhead.trial import Run, Trial

__all__ = ["FEW", "NARROW", "Cost", "Measure", "measure"]

NARROW = 0.01
"""An interval that includes 0 is an answer if it is narrower than this part of the run time."""
FEW = 5
"""Fewer runs do not tell how much they vary: their spread may be ten times too large or too small."""


@dataclass(frozen=True)
class Measure:
    """One quantity without and with iolens."""

    without: Sample
    observed: Sample
    welch: Welch | None
    """None where nothing varies."""

    @property
    def difference(self) -> float:
        """Mean with minus mean without, in the quantity's unit."""
        return self.observed.mean - self.without.mean

    def of_mean(self, value: float) -> float | None:
        """A value as part of the mean without iolens; None where that is 0."""
        return value / self.without.mean if self.without.mean else None

    @property
    def share(self) -> float | None:
        """The difference as part of the mean without iolens."""
        return self.of_mean(self.difference)

    @property
    def low(self) -> float:
        """Lower end of the 95 % confidence interval of the difference."""
        return self.welch.low if self.welch else self.difference

    @property
    def high(self) -> float:
        """Upper end of the 95 % confidence interval of the difference."""
        return self.welch.high if self.welch else self.difference


@dataclass(frozen=True)
class Cost:
    """What observing cost a program, over all runs that count."""

    trial: Trial
    runs: tuple[Run, ...]
    """In the order in which they ran."""
    run_time: Measure
    processor_time: Measure

    @property
    def width(self) -> float:
        """Width of the interval of the run time's difference, as part of the mean without iolens."""
        return (self.run_time.high - self.run_time.low) / self.run_time.without.mean

    @property
    def verdict(self) -> str:
        """`none` (interval includes 0 and is narrow), `slower`, `faster` (0 is outside), or `unproven` (it is wide)."""
        if self.run_time.low > 0:
            return "slower"
        if self.run_time.high < 0:
            return "faster"
        return "none" if self.width < NARROW else "unproven"

    @property
    def runs_needed(self) -> int:
        """How many runs each would make the interval narrow, if they vary like these.

        It shrinks with their root, and with Student's t, which of more runs is smaller. Of FEW runs or more.
        """
        have, test = self.run_time.without.n, self.run_time.welch
        if test is None:
            return have
        at_first = have * (self.width / NARROW / critical_t(test.df, 0.05)) ** 2
        needed = float(have)
        for _ in range(8):
            freedom = test.df * (needed - 1) / (have - 1)
            needed = max(float(have), at_first * critical_t(freedom, 0.05) ** 2)
        return math.ceil(needed)


def _measure(runs: list[Run], quantity: Callable[[Run], float]) -> Measure:
    without, observed = (
        sample([quantity(run) for run in runs if run.observed is side]) for side in (False, True)
    )
    return Measure(without, observed, welch(without, observed))


def measure(trial: Trial, told: Callable[[int, int], None] = lambda done, of: None) -> Cost:
    """Runs a trial to its end. told: is called before each run with how many are done, and of how many.

    Raises IolensError as Trial.each does.
    """
    total = 2 * (trial.runs + trial.warmup)
    counting: list[Run] = []
    told(0, total)
    for done, (counts, run) in enumerate(trial.each(), 1):
        if counts:
            counting.append(run)
        told(done, total)
    return Cost(
        trial,
        tuple(counting),
        run_time=_measure(counting, lambda run: run.run_time),
        processor_time=_measure(counting, lambda run: run.processor_time),
    )
