"""Bytes over time, by rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from iolens.shown import say

if TYPE_CHECKING:
    import pandas

__all__ = ["Heatmap"]


class Heatmap:
    """The bins of all ranks of one interface; ranks may be missing."""

    def __init__(self, mod: str | None = None) -> None:
        self._mod = mod
        self._ranks: set[int] = set()
        self._nbins: int | None = None
        self._bin_width_seconds: float | None = None
        self._num_recs = 0
        self._data: dict[str, dict[int, Any]] = {"read": {}, "write": {}}

    mod = property(lambda self: self._mod)

    @property
    def nbins(self) -> int:
        return self._nbins or 0

    @property
    def bin_width_seconds(self) -> float:
        return self._bin_width_seconds or 0.0

    def __repr__(self) -> str:
        return f"<Heatmap mod={self._mod}, nbins={self._nbins}, bin_width={self._bin_width_seconds} s>"

    def add_record(self, rec: dict[str, Any]) -> None:
        """The bins of one rank; all ranks have as many, of the same width. ValueError if not."""
        for name in ("nbins", "bin_width_seconds"):
            mine = getattr(self, f"_{name}")
            if mine is not None and mine != rec[name]:
                raise ValueError(f"{name} is {rec[name]} in this record, {mine} in the others")
        self._nbins, self._bin_width_seconds = rec["nbins"], rec["bin_width_seconds"]
        self._ranks.add(rec["rank"])
        self._num_recs += 1
        for op, bins in self._data.items():
            bins[rec["rank"]] = rec[f"{op}_bins"]

    def to_df(self, ops: Sequence[str], interval_index: bool = True) -> pandas.DataFrame:
        """Bytes of the operations ("read", "write"): one row per rank, one column per interval of seconds."""
        import numpy as np
        import pandas as pd

        wrong = [op for op in ops if op not in self._data]
        if wrong or not ops:
            raise ValueError(f'{"".join(wrong[:1]) or "nothing"} not in heatmap: ops are "read" and "write"')
        breaks = np.linspace(0, self.nbins * self.bin_width_seconds, self.nbins + 1)
        columns = pd.IntervalIndex.from_breaks(breaks) if interval_index else np.arange(self.nbins)
        ranks = list(self._data[ops[0]])
        cells = [np.array([self._data[op][rank] for rank in ranks]).reshape(-1, self.nbins) for op in ops]
        frame = pd.DataFrame(sum(cells), index=ranks, columns=columns)
        frame.index.name = "rank"
        return frame

    def info(self, plot: bool = False) -> None:
        """Prints what it is."""
        say(repr(self))
        say(f"Module:        {self._mod}")
        many = len(self._ranks) > 9
        say(f"Ranks (len):   {len(self._ranks)}" if many else f"Ranks:         {self._ranks}")
        say(f"Num. bins:     {self._nbins}")
        say(f"Bin width (s): {self._bin_width_seconds}")
        say(f"Num. recs:     {self._num_recs}")
        if plot:
            import matplotlib.pyplot as plt

            for op in self._data:
                plt.pcolor(self.to_df([op]))
                plt.title(op)
                plt.show()
