"""A package with PyTorch's names of modules, classes and methods, for machines without PyTorch."""

from __future__ import annotations

from pathlib import Path

__all__ = ["install"]

FILES = {
    "__init__.py": "from .utils.data.dataloader import DataLoader\n",
    "utils/__init__.py": "",
    "utils/data/__init__.py": "from .dataloader import DataLoader\n",
    "utils/data/_utils/__init__.py": "from . import fetch\n",
    "utils/data/_utils/fetch.py": """\
class _MapDatasetFetcher:
    def __init__(self, dataset, batch_size):
        self.dataset, self.batch_size = dataset, batch_size
    def fetch(self, index):
        if self.batch_size is None:
            return self.dataset[index]
        last = min(len(self.dataset), (index + 1) * self.batch_size)
        return [self.dataset[n] for n in range(index * self.batch_size, last)]
class _IterableDatasetFetcher(_MapDatasetFetcher):
    def fetch(self, index):
        return next(self.dataset)
""",
    "utils/data/dataloader.py": """\
import atexit, multiprocessing
from . import _utils
class _BaseDataLoaderIter:
    def __init__(self, loader):
        self.fetcher = _utils.fetch._MapDatasetFetcher(loader.dataset, loader.batch_size)
        self.length = -(-len(loader.dataset) // (loader.batch_size or 1))
        self.reset()
    def reset(self):
        self._num_yielded = 0
    def __iter__(self):
        return self
    def __next__(self):
        if self._num_yielded == self.length:
            self.end()
            raise StopIteration
        data = self._next_data()
        self._num_yielded += 1
        return data
    def end(self):
        pass
    def _next_data(self):
        return self.fetcher.fetch(self._num_yielded)
class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader):
        context = multiprocessing.get_context(loader.method)
        self.persistent, self.results = loader.persistent, context.SimpleQueue()
        self.tasks = [context.SimpleQueue() for _ in range(loader.workers)]
        super().__init__(loader)
        arguments = [(self.fetcher, tasks, self.results) for tasks in self.tasks]
        self.workers = [context.Process(target=work, args=one, daemon=True) for one in arguments]
        for worker in self.workers:
            worker.start()
        if self.persistent:
            atexit.register(self.stop)
    def reset(self):
        super().reset()
        self.arrived, self.sent = {}, 0
        for _ in range(2 * len(self.tasks)):
            self.send()
    def send(self):
        if self.sent < self.length:
            self.tasks[self.sent % len(self.tasks)].put(self.sent)
            self.sent += 1
    def end(self):
        if not self.persistent:
            self.stop()
    def stop(self):
        for tasks in self.tasks:
            tasks.put(None)
        for worker in self.workers:
            worker.join()
    def _next_data(self):
        while self._num_yielded not in self.arrived:
            number, batch = self.results.get()
            self.arrived[number] = batch
        self.send()
        return self.arrived.pop(self._num_yielded)
def work(fetcher, tasks, results):
    while (number := tasks.get()) is not None:
        results.put((number, fetcher.fetch(number)))
class DataLoader:
    def __init__(self, dataset, num_workers=0, method="fork", batch_size=None, persistent_workers=False):
        self.dataset, self.workers, self.method = dataset, num_workers, method
        self.batch_size, self.persistent, self.iterator = batch_size, persistent_workers, None
    def __iter__(self):
        if not self.workers:
            return _BaseDataLoaderIter(self)
        if self.persistent and self.iterator:
            self.iterator.reset()
            return self.iterator
        self.iterator = _MultiProcessingDataLoaderIter(self)
        return self.iterator
""",
}


def install(folder: Path) -> dict[str, str]:
    """Makes the package in a folder. Returns the environment that finds it."""
    for name, text in FILES.items():
        file = folder / "torch" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return {"PYTHONPATH": str(folder)}
