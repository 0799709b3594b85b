"""Statistics of repeated runs, against the figures of the published comparisons and textbook values."""

from __future__ import annotations

import math

import pytest
from iolens.compare import interleaved, order_chance, sample, welch
from iolens.compare.text import box_plot, change, quantity


def spread(mean: float, sd: float, n: int) -> list[float]:
    """n values with exactly this mean and standard deviation."""
    raw = [float(i) for i in range(n)]
    middle = sum(raw) / n
    scale = sd / math.sqrt(sum((v - middle) ** 2 for v in raw) / (n - 1))
    return [mean + (v - middle) * scale for v in raw]


def test_quartiles_and_outliers() -> None:
    s = sample([1, 2, 3, 4, 5, 6, 7, 8, 9, 100])
    assert (s.minimum, s.q1, s.median, s.q3, s.maximum, s.mean) == (1, 3.25, 5.5, 7.75, 100, 14.5)
    assert s.outliers == (100,)
    assert sample([4.0]).sd == 0
    with pytest.raises(ValueError, match="needs a value"):
        sample([])


def test_student_s_sleep_data() -> None:
    a = sample([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
    b = sample([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])
    test = welch(a, b)
    assert test is not None
    assert test.t == pytest.approx(1.8608, abs=5e-5)
    assert test.df == pytest.approx(17.776, abs=5e-4)
    assert test.p == pytest.approx(0.07939, abs=5e-6)
    assert (test.low, test.high) == pytest.approx((-0.2054832, 3.3654832), abs=5e-7)


def test_the_published_comparison_of_twenty_runs() -> None:
    """t = 0.0678, df = 35.989, p = 0.9463, -10.09511 to 10.79374 s: the spreads follow from df and the interval."""
    difference = (10.79374 - 10.09511) / 2
    error = difference / 0.0678
    # (1 + r)^2 / (1 + r^2) * 19 = 35.989 gives the ratio r of the variances.
    k = 35.989 / 19
    r = (1 - math.sqrt(1 - (k - 1) ** 2)) / (k - 1)
    va = error**2 / (1 + r) * 20
    a, b = sample(spread(397.9, math.sqrt(va), 20)), sample(spread(397.9 + difference, math.sqrt(va * r), 20))
    test = welch(a, b)
    assert test is not None
    assert test.t == pytest.approx(0.0678, abs=5e-5)
    assert test.df == pytest.approx(35.989, abs=5e-4)
    assert test.p == pytest.approx(0.9463, abs=5e-5)
    assert (test.low, test.high) == pytest.approx((-10.09511, 10.79374), abs=0.01)


def test_one_run_is_judged_by_the_spread_of_the_others() -> None:
    history = sample([10.0, 10.2, 9.9, 10.1, 9.8])
    usual, unusual = welch(history, sample([10.15])), welch(history, sample([12.0]))
    assert usual is not None
    assert unusual is not None
    assert usual.p > 0.3
    assert unusual.p < 0.001
    assert welch(sample([1.0]), sample([2.0])) is None
    assert welch(sample([1.0, 1.0]), sample([2.0, 2.0])) is None


def test_equal_values_have_no_spread() -> None:
    for value in (0.1, 1 / 3, 7.3e-9, 1e15 + 0.1):
        same = sample([value] * 3)
        assert (same.mean, same.sd) == (value, 0)
        assert welch(same, sample([value] * 7)) is None
    almost = sample([0.3, 0.1 + 0.2, 0.3])
    assert almost.sd > 0
    assert welch(sample([0.3, 0.3, 0.3]), almost) is None


def test_the_order_of_few_runs() -> None:
    low, high = sample([1.0, 1.1, 0.9]), sample([5.0, 90.0, 61.0])
    assert order_chance(low, high) == order_chance(high, low) == 1 / 20
    assert order_chance(low, sample([1.1, 2.0])) is None
    assert order_chance(sample([1.0, 2.0]), sample([3.0, 4.0])) == 1 / 6


def test_interleaving() -> None:
    assert interleaved([1, 3, 5], [2, 4, 6])
    assert not interleaved([1, 2, 3], [4, 5, 6])
    assert interleaved([1], [2])


def test_box_plot_marks_the_quartiles() -> None:
    s = sample([0, 10, 20, 30, 40])
    assert box_plot(s, 0, 40, 41) == "|" + "-" * 9 + "=" * 10 + "#" + "=" * 10 + "-" * 9 + "|"
    assert "o" in box_plot(sample([1, 1, 1, 1, 50]), 0, 50, 20)


def test_words_for_numbers() -> None:
    assert [quantity(v, "s") for v in (0, 2e-5, 0.25, 12.5, 20000)] == [
        "0 s",
        "20 us",
        "250 ms",
        "12.5 s",
        "5 h 33 min",
    ]
    assert quantity(3 * 2**30, "bytes/s") == "3 GiB/s"
    assert quantity(12345, "calls") == "12,345"
    assert [change(r) for r in (1, 1.1, 0.5, 4, None)] == ["=", "+10.0 %", "-50.0 %", "x 4", "-"]
