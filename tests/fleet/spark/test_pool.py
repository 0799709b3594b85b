"""Which failure of a task is a log's fault: none of Spark, of its machines or of what is installed there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Callable, Optional

import pytest
from iolens.error import IolensError
from iolens.fleet import Lake
from iolens.fleet.ingest.batch import Options
from iolens.fleet.ingest.ingest import Ingest, Summary
from iolens.fleet.spark import pool as spark_pool
from iolens.fleet.spark.pool import SparkPool
from made_area import LOGS, whole

pyarrow = pytest.importorskip("pyarrow")

Fails = Callable[[bytes], Optional[str]]
"""Of the rows of a task: what Spark says that it failed of, None if it does not."""

LOST = """An error occurred while calling o39.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: ExecutorLostFailure (executor 1 exited)
\tat java.lang.Thread.run
"""
MISSING = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "worker.py", line 1, in main
ModuleNotFoundError: No module named 'pandas'
org.apache.spark.api.python.PythonException: Traceback
"""


class SparkError(Exception):
    """In place of PySpark's."""


class Frame:
    """What a session makes of rows: collected, a task runs here, or fails."""

    def __init__(self, session: Session, rows: Sequence[tuple[int, bytes]]) -> None:
        self.session, self.rows = session, rows

    def coalesce(self, parts: int) -> Frame:
        return self

    def mapInArrow(self, run: Callable[[Any], Iterator[Any]], schema: str) -> Frame:
        self.run = run
        return self

    def collect(self) -> list[tuple[bytes]]:
        self.session.tasks += 1
        if said := self.session.fails(b"".join(row for _, row in self.rows)):
            raise SparkError(said)
        places, values = zip(*self.rows)
        columns = [pyarrow.array(places, pyarrow.int64()), pyarrow.array(values, pyarrow.binary())]
        batch = pyarrow.record_batch(columns, names=["place", "row"])
        return [(value,) for made in self.run([batch]) for value in made.column(0).to_pylist()]


class Session:
    def __init__(self, fails: Fails = lambda rows: None) -> None:
        self.fails, self.tasks = fails, 0

    def createDataFrame(self, rows: Sequence[tuple[int, bytes]], schema: str) -> Frame:
        return Frame(self, rows)


@pytest.fixture(autouse=True)
def errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_pool, "_errors", lambda: (SparkError, OSError, ImportError))


def ingested(area: Path, lake: Path, session: Session) -> Summary:
    options = Options(str(lake), rules=False)
    return Ingest(Lake.create(lake), options, jobs=1, pool=SparkPool(session, 1)).run([area])


def reasons(lake: Path) -> dict[str, str]:
    with Lake(lake).open() as data:
        return {
            Path(path).name: why for path, why in data.query("SELECT path, reason FROM quarantine").fetchall()
        }


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (MISSING, "ModuleNotFoundError: No module named 'pandas'"),
        (LOST, "Job aborted due to stage failure: ExecutorLostFailure (executor 1 exited)"),
    ],
)
def test_where_no_task_runs_no_log_is_to_blame(area: Path, tmp_path: Path, said: str, told: str) -> None:
    session = Session(lambda rows: said)
    with pytest.raises(IolensError) as raised:
        ingested(area, tmp_path / "lake", session)
    assert (str(raised.value), raised.value.exit_code) == (f"Spark runs no task of iolens: {told}", 2)
    assert session.tasks == 2 and reasons(tmp_path / "lake") == {}
    assert ingested(area, tmp_path / "lake", Session()).ingested == LOGS
    whole(tmp_path / "lake")


def test_an_executor_that_was_lost_takes_no_log_with_it(area: Path, tmp_path: Path) -> None:
    left = iter([LOST, None, LOST, None])
    assert ingested(area, tmp_path / "lake", Session(lambda rows: next(left, None))).ingested == LOGS
    assert reasons(tmp_path / "lake") == {}
    whole(tmp_path / "lake")


def test_a_log_that_fails_alone_twice_is_to_blame(area: Path, tmp_path: Path) -> None:
    (bad,) = area.glob("*_id7-*")
    alone = []

    def fails(rows: bytes) -> str | None:
        if bad.name.encode() not in rows:
            return None
        alone.append(rows.count(b".darshan") == 1)
        return "Python worker exited unexpectedly (crashed)"

    done = ingested(area, tmp_path / "lake", Session(fails))
    assert (done.ingested, done.quarantined) == (LOGS - 1, 1)
    assert reasons(tmp_path / "lake") == {bad.name: "the process that read it died"}
    assert sum(alone) == 2


def _raises(number: int, listed: Sequence[Any]) -> None:
    raise [IolensError("no such rule", exit_code=2), OSError(28, "No space left on device")][number]


@pytest.mark.parametrize(("number", "kind"), [(0, IolensError), (1, OSError)])
def test_what_a_call_raises_is_raised(number: int, kind: type[Exception]) -> None:
    session = Session()
    error = SparkPool(session, 1).submit(_raises, number, [b"log"]).exception()
    assert type(error) is kind and session.tasks == 1
