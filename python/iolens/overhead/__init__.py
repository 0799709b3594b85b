"""What observing a program costs it: the program runs with and without iolens in turn.

    >>> from iolens.overhead import Trial, measure
    >>> cost = measure(Trial(["./solver", "input.dat"], runs=20))
    >>> cost.run_time.share, cost.run_time.low, cost.run_time.high    # of the mean without iolens, 95 % interval

The form is that of the first paper about Darshan (Carns et al., Cluster 2009, Table I): means, standard deviations,
Welch's t, degrees of freedom, p, and the confidence interval of the difference.
"""

from __future__ import annotations

from iolens.overhead.cost import Cost, Measure, measure
from iolens.overhead.trial import Run, Trial

__all__ = ["Cost", "Measure", "Run", "Trial", "measure"]
