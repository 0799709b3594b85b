"""Ingest by Spark: each batch of logs is a task, wherever there is room for it.

Logs and lake are on a file system that all machines see, as those of a cluster are; iolens is installed on each. What
a task writes counts when this process has committed it, as without Spark.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Callable, NamedTuple, TypeVar

from iolens.error import USAGE, IolensError
from iolens.fleet.spark.session import first_line

__all__ = ["SparkPool"]

_Result = TypeVar("_Result")


class _Outcome(NamedTuple):
    """Of a call in a task: what it returned, or raised."""

    result: Any = None
    error: Exception | None = None


def _called(function: Callable[..., Any], arguments: tuple[Any, ...], listed: list[Any]) -> bytes:
    try:
        return pickle.dumps(_Outcome(function(*arguments, listed)))
    except ImportError:  # no log's fault: it ends the task, as one that comes before the call
        raise
    except Exception as error:
        return pickle.dumps(_Outcome(error=error))


def _run(batches: Iterable[Any]) -> Iterator[Any]:
    """In a task: the rows are a call in pieces, the function and its first arguments, then a log each."""
    import pyarrow

    rows = [
        pair for batch in batches for pair in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist())
    ]
    if rows:
        (function, arguments), *listed = (pickle.loads(value) for _, value in sorted(rows))
        done = _called(function, arguments, listed)
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
        """Raises BrokenProcessPool if a task ends without an answer that answers without logs.

        IolensError if it does not even without: Spark, or iolens on its machines, is broken, and no log is to blame.
        """
        *first, listed = arguments
        try:
            outcome = self._task(function, tuple(first), listed)
        except _errors() as error:  # Spark has tried it again before
            if listed:
                self._call(function, *first, [])
                raise BrokenProcessPool(_reason(error)) from error
            raise IolensError(f"Spark runs no task of iolens: {_reason(error)}", exit_code=USAGE) from error
        if outcome.error is not None:
            raise outcome.error
        result: _Result = outcome.result
        return result

    def _task(self, function: Callable[..., Any], first: tuple[Any, ...], listed: Sequence[Any]) -> _Outcome:
        rows = [(n, pickle.dumps(row)) for n, row in enumerate(((function, first), *listed))]
        frame = self._session.createDataFrame(rows, "place long, row binary").coalesce(1)
        (done,) = frame.mapInArrow(_run, "done binary").collect()
        outcome: _Outcome = pickle.loads(bytes(done[0]))
        return outcome

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)


def _errors() -> tuple[type[Exception], ...]:
    """PySpark's own, those of Java that it does not know, and of a Java that has ended or of packages that it lacks."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return (PySparkException, Py4JError, OSError, ImportError)


def _reason(error: BaseException) -> str:
    """In a line: what Python said in the task, else what Spark says."""
    text = str(error)
    said = re.finditer(r"^(?P<package>(?:\w+\.)*)(?P<line>\w+(?:Error|Exception): .+)$", text, re.M)
    python = [one["line"] for one in said if not one["package"].startswith(("org.", "java.", "scala."))]
    spark = re.findall(r"\bSparkException: (.+)$", text, re.M)
    return (python[-1:] or spark[:1] or [first_line(error)])[0]
