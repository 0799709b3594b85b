"""Ingest by Spark: each batch of logs is a task, wherever there is room for it.

Logs and lake are on a file system that all machines see, as those of a cluster are; iolens is installed on each. What
a task writes counts when this process has committed it, as without Spark.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Callable, TypeVar

from iolens.fleet.spark.session import first_line

__all__ = ["SparkPool"]

_Result = TypeVar("_Result")


def _run(batches: Iterable[Any]) -> Iterator[Any]:
    """In a task: the rows are a call in pieces, the function and its first arguments, then a log each."""
    import pyarrow

    rows = [
        pair for batch in batches for pair in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist())
    ]
    if rows:
        (function, arguments), *listed = (pickle.loads(value) for _, value in sorted(rows))
        done = pickle.dumps(function(*arguments, listed))
        yield pyarrow.record_batch([pyarrow.array([done], pyarrow.binary())], names=["done"])


class SparkPool(Executor):
    """Runs calls as tasks of Spark by mapInArrow. The last argument of a call is a list: of logs, a row each."""

    def __init__(self, session: Any, tasks: int) -> None:
        """tasks: how many run at a time, at most."""
        self._session = session
        self._threads = ThreadPoolExecutor(tasks, thread_name_prefix="spark")

    def submit(self, fn: Callable[..., _Result], /, *args: Any, **kwargs: Any) -> Future[_Result]:
        return self._threads.submit(self._call, fn, *args)

    def _call(self, function: Callable[..., _Result], *arguments: Any) -> _Result:
        from pyspark.errors import PySparkException

        *first, listed = arguments
        rows = [(n, pickle.dumps(row)) for n, row in enumerate(((function, tuple(first)), *listed))]
        frame = self._session.createDataFrame(rows, "place long, row binary").coalesce(1)
        try:
            (done,) = frame.mapInArrow(_run, "done binary").collect()
        except PySparkException as error:  # Spark has tried it again before
            raise BrokenProcessPool(first_line(error)) from error
        result: _Result = pickle.loads(bytes(done[0]))
        return result

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
