"""The cost of observing as text for a terminal, and as plain values for JSON."""

from __future__ import annotations

from typing import Any

from iolens.compare.statistics import Sample
from iolens.compare.text import box_plot, quantity
from iolens.overhead.cost import FEW, NARROW, Cost, Measure
from iolens.overhead.trial import command_text
from iolens.rules.text import counted, general
from iolens.shown import clean

__all__ = ["sentence", "to_plain", "to_text"]

_BOX = 48
_MEASURES = (
    ("run time", "run_time", "s"),
    ("processor time", "processor_time", "s"),
)


def _signed(value: float, unit: str) -> str:
    return ("+" if value >= 0 else "") + quantity(value, unit)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:+.2f} %"


def sentence(cost: Cost) -> str:
    """The answer in one or two lines."""
    time = cost.run_time
    interval = f"{_percent(time.of_mean(time.low))} to {_percent(time.of_mean(time.high))}"
    if cost.verdict == "none":
        return (
            "No overhead can be measured: the 95 % confidence interval of the difference in run time "
            f"includes 0 and is narrower than {100 * NARROW:.0f} % ({interval})."
        )
    if cost.verdict == "slower":
        return f"With iolens, the run time changes by {_percent(time.share)} ({interval})."
    if cost.verdict == "faster":
        return (
            f"With iolens, the run time changes by {_percent(time.share)} ({interval}). iolens makes nothing faster: "
            "something else differed between the runs."
        )
    more = (
        f"{counted(cost.trial.runs, 'run')} each are too few to estimate how many are needed: try -n 20."
        if cost.trial.runs < FEW
        else f"About {counted(cost.runs_needed, 'run')} each (-n) would narrow it to {100 * NARROW:.0f} %, "
        "if they vary like these."
    )
    return (
        "Not proven: the 95 % confidence interval of the difference in run time includes 0, but is "
        f"{100 * cost.width:.1f} % wide ({interval}). {more}"
    )


def _cell(of: Sample, unit: str) -> str:
    return f"{quantity(of.mean, unit)} ± {quantity(of.sd, unit)}"


def _rows(cost: Cost) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("", "without iolens", "with iolens", "difference", "")]
    for title, name, unit in _MEASURES:
        of: Measure = getattr(cost, name)
        rows.append(
            (
                title,
                _cell(of.without, unit),
                _cell(of.observed, unit),
                _signed(of.difference, unit),
                _percent(of.share),
            )
        )
    return rows


def _test(cost: Cost) -> list[str]:
    time = cost.run_time
    if time.welch is None:
        return ["All runs took the same time."]
    found = time.welch
    return [
        "Welch's two-sided t-test of the run times",
        f"  t                            {general(found.t, 4)}",
        f"  degrees of freedom           {found.df:.1f}",
        f"  p                            {general(found.p, 3)}",
        f"  95 % confidence interval     {_signed(found.low, 's')} to {_signed(found.high, 's')}",
    ]


def to_text(cost: Cost) -> str:
    """A page: the answer, means and deviations, the test, box plots."""
    trial, time = cost.trial, cost.run_time
    rows = _rows(cost)
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    table = [
        "  "
        + "  ".join(c.rjust(w) if n else c.ljust(w) for n, (c, w) in enumerate(zip(row, widths))).rstrip()
        for row in rows
    ]
    low = min(time.without.minimum, time.observed.minimum)
    high = max(time.without.maximum, time.observed.maximum)
    boxes = [
        f"  {name:<8} |{box_plot(of, low, high, _BOX)}|"
        for name, of in (("without", time.without), ("with", time.observed))
    ]
    return "\n".join(
        [
            f"{counted(trial.runs, 'run')} each with and without iolens, in turn: {clean(command_text(trial.command))}",
            sentence(cost),
            "",
            *table,
            "  (mean ± standard deviation)",
            "",
            *_test(cost),
            "",
            *boxes,
            f"  {'':<8} {quantity(low, 's'):<{_BOX // 2}}{quantity(high, 's'):>{_BOX // 2 + 2}}",
            "  (least, quarter, median #, three quarters, largest; o lies far beyond)",
            "",
        ]
    )


def _plain_sample(of: Sample) -> dict[str, Any]:
    return {
        "mean": of.mean,
        "sd": of.sd,
        "minimum": of.minimum,
        "median": of.median,
        "maximum": of.maximum,
        "values": list(of.values),
    }


def _plain_measure(of: Measure, unit: str) -> dict[str, Any]:
    test = of.welch
    return {
        "unit": unit,
        "without": _plain_sample(of.without),
        "with": _plain_sample(of.observed),
        "difference": of.difference,
        "share": of.share,
        "test": {"t": test.t, "df": test.df, "p": test.p, "low": test.low, "high": test.high}
        if test
        else None,
    }


def to_plain(cost: Cost) -> dict[str, Any]:
    """The content of `iolens schema overhead`."""
    return {
        "command": list(cost.trial.command),
        "runs": cost.trial.runs,
        "warmup": cost.trial.warmup,
        "options": list(cost.trial.options),
        "verdict": cost.verdict,
        "sentence": sentence(cost),
        "log_bytes": max(run.log for run in cost.runs),
        **{name: _plain_measure(getattr(cost, name), unit) for _, name, unit in _MEASURES},
    }
