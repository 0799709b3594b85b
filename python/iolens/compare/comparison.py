"""Groups of runs beside each other: what differs, by how much, is it more than noise, and where it is from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iolens.compare.measure import MEASURES, FileRole, Measure, measure_logs, measure_roles
from iolens.compare.roles import Substitution, match
from iolens.compare.statistics import Sample, Welch, interleaved, sample, welch
from iolens.error import USAGE, IolensError
from iolens.metrics import Dataset

__all__ = ["Comparison", "Group", "Limits", "RoleRow", "Row", "compare"]


@dataclass(frozen=True)
class Group:
    """Runs that should be alike: repetitions of one configuration."""

    name: str
    paths: tuple[str, ...]


@dataclass(frozen=True)
class Limits:
    """What counts as a difference: both must be passed; with two repeated groups chance must be excluded too."""

    relative: float = 0.05
    seconds: float = 0.05
    """For times only."""
    p: float = 0.05


@dataclass(frozen=True)
class Row:
    """One measure in all groups; what is said of a group is said against the first."""

    measure: Measure
    samples: tuple[Sample | None, ...]
    """None where no log of a group has the number."""
    ratios: tuple[float | None, ...]
    """Mean over the first group's mean; None where that is 0 or unknown."""
    tests: tuple[Welch | None, ...]
    verdicts: tuple[str, ...]
    """"same", "better", "worse", "different" (no direction is better), or "unknown"."""


@dataclass(frozen=True)
class RoleRow:
    """Files that play one part, in each group: means over its logs; None where a group has no such file."""

    name: str
    parts: tuple[FileRole | None, ...]

    @property
    def change(self) -> float:
        """Seconds in calls, last group against the first."""
        first, last = self.parts[0], self.parts[-1]
        return (last.time if last else 0.0) - (first.time if first else 0.0)


@dataclass(frozen=True)
class Comparison:
    groups: tuple[Group, ...]
    rows: tuple[Row, ...]
    roles: tuple[RoleRow, ...]
    """Largest change of time first."""
    verdicts: tuple[str, ...]
    """Of each group against the first: "same", "faster", "slower" or "different"."""
    notes: tuple[str, ...]
    """What the reader has to know before believing it."""
    problems: tuple[IolensError, ...]

    def row(self, measure: str) -> Row:
        return next(row for row in self.rows if row.measure.name == measure)


def _verdict(measure: Measure, a: Sample | None, b: Sample | None, test: Welch | None, limits: Limits) -> str:
    if a is None or b is None:
        return "unknown"
    difference = b.mean - a.mean
    small = abs(difference) <= limits.relative * max(abs(a.mean), abs(b.mean))
    if measure.unit == "s":
        small = small or abs(difference) < limits.seconds
    if difference == 0 or small or (test is not None and test.p >= limits.p):
        return "same"
    if not measure.direction:
        return "different"
    return "better" if (difference < 0) == (measure.direction == "lower") else "worse"


def _row(measure: Measure, values: Sequence[Sequence[float | None]], limits: Limits) -> Row:
    samples = []
    for group in values:
        known = [float(v) for v in group if v is not None]
        samples.append(sample(known) if known else None)
    first = samples[0]
    tests = tuple(welch(first, s) if first and s else None for s in samples)
    return Row(
        measure=measure,
        samples=tuple(samples),
        ratios=tuple(s.mean / first.mean if first and s and first.mean else None for s in samples),
        tests=tests,
        verdicts=tuple(
            "same" if number == 0 and s else _verdict(measure, first, s, test, limits)
            for number, (s, test) in enumerate(zip(samples, tests))
        ),
    )


def _mean(parts: Sequence[FileRole | None], runs: int) -> FileRole | None:
    there = [part for part in parts if part is not None]
    if not there:
        return None
    total = there[0]
    for part in there[1:]:
        total += part
    return FileRole(
        files=round(total.files / runs),
        size=round(total.size / runs),
        bytes=round(total.bytes / runs),
        time=total.time / runs,
        operations=round(total.operations / runs),
        seeks=round(total.seeks / runs),
    )


def _roles(
    data: Dataset, members: Sequence[Sequence[int]], substitutions: Sequence[Substitution]
) -> list[RoleRow]:
    by_log = measure_roles(data, substitutions)
    names = [list(dict.fromkeys(role for log in logs for role in by_log[log])) for logs in members]
    rows = []
    for found in match(names):
        parts = tuple(
            None if role is None else _mean([by_log[log].get(role) for log in logs], len(logs))
            for role, logs in zip(found, members)
        )
        rows.append(RoleRow(next(role for role in found if role is not None), parts))
    return sorted(rows, key=lambda row: (-abs(row.change), row.name))


# Run time says it if it is known; else the time in I/O.
def _overall(rows: Sequence[Row], group: int) -> str:
    by_name = {row.measure.name: row.verdicts[group] for row in rows}
    for name in ("run_time", "io_time"):
        word = {"better": "faster", "worse": "slower"}.get(by_name[name])
        if word:
            return word
    return "same" if all(v in ("same", "unknown") for v in by_name.values()) else "different"


def _notes(data: Dataset, groups: Sequence[Group], members: Sequence[Sequence[int]]) -> list[str]:
    notes = []
    jobs = data.rows("SELECT log, nprocs, partial, run_time, epoch(start) AS start FROM job ORDER BY log")
    if len({job["nprocs"] for job in jobs}) > 1:
        notes.append("the runs have different numbers of processes")
    if any(job["partial"] for job in jobs):
        notes.append("some logs lack records: their totals are lower bounds")
    if any(job["run_time"] is None for job in jobs):
        notes.append("some logs do not tell the run time")
    if all(len(group.paths) == 1 for group in groups):
        notes.append(
            "one run each: how much runs differ by chance is not known; compare groups of repeated runs"
        )
    starts = [[float(jobs[log]["start"]) for log in logs] for logs in members]
    for group, own in zip(groups[1:], starts[1:]):
        if not interleaved(starts[0], own):
            notes.append(
                f"the runs of {groups[0].name} and {group.name} were not interleaved: another hour may differ"
            )
    return notes


def compare(
    groups: Sequence[Group], *, substitutions: Sequence[Substitution] = (), limits: Limits | None = None
) -> Comparison:
    """Compares groups of logs with the first of them. Raises IolensError for unreadable logs."""
    if len(groups) < 2:
        raise IolensError("a comparison needs two logs or two groups", exit_code=USAGE)
    limits = limits or Limits()
    paths = [path for group in groups for path in group.paths]
    ends = [sum(len(group.paths) for group in groups[: n + 1]) for n in range(len(groups))]
    members = [list(range(end - len(group.paths), end)) for group, end in zip(groups, ends)]
    with Dataset(paths) as data:
        values = measure_logs(data)
        rows = [
            _row(m, [[values[log][m.name] for log in logs] for logs in members], limits) for m in MEASURES
        ]
        return Comparison(
            groups=tuple(groups),
            rows=tuple(rows),
            roles=tuple(_roles(data, members, substitutions)),
            verdicts=tuple("same" if n == 0 else _overall(rows, n) for n in range(len(groups))),
            notes=tuple(_notes(data, groups, members)),
            problems=tuple(data.problems),
        )
