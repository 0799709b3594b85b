"""What takes more than a second says so: one line on standard error, where that is a terminal, gone when it is over."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, TextIO, TypeVar

__all__ = ["Progress", "each", "step"]

_Item = TypeVar("_Item")

_CLEAR = "\r\x1b[K"


class _Guarded:
    """A stream that has the line gone before something else is printed."""

    def __init__(self, stream: TextIO, progress: Progress) -> None:
        self._stream = stream
        self._progress = progress

    def write(self, text: str) -> int:
        with self._progress.lock:
            self._progress.hide()
            return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Progress:
    """While it is entered, the step that is under way is shown each second.

    stream: a terminal. interval: seconds from one line to the next.
    """

    def __init__(self, stream: TextIO, interval: float = 1.0) -> None:
        self.lock = threading.RLock()
        self._stream = stream
        self._interval = interval
        self._text = "working"
        self._shown = False
        self._over = threading.Event()
        self._painter = threading.Thread(target=self._paint, daemon=True)
        self._kept: tuple[Any, Any] = (sys.stdout, sys.stderr)

    def __enter__(self) -> Progress:
        global _current  # noqa: PLW0603 -- commands have one standard error
        _current = self
        self._kept = (sys.stdout, sys.stderr)
        sys.stdout, sys.stderr = (_Guarded(stream, self) for stream in self._kept)
        self._painter.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _current  # noqa: PLW0603
        _current = None
        sys.stdout, sys.stderr = self._kept
        self._over.set()
        self._painter.join()
        with self.lock:
            self.hide()

    def step(self, text: str) -> None:
        """What is being done from now on."""
        self._text = text

    def hide(self) -> None:
        """The line is gone; the caller has the lock."""
        if self._shown:
            self._stream.write(_CLEAR)
            self._stream.flush()
        self._shown = False

    def _paint(self) -> None:
        start = time.monotonic()
        while not self._over.wait(self._interval):
            with self.lock:
                self._stream.write(f"{_CLEAR}iolens: {self._text}, {time.monotonic() - start:.0f} s")
                self._stream.flush()
                self._shown = True


_current: Progress | None = None


def step(text: str) -> None:
    """Names the step that begins now: "reading job.darshan". Costs nothing where no progress is shown."""
    if _current:
        _current.step(text)


def each(text: str, items: Iterable[_Item], total: int) -> Iterator[_Item]:
    """The items; while one is worked on, the step is ``text: 3 of total``."""
    for number, item in enumerate(items, 1):
        step(f"{text}: {number} of {total}")
        yield item
