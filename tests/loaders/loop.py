"""A training loop with a loader of known parts. Prints as JSON how long it waited, and what its workers did.

usage: loop.py JSON: batches, epochs, workers; read, burn, sleep, step, hand (s for each batch; hand: of the loop's
processor time), start (s that a worker takes to begin); method (fork, spawn, forkserver); marked (workers name what
they do); library (which reads: zarr, pyarrow.parquet), inside (s on a processor in it), threads (of the library's own)
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from iolens.phases import end, phase, steps

PARTS = {
    **{"batches": 20, "workers": 0, "read": 0.0, "burn": 0.0, "sleep": 0.0, "step": 0.005, "start": 0.0},
    **{"method": "fork", "marked": True, "hand": 0.0, "epochs": 1},
    **{"library": "", "inside": 0.0, "threads": False},
}


def burn(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def get(parts: dict[str, Any]) -> float:
    """What is read for a batch. Seconds in reads."""
    fd = os.open("samples", os.O_RDONLY)
    before = time.monotonic()
    if parts["read"]:
        os.pread(fd, 1000, 0)  # which the test makes slow
    read = time.monotonic() - before
    os.close(fd)
    burn(parts["inside"])
    return read


def get_in_thread(parts: dict[str, Any]) -> float:
    found: list[float] = []
    thread = threading.Thread(target=lambda: found.append(get(parts)))
    thread.start()
    thread.join()
    return found[0]


def reader(parts: dict[str, Any]) -> Callable[[dict[str, Any]], float]:
    call = get_in_thread if parts["threads"] else get
    if parts["library"] == "zarr":
        import zarr

        return zarr.Array(call).__getitem__
    if parts["library"] == "pyarrow.parquet":
        import pyarrow.parquet

        return pyarrow.parquet.ParquetFile(call).read_row_group
    return call


def make(parts: dict[str, Any]) -> tuple[float, float, float, float]:
    """A batch. Seconds in all, in reads, otherwise in the library, on the processor without it."""
    began, processor = time.monotonic(), time.thread_time()
    read = READER[0](parts)
    library, inside = time.monotonic() - began - read, time.thread_time() - processor
    burn(parts["burn"])
    time.sleep(parts["sleep"])
    if not parts["library"]:
        library = inside = 0
    return time.monotonic() - began, read, library, time.thread_time() - processor - inside


READER: list[Callable[[dict[str, Any]], float]] = []


def work(parts: dict[str, Any], tasks: Any, results: Any) -> None:
    READER[:] = [reader(parts)]
    time.sleep(parts["start"])
    while (number := tasks.get()) is not None:
        before = time.monotonic()
        with phase("loader: fetch") if parts["marked"] else nullcontext():
            made = make(parts)
        results.put((number, (*made, time.monotonic() - before)))


class Loader:
    """Batches in order, two of each worker ahead."""

    def __init__(self, parts: dict[str, Any]) -> None:
        self.parts = parts
        self.made: list[tuple[float, ...]] = []

    def __iter__(self) -> Any:
        if not self.parts["workers"]:
            return self.alone()
        context = multiprocessing.get_context(self.parts["method"])
        results = context.SimpleQueue()
        queues = [context.SimpleQueue() for _ in range(self.parts["workers"])]
        workers = [context.Process(target=work, args=(self.parts, tasks, results)) for tasks in queues]
        for worker in workers:
            worker.start()
        return self.of_workers(workers, queues, results)

    def alone(self) -> Any:
        for _ in range(self.parts["batches"]):
            before = time.monotonic()
            made = make(self.parts)
            self.made.append((*made, time.monotonic() - before))
            yield None

    def of_workers(self, workers: list[Any], queues: list[Any], results: Any) -> Any:
        batches, ahead = self.parts["batches"], 2 * len(queues)
        for number in range(min(batches, ahead)):
            queues[number % len(queues)].put(number)
        arrived: dict[int, tuple[float, ...]] = {}
        for number in range(batches):
            while number not in arrived:
                other, made = results.get()
                arrived[other] = made
            if number + ahead < batches:
                queues[number % len(queues)].put(number + ahead)
            burn(self.parts["hand"])
            self.made.append(arrived.pop(number))
            yield None
        for tasks in queues:
            tasks.put(None)
        for worker in workers:
            worker.join()


class Timed:
    """A loader, and the seconds in it: less than a wait by what another program has the processor for between both."""

    def __init__(self, loader: Loader) -> None:
        self.loader, self.seconds = loader, 0.0

    def __iter__(self) -> Any:
        before = time.monotonic()
        self.batches = iter(self.loader)
        self.seconds += time.monotonic() - before
        return self

    def __next__(self) -> Any:
        before = time.monotonic()
        try:
            return next(self.batches)
        finally:
            self.seconds += time.monotonic() - before


def main() -> None:
    parts = {**PARTS, **json.loads(sys.argv[1])}
    Path("samples").write_bytes(bytes(1000))
    READER[:] = [reader(parts)]
    end()  # nothing; what it imports is no part of the loop
    loader, stepping, began = Loader(parts), 0.0, time.monotonic()
    timed = Timed(loader)
    for _ in range(parts["epochs"]):
        for _ in steps(timed):
            before = time.monotonic()
            time.sleep(parts["step"])
            stepping += time.monotonic() - before
    loop = time.monotonic() - began
    total, read, library, processor, outside = (sum(column) for column in zip(*loader.made))
    most = outside if parts["workers"] else loop - stepping
    told = {"loop": loop, "wait": loop - stepping, "waited": timed.seconds, "batches": len(loader.made)}
    told |= {"made": total, "made_at_most": most, "read": read, "library": library, "processor": processor}
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
