"""Several logs as one job: intervals are kept apart, overlaps are not counted twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from iolens.metrics import Dataset
from observed import Observe


def test_jobs_months_apart_are_two_intervals(corpus: Path) -> None:
    logs = [corpus / "logs" / f"{name}.darshan" for name in ("imbalanced-io", "skew-app")]
    with Dataset(logs) as data:
        run_times = [row["run_time"] for row in data.rows("SELECT run_time FROM job ORDER BY log")]
        intervals = data.metric("intervals")
        assert sorted(row["seconds"] for row in intervals) == pytest.approx(sorted(run_times))
        whole = data.metric("workflow")[0]
        assert (whole["jobs"], whole["intervals"], whole["processes"]) == (2, 2, 496 + 65536)
        assert whole["busy"] == pytest.approx(sum(run_times))
        assert whole["idle"] > 86400
        assert whole["concurrency"] == pytest.approx(1)


def test_the_same_hours_are_not_counted_twice(observe: Observe, tmp_path: Path) -> None:
    log = observe(["dd", "if=/dev/zero", f"of={tmp_path}/out", "bs=1000", "count=3"]).log
    with Dataset([log, log]) as data:
        seconds = data.rows("SELECT run_time FROM job WHERE log = 0")[0]["run_time"]
        (interval,) = data.metric("intervals")
        assert (interval["jobs"], interval["seconds"]) == (2, pytest.approx(seconds, abs=1e-6))
        (whole,) = data.metric("workflow")
        assert whole["busy"] == pytest.approx(seconds, abs=1e-6)
        assert whole["concurrency"] == pytest.approx(2, abs=1e-3)
        assert whole["bytes_written"] >= 2 * 3000


def test_steps_with_a_pause_between_them(observe: Observe) -> None:
    logs = [observe(["sleep", "0.1"]).log, observe(["sleep", "0.1"]).log]
    with Dataset(logs) as data:
        intervals = data.metric("intervals")
        assert [row["log"] for row in intervals] == [0, 1]
        whole = data.metric("workflow")[0]
        assert whole["span"] == pytest.approx(intervals[1]["end"] - intervals[0]["start"])
        assert whole["idle"] == pytest.approx(intervals[1]["start"] - intervals[0]["end"])
