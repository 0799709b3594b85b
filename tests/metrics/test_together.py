"""Tasks that ask a dataset by two threads: the same results in the same order, and nobody waits for ever."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import duckdb
import pytest
from iolens.metrics import Dataset, metrics
from iolens.metrics.makers import Makers
from iolens.rules import find
from jobs import Job

needs_two = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Small writes and reads of four ranks, and a file of all."""
    job = Job(nprocs=4)
    for rank in range(4):
        job.posix(
            f"/scratch/own.{rank}", rank, write={100: 5000}, opens=1, writes=5000, write_time=20.0 + rank
        )
    job.posix("/scratch/shared", read={47008: 400}, opens=4, reads=400, read_time=9.0)
    job.add("stdio", "/home/log", 0, opens=1, writes=10, bytes_written=800, write_time=0.1)
    return job.save(tmp_path / "job.darshan")


@pytest.fixture
def one_processor() -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


@needs_two
def test_results_are_in_the_order_of_the_tasks_whoever_did_them(log: Path) -> None:
    threads = set()

    def ask(data: Dataset, number: int) -> int:
        threads.add(threading.get_ident())
        return int(data.query(f"SELECT {number} + count(*) FROM range(200000)").fetchall()[0][0])

    with Dataset(log) as data:
        results = [result() for result in data.together([partial(ask, data, n) for n in range(60)])]
    assert results == [200000 + n for n in range(60)]
    assert len(threads) == 2


def test_every_metric_is_the_same_by_one_thread_and_by_two(log: Path, one_processor: None) -> None:
    with Dataset(log) as data:
        alone = [data.metric(name) for name in metrics()]
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    for _ in range(5):
        with Dataset(log) as data:
            tasks = [partial(data.metric, name) for name in reversed(metrics())]
            assert [result() for result in data.together(tasks)] == alone[::-1]


@needs_two
def test_a_task_that_fails_raises_when_its_result_is_wanted(log: Path) -> None:
    with Dataset(log) as data:
        wrong, right = data.together(
            [partial(data.rows, "SELECT no_such_column FROM job"), partial(data.rows, "SELECT 1 AS one")]
        )
        assert right() == [{"one": 1}]
        with pytest.raises(duckdb.BinderException, match="no_such_column"):
            wrong()


def test_findings_are_the_same_by_one_thread_and_by_two(log: Path, one_processor: None) -> None:
    with Dataset(log) as data:
        alone = find(data)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    with Dataset(log) as data:
        assert find(data) == alone


def test_makers_that_need_each_others_tables_do_not_wait_in_a_circle() -> None:
    makers, both = Makers(), threading.Barrier(2, timeout=30)
    told: dict[str, bool] = {}

    def make(own: str, others: str) -> None:
        with makers.making(own) as free:
            assert free
            both.wait()
            with makers.making(others) as free_too:
                told[own] = free_too

    threads = [threading.Thread(target=make, args=pair, daemon=True) for pair in (("a", "b"), ("b", "a"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert sorted(told) == ["a", "b"] and not all(told.values())


def test_a_table_that_is_being_made_is_waited_for() -> None:
    makers, begun, order = Makers(), threading.Event(), []

    def second() -> None:
        begun.set()
        with makers.making("a") as free:
            order.append(("second", free))

    thread = threading.Thread(target=second)
    with makers.making("a") as free:
        thread.start()
        begun.wait(30)
        order.append(("first", free))
    thread.join(30)
    assert order == [("first", True), ("second", True)]
