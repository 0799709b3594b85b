"""Processes that read batches, each with limits: what ends one, ends no other, and says which batch it was."""

from __future__ import annotations

import os
import resource
import signal
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Any, Callable, TypeVar

__all__ = ["MEMORY", "SECONDS", "Workers"]

SECONDS = 600.0
"""For a batch, and so for each log."""

MEMORY = 8 << 30
"""Bytes of a process."""

_Result = TypeVar("_Result")


def _prepare(memory: int) -> None:
    """In a worker."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    if most == resource.RLIM_INFINITY or memory < most:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, most))
    # It holds its own end of the queue open, and would wait for work of a killed ingest for ever.
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if parent := parent_process():
        parent.join()
    os._exit(1)


def _within(seconds: float, function: Callable[..., _Result], arguments: tuple[Any, ...]) -> _Result:
    """Calls the function; the kernel ends the process if that takes longer, whatever it waits for."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return function(*arguments)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


class Workers(Executor):
    """One call per process at a time: no more calls may be submitted than there are processes."""

    def __init__(self, seconds: float = SECONDS, memory: int = MEMORY) -> None:
        self._seconds = seconds
        self._memory = memory
        self._idle: list[ProcessPoolExecutor] = []
        self._all: list[ProcessPoolExecutor] = []

    def submit(self, fn: Callable[..., _Result], /, *args: Any, **kwargs: Any) -> Future[_Result]:
        one = self._idle.pop() if self._idle else self._start()
        future = one.submit(_within, self._seconds, fn, args)
        future.add_done_callback(lambda done: self._release(one, done))
        return future

    def _start(self) -> ProcessPoolExecutor:
        one = ProcessPoolExecutor(1, get_context("spawn"), _prepare, (self._memory,))
        self._all.append(one)
        return one

    def _release(self, one: ProcessPoolExecutor, done: Future[Any]) -> None:
        if not done.cancelled() and not isinstance(done.exception(), BrokenProcessPool):
            self._idle.append(one)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        for one in self._all:
            one.shutdown(wait, cancel_futures=cancel_futures)
