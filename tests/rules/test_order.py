"""Rows come in the same order, and the same ones of those that tie, however DuckDB divides and plans its work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cases
import cases_parallel
import pytest
from iolens.metrics import Dataset, metrics
from iolens.metrics.log_tables import LogTables
from iolens.rules import find

# All tables are small: what makes DuckDB divide them, and what gives other plans, whose rows come in other orders.
DIVIDED = ("SET threads = 4", "PRAGMA verify_parallelism")
PLANNED = ("SET threads = 2", "SET disabled_optimizers = 'join_order,build_side_probe_side,top_n'")


def plain(value: Any) -> Any:
    """Sums of seconds differ in their last digits with the order in which they are added up."""
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return {key: plain(one) for key, one in value.items()} if isinstance(value, dict) else value


def rows(logs: list[Path], settings: Sequence[str]) -> dict[str, Any]:
    """By name, those of every metric and of the evidence of every finding."""
    with Dataset(logs) as data:
        for setting in settings:
            data.query(setting)
        found: dict[str, Any] = {name: plain(data.metric(name)) for name in metrics()}
        for one in find(data):
            found[f"{one.rule} of log {one.log}"] = [one.message, *(plain(e.rows) for e in one.evidence)]
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Of every rule a job that it is about; some have more files that are alike than evidence has rows."""
    folder = tmp_path_factory.mktemp("made")
    known = {
        **{**cases.SUMMARY, **cases.SIZE, **cases.PATTERN, **cases.METADATA},
        **{**cases_parallel.SHARING, **cases_parallel.BALANCE, **cases_parallel.LAYOUT},
        **{**cases_parallel.LIBRARY, **cases_parallel.DATA},
    }
    return [job.save(folder / f"{name}.darshan") for name, (job, _, _) in known.items()]


@pytest.fixture(scope="module")
def released(corpus: Path) -> list[Path]:
    return sorted((corpus / "logs").glob("*.darshan"))


@pytest.mark.parametrize("logs", ["made", "released"])
def test_rows_and_their_order_are_the_same(logs: str, request: pytest.FixtureRequest) -> None:
    paths = request.getfixturevalue(logs)
    once = rows(paths, ["SET threads = 1"])
    assert len(once) > len(metrics()) + len(paths)
    for settings in (DIVIDED, PLANNED):
        again = rows(paths, settings)
        assert {name for name in once if once[name] != again.get(name)} == set() == set(again) - set(once)


def test_small_logs_are_judged_as_large_ones(made: list[Path]) -> None:
    small, large = LogTables(made), LogTables(made)
    assert small.small
    large.small = False
    with Dataset(small) as few, Dataset(large) as many:
        assert plain([vars(one) for one in find(few)]) == plain([vars(one) for one in find(many)])
