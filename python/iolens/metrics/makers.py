"""Which thread makes which table: the others wait for it, but never in a circle."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Makers"]


class Makers:
    """Tables that are being made, and the threads that make them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._maker: dict[str, int] = {}
        self._waits_for: dict[int, str] = {}

    @contextmanager
    def making(self, name: str) -> Iterator[bool]:
        """Waits until no other thread makes the table. False: who asks is making it, or all would wait for each other.

        Then the statement at hand does not need it: it has a table of that name itself (WITH).
        """
        own = threading.get_ident()
        with self._changed:
            while name in self._maker and not self._in_circle(own, name):
                self._waits_for[own] = name
                self._changed.wait()
                del self._waits_for[own]
            free = name not in self._maker
            if free:
                self._maker[name] = own
        try:
            yield free
        finally:
            if free:
                with self._changed:
                    del self._maker[name]
                    self._changed.notify_all()

    def _in_circle(self, own: int, name: str) -> bool:
        """Does the thread that makes the table wait, directly or through others, for this thread?"""
        maker = self._maker.get(name)
        while maker is not None and maker != own:
            maker = self._maker.get(self._waits_for.get(maker, ""))
        return maker == own
