"""A comparison as text for a terminal, and as plain values for JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from iolens.compare.comparison import Comparison, RoleRow, Row
from iolens.compare.statistics import Sample
from iolens.rules.text import counted, general, write
from iolens.shown import clean

__all__ = ["box_plot", "change", "differing", "quantity", "sentence", "to_plain", "to_text"]

_UNITS = {"s": "seconds", "bytes": "bytes", "bytes/s": "rate"}
_SIGNS = {"better": "+", "worse": "!", "different": "*", "same": " ", "unproven": "~", "unknown": "?"}


def quantity(value: float | None, unit: str) -> str:
    """A number of a measure with its unit: 1.2 GiB, 13.2 ms, 4,200."""
    if value is None:
        return "-"
    if unit not in _UNITS:
        return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"
    return ("-" if value < 0 else "") + write(abs(value), _UNITS[unit])


def change(ratio: float | None) -> str:
    """A ratio as people say it: +12.0 %, -50.0 %, x 3.2."""
    if ratio is None:
        return "-"
    if ratio >= 2:
        return f"x {general(ratio, 3)}"
    return f"{100 * (ratio - 1):+.1f} %" if ratio != 1 else "="


def box_plot(sample: Sample, low: float, high: float, width: int) -> str:
    """Whiskers from the least to the largest value, a box from Q1 to Q3, the median in it, on a scale low..high."""
    span = (high - low) or 1.0

    def place(value: float) -> int:
        return min(width - 1, max(0, round((value - low) / span * (width - 1))))

    cells = [" "] * width
    for position in range(place(sample.minimum), place(sample.maximum) + 1):
        cells[position] = "-"
    for position in range(place(sample.q1), place(sample.q3) + 1):
        cells[position] = "="
    cells[place(sample.minimum)] = cells[place(sample.maximum)] = "|"
    cells[place(sample.median)] = "#"
    for value in sample.outliers:
        cells[place(value)] = "o"
    return "".join(cells)


def _table(rows: Sequence[Sequence[str]], left: int = 1) -> Iterator[str]:
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    for row in rows:
        cells = [c.ljust(w) if n < left else c.rjust(w) for n, (c, w) in enumerate(zip(row, widths))]
        yield "  " + "  ".join(cells).rstrip()


def _measure_rows(comparison: Comparison, rows: Sequence[Row]) -> Iterator[list[str]]:
    header = ["", comparison.groups[0].name]
    for group in comparison.groups[1:]:
        header += [group.name, "change", " "]
    yield header
    for row in rows:
        unit = row.measure.unit
        cells = [row.measure.title, quantity(row.samples[0].mean if row.samples[0] else None, unit)]
        for number in range(1, len(comparison.groups)):
            s = row.samples[number]
            cells += [
                quantity(s.mean if s else None, unit),
                change(row.ratios[number]),
                _SIGNS[row.verdicts[number]],
            ]
        yield cells


def _role_rows(comparison: Comparison, roles: Sequence[RoleRow]) -> Iterator[list[str]]:
    header = ["file"]
    for group in comparison.groups:
        header += [f"{group.name}: size", "moved", "time", "calls", "seeks"]
    yield [*header, "change"]
    for row in roles:
        cells = [row.name if len(row.name) <= 60 else "..." + row.name[-57:]]
        for part in row.parts:
            if part is None:
                cells += ["-"] * 5
                continue
            cells += [quantity(part.size, "bytes"), quantity(part.bytes, "bytes"), quantity(part.time, "s")]
            cells += [f"{part.operations:,}", f"{part.seeks:,}"]
        yield [*cells, quantity(row.change, "s")]


def _test_of(samples: Sequence[Sample | None]) -> str:
    """What welch() has done with two of them."""
    return "Welch" if all(s and s.n > 1 for s in samples) else "one run against the spread of the others:"


def _statistics(comparison: Comparison) -> Iterator[str]:
    row = comparison.row("run_time")
    if not any(s and s.n > 1 for s in row.samples):
        row = comparison.row("io_time")
    samples = [s for s in row.samples if s is not None]
    if not any(s.n > 1 for s in samples):
        return
    low, high = min(s.minimum for s in samples), max(s.maximum for s in samples)
    yield f"{row.measure.title}, {row.measure.unit}, runs of each group (# is the median, o lies far beyond)"
    table = [["", "n", "least", "Q1", "median", "Q3", "largest", "mean", ""]]
    for group, s in zip(comparison.groups, row.samples):
        if s:
            values = (s.minimum, s.q1, s.median, s.q3, s.maximum, s.mean)
            table.append([group.name, str(s.n), *(f"{v:.6g}" for v in values), box_plot(s, low, high, 40)])
    yield from _table(table)
    for number, (group, test) in enumerate(zip(comparison.groups[1:], row.tests[1:]), 1):
        if test:
            yield (
                f"  {group.name} - {comparison.groups[0].name}: {test.low:+.6g} to {test.high:+.6g} s (95 %), "
                f"{_test_of((row.samples[0], row.samples[number]))} "
                f"t = {test.t:.4g}, df = {test.df:.5g}, p = {test.p:.4g}, effect size g = {test.effect:.3g}"
            )
    yield ""


def _seconds(row: Row, number: int) -> str:
    a, b = row.samples[0], row.samples[number]
    assert a and b
    text = f"{row.measure.title} {quantity(b.mean, 's')} against {quantity(a.mean, 's')}"
    return text + (f" ({change(row.ratios[number])})" if row.ratios[number] else "")


def _unproven(comparison: Comparison, number: int) -> str:
    """What may differ, and what it takes to know."""
    group, first = comparison.groups[number].name, comparison.groups[0].name
    rows = [r for r in comparison.rows if r.verdicts[number] == "unproven"]
    time = next((r for r in rows if r.measure.name in ("run_time", "io_time")), None)
    if time is None:
        return f"{group} may differ from {first} in {', '.join(r.measure.title for r in rows[:4])}: repeat both to know"
    a, b, test = time.samples[0], time.samples[number], time.tests[number]
    assert a and b and test
    word = "slower" if b.mean > a.mean else "faster"
    runs = f"{b.n} and {counted(a.n, 'run')} do not exclude chance (p = {test.p:.2g}): repeat both to know"
    return f"{group} may be {word} than {first}: {_seconds(time, number)}, but {runs}"


def sentence(comparison: Comparison, number: int) -> str:
    """What a group is against the first, in one sentence without a full stop."""
    group, first = comparison.groups[number].name, comparison.groups[0].name
    verdict = comparison.verdicts[number]
    if comparison.failures[number]:
        return f"{comparison.failures[number]}; which is faster is not known"
    if verdict == "same":
        if comparison.unexplained[0] or comparison.unexplained[number]:
            return f"of what is explained, {group} is as {first}; of the rest nothing is known"
        return f"{group} is as {first}: no difference beyond the limits"
    if verdict == "unproven":
        return _unproven(comparison, number)
    if verdict == "different":
        names = [
            r.measure.title for r in comparison.rows if r.verdicts[number] in ("better", "worse", "different")
        ]
        return f"{group} took about as long as {first}, but differs: {', '.join(names[:4])}"
    time = next(
        r for r in comparison.rows if r.verdicts[number] in ("better", "worse") and r.measure.unit == "s"
    )
    a, b = time.samples[0], time.samples[number]
    assert a and b
    text = f"{group} is {verdict} than {first}: {_seconds(time, number)}"
    cause = max(comparison.roles, key=lambda r: abs(_role_change(r, number)), default=None)
    if cause and abs(_role_change(cause, number)) > 0.1 * abs(b.mean - a.mean):
        text += f"; most of the change in calls: {cause.name} {_role_change(cause, number):+.3g} s"
    return text


def _role_change(row: RoleRow, number: int) -> float:
    first, other = row.parts[0], row.parts[number]
    return (other.time if other else 0.0) - (first.time if first else 0.0)


def differing(comparison: Comparison, *, everything: bool = False) -> list[Row]:
    """The measures to show: those that differ somewhere, or all; the two times where none does."""
    rows = [r for r in comparison.rows if everything or any(v not in ("same", "unknown") for v in r.verdicts)]
    return rows or [comparison.row("run_time"), comparison.row("io_time")]


def to_text(comparison: Comparison, *, everything: bool = False, files: int = 12) -> str:
    """The verdict first, then measures, statistics of repeated runs, and files."""
    lines = [sentence(comparison, number) for number in range(1, len(comparison.groups))]
    lines += [f"note: {note}" for note in comparison.notes] + [""]
    shown = differing(comparison, everything=everything)
    lines += _table(list(_measure_rows(comparison, shown)))
    said = {v for row in shown for v in row.verdicts[1:]} - {"same"}
    lines += [
        *(["  (" + ", ".join(f"{_SIGNS[v]} {v}" for v in _SIGNS if v in said) + ")"] if said else []),
        "",
    ]
    lines += _statistics(comparison)
    roles = [r for r in comparison.roles if everything or r.differs]
    if roles:
        lines += _table(list(_role_rows(comparison, roles if everything else roles[:files])))
        if not everything and len(roles) > files:
            lines.append(f"  ... {len(roles) - files} more: --all")
        lines.append("")
    return "\n".join(clean(line).rstrip() for line in lines).rstrip() + "\n"


def to_plain(comparison: Comparison) -> dict[str, Any]:
    """Dicts, lists, numbers and text: what --json prints."""
    return {
        "groups": [asdict(group) for group in comparison.groups],
        "verdicts": list(comparison.verdicts),
        "failures": list(comparison.failures),
        "unexplained": list(comparison.unexplained),
        "notes": list(comparison.notes),
        "measures": [
            {**asdict(row.measure), "samples": [asdict(s) if s else None for s in row.samples]}
            | {"ratios": list(row.ratios), "tests": [asdict(t) if t else None for t in row.tests]}
            | {"verdicts": list(row.verdicts)}
            for row in comparison.rows
        ],
        "files": [
            {"role": row.name, "change": row.change, "parts": [asdict(p) if p else None for p in row.parts]}
            for row in comparison.roles
        ],
    }
