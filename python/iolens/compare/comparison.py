"""Groups of runs compared: what differs, by how much, is it more than noise, and where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from iolens.compare.failure import failures, how_runs_ended
from iolens.compare.measure import MEASURES, FileRole, Measure, measure_logs, measure_roles
from iolens.compare.roles import Substitution, match
from iolens.compare.statistics import Sample, Welch, interleaved, order_chance, sample, welch
from iolens.error import USAGE, IolensError
from iolens.metrics import Dataset
from iolens.rules.text import write

__all__ = ["Comparison", "Group", "Limits", "RoleRow", "Row", "compare"]


@dataclass(frozen=True)
class Group:
    """Runs that should be alike: repetitions of one configuration."""

    name: str
    paths: tuple[str, ...]


@dataclass(frozen=True)
class Limits:
    """What counts as a difference: both must be passed; of repeated runs chance must be excluded too."""

    relative: float = 0.05
    seconds: float = 0.05
    """For times, and for the times that rates are per."""
    p: float = 0.05
    """Largest probability of chance: of Welch's test, or of the order in which the runs come out."""


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
    """"same", "better", "worse", "different" (no direction is better), "unproven" (beyond the limits, but so may chance
    be), or "unknown"."""


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

    @property
    def differs(self) -> bool:
        """A group has none, moves or asks something else, or takes longer or shorter by more than the limit."""

        def same(a: FileRole | None, b: FileRole | None) -> bool:
            if a is None or b is None:
                return a is b
            return replace(a, time=b.time) == b and abs(a.time - b.time) <= Limits.seconds

        return not all(same(self.parts[0], part) for part in self.parts[1:])


@dataclass(frozen=True)
class Comparison:
    groups: tuple[Group, ...]
    rows: tuple[Row, ...]
    roles: tuple[RoleRow, ...]
    """Largest change of time first."""
    verdicts: tuple[str, ...]
    """Of each group against the first: "same", "faster", "slower", "unproven", "different", or "failed"."""
    failures: tuple[str, ...]
    """Of each group: why its times are not judged against the first's: runs failed or lack work. "" where they are."""
    unexplained: tuple[float, ...]
    """Of each group: the largest part, among its logs, of what moved without an explanation; 0 where it is little."""
    notes: tuple[str, ...]
    """What the reader has to know before believing it."""
    problems: tuple[IolensError, ...]

    def row(self, measure: str) -> Row:
        return next(row for row in self.rows if row.measure.name == measure)


def _is_small(measure: Measure, a: Sample, b: Sample, limits: Limits) -> bool:
    difference = abs(b.mean - a.mean)
    if difference <= limits.relative * max(abs(a.mean), abs(b.mean)):
        return True
    return measure.unit == "s" and difference < limits.seconds


def _by_chance(a: Sample, b: Sample, test: Welch | None, limits: Limits) -> bool:
    """Is the difference no more than what chance gives? Of few runs Welch's test cannot tell, their order may."""
    if test is None or test.p < limits.p:
        return False
    order = order_chance(a, b) if min(a.n, b.n) > 1 else None
    return order is None or order > limits.p


def _verdict(measure: Measure, a: Sample | None, b: Sample | None, test: Welch | None, limits: Limits) -> str:
    if a is None or b is None:
        return "unknown"
    if _is_small(measure, a, b, limits):
        return "same"
    if _by_chance(a, b, test, limits):
        return "unproven"
    if not measure.direction:
        return "different"
    return "better" if (b.mean < a.mean) == (measure.direction == "lower") else "worse"


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


def _of_rate(row: Row, time: Row, amounts: Sequence[Row], limits: Limits) -> Row:
    """A rate per seconds that do not differ by the limit does not differ either; one of other bytes is neither better
    nor worse: a run that reads less in less time may have the lower rate."""
    first = time.samples[0]
    verdicts = list(row.verdicts)
    moved = [sum(s.mean for s in samples if s) for samples in zip(*(one.samples for one in amounts))]
    for number, s in enumerate(time.samples):
        if verdicts[number] != "unknown" and first and s and abs(s.mean - first.mean) < limits.seconds:
            verdicts[number] = "same"
        alike = abs(moved[number] - moved[0]) <= limits.relative * max(moved[number], moved[0])
        if verdicts[number] in ("better", "worse") and not alike:
            verdicts[number] = "different"
    return replace(row, verdicts=tuple(verdicts))


def _of_failed(row: Row, failed: Sequence[str]) -> Row:
    """What a run did that failed, or lacks work, is neither better nor worse."""
    words = [
        "different" if why and word in ("better", "worse", "unproven") else word
        for word, why in zip(row.verdicts, failed)
    ]
    return replace(row, verdicts=tuple(words))


def _rows(
    values: Sequence[dict[str, float | None]],
    members: Sequence[Sequence[int]],
    limits: Limits,
    failed: Sequence[str],
) -> tuple[Row, ...]:
    rows = {
        m.name: _row(m, [[values[log][m.name] for log in logs] for logs in members], limits) for m in MEASURES
    }
    amounts = (rows["bytes_read"], rows["bytes_written"])
    judged = [
        _of_rate(row, rows[row.measure.per], amounts, limits) if row.measure.per else row
        for row in rows.values()
    ]
    return tuple(_of_failed(row, failed) for row in judged)


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


def _roles(by_log: Sequence[dict[str, FileRole]], members: Sequence[Sequence[int]]) -> list[RoleRow]:
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
    words = set(by_name.values()) - {"same", "unknown"}
    if words == {"unproven"} or "unproven" in (by_name["run_time"], by_name["io_time"]):
        return "unproven"
    return "different" if words else "same"


def _unexplained(data: Dataset, members: Sequence[Sequence[int]]) -> tuple[float, ...]:
    much = {row["log"]: row["share"] for row in data.metric("unexplained") if row["much_unexplained"]}
    return tuple(max((much.get(log, 0.0) for log in logs), default=0.0) for logs in members)


def _notes(data: Dataset, groups: Sequence[Group], members: Sequence[Sequence[int]]) -> list[str]:
    notes = []
    untimed = {row["log"]: row["untimed"] for row in data.metric("unexplained") if row["partly"]}
    for group, logs in zip(groups, members):
        moved = max((untimed.get(log, 0) for log in logs), default=0)
        if moved:
            notes.append(
                f"{write(moved, 'bytes')} of {group.name} moved in ways whose time is not known: "
                "times and bandwidths are without them"
            )
    for group, part in zip(groups, _unexplained(data, members)):
        if part:
            notes.append(
                f"{write(part, 'percent')} of the bytes of {group.name} are unexplained: "
                "its numbers are incomplete"
            )
    ends = how_runs_ended(data)
    if all(ends):
        notes.append(f"all runs failed ({', '.join(sorted(set(ends)))})")
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
    starts = [[float(jobs[log]["start"] or 0) for log in logs] for logs in members]
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
        by_log = measure_roles(data, substitutions)
        failed = failures(data, [group.name for group in groups], members, by_log)
        rows = _rows(measure_logs(data), members, limits, failed)
        return Comparison(
            groups=tuple(groups),
            rows=rows,
            roles=tuple(_roles(by_log, members)),
            verdicts=tuple(
                "failed" if why else _overall(rows, n) if n else "same" for n, why in enumerate(failed)
            ),
            failures=failed,
            unexplained=_unexplained(data, members),
            notes=tuple(_notes(data, groups, members)),
            problems=tuple(data.problems),
        )
