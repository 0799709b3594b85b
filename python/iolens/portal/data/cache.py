"""A cache: values that are made once for a key; the ones used last are kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["Cache"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class _Place(Generic[V]):
    """Where one thing stands, once it is made."""

    def __init__(self) -> None:
        self.making = threading.Lock()
        self.made: V | None = None


class Cache(Generic[K, V]):
    """A request for a value that is being made waits for it, never for another key's."""

    def __init__(self) -> None:
        self._places: OrderedDict[K, _Place[V]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K, make: Callable[[], V], most: int) -> V:
        """What ``make`` returned for this key. Of the keys asked for last, ``most`` are kept."""
        with self._lock:
            place = self._places.setdefault(key, _Place())
            self._places.move_to_end(key)
            while len(self._places) > most:
                self._places.popitem(last=False)
        with place.making:
            if place.made is None:
                place.made = make()
            return place.made

    def __len__(self) -> int:
        return len(self._places)

    def newest(self) -> list[tuple[K, V]]:
        """Of what is made, what was asked for last first."""
        with self._lock:
            return [
                (key, place.made) for key, place in reversed(self._places.items()) if place.made is not None
            ]

    def clear(self) -> None:
        """Ends what no request uses."""
        with self._lock:
            self._places.clear()
