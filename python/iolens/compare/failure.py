"""Runs whose times must not be compared: they failed, or left out work that the first ones did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from iolens.compare.measure import FileRole
from iolens.metrics import Dataset
from iolens.rules.text import write

__all__ = ["failures", "how_runs_ended"]

# Of the data that the first runs touched: the same work hardly touches so little.
LITTLE = 0.01
# Less may be a file of settings.
WORK = 1 << 20

# The processes that the run is: its first ones and MPI's ranks. That a helper fails (grep, test) is usual.
_ENDS = """
    SELECT log, max(signal) AS signal, arg_max(exit_code, abs(exit_code)) AS code FROM process AS p
    WHERE ended NOT IN ('exec', 'missing') AND (coalesce(mpi, '') <> ''
        OR NOT EXISTS (SELECT 1 FROM process AS q WHERE q.log = p.log AND q.pid = p.parent))
    GROUP BY log
"""


def how_runs_ended(data: Dataset) -> list[str]:
    """Of each log: "exit code 1", "signal 9", or "" where all went well or the log does not say."""
    ends = [""] * len(data.logs)
    for row in data.rows(_ENDS):
        if row["signal"] > 0:
            ends[row["log"]] = f"signal {row['signal']}"
        elif row["code"]:
            ends[row["log"]] = f"exit code {row['code']}"
    return ends


def _failed(name: str, ends: Sequence[str]) -> str:
    bad = sorted({end for end in ends if end})
    runs = "" if len(ends) == 1 else f" in {sum(bool(end) for end in ends)} of {len(ends)} runs"
    return f"{name} failed{runs} ({', '.join(bad)})"


def _data(roles: Sequence[Mapping[str, FileRole]]) -> dict[str, float]:
    """Role -> bytes of the extents that a run touched, on average."""
    total: Counter[str] = Counter()
    for one in roles:
        total.update({name: part.size for name, part in one.items()})
    return {name: size / len(roles) for name, size in total.items()}


def _lacks_work(first: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """Does it touch next to nothing of the first's data? What is alike in both (imports, input) does not tell."""
    alike = {name for name, size in first.items() if abs(size - other.get(name, 0.0)) <= LITTLE * size}
    was, now = (sum(size for name, size in data.items() if name not in alike) for data in (first, other))
    return was >= WORK and now < LITTLE * was and sum(other.values()) < sum(first.values()) / 2


def failures(
    data: Dataset,
    names: Sequence[str],
    members: Sequence[Sequence[int]],
    roles: Sequence[Mapping[str, FileRole]],
) -> tuple[str, ...]:
    """Of each group: why its times say nothing against those of the first group; "" where they do."""
    ends = [[every[log] for log in logs] for every in [how_runs_ended(data)] for logs in members]
    unclear = {row["log"] for row in data.metric("unexplained") if row["partly"]}
    used = [_data([roles[log] for log in logs]) for logs in members]
    sizes = [sum(data.values()) for data in used]
    found = [""]
    for number in range(1, len(members)):
        reason = ""
        if {bool(end) for end in ends[0]} != {bool(end) for end in ends[number]}:
            bad, good = (0, number) if any(ends[0]) and not all(ends[number]) else (number, 0)
            reason = f"{_failed(names[bad], ends[bad])}, {names[good]} did not"
            if any(ends[good]):
                reason = f"{_failed(names[bad], ends[bad])}, {_failed(names[good], ends[good])}"
        elif _lacks_work(used[0], used[number]) and not unclear.intersection(members[number]):
            reason = f"{names[number]} may lack work"
        if reason and _lacks_work(used[0], used[number]):
            was, now = write(sizes[0], "bytes"), write(sizes[number], "bytes")
            reason += f"; {names[number]} used {now} of data, {names[0]} {was}"
        found.append(reason)
    return tuple(found)
