"""An operation as text, and the data that operations write."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Union

Word = Union[int, str]


PERIOD = 17 * 23
LARGEST = 2 << 20
_PATTERN = bytes(10 if i % 17 == 16 else 97 + i % 23 for i in range(PERIOD)) * (LARGEST // PERIOD + 2)


@dataclass(frozen=True)
class Op:
    """What a thread of a process does; `together`: maybe at the same time as the operation before."""

    process: int
    thread: int
    verb: str
    words: tuple[Word, ...] = ()
    together: bool = False

    def __str__(self) -> str:
        words = " ".join(map(str, (self.verb, *self.words)))
        return f"{'|' * self.together}{self.process}.{self.thread} {words}"

    def alone(self) -> Op:
        return replace(self, together=False)


def parse(text: str) -> Op:
    """The operation of a line."""
    who, verb, *words = text.removeprefix("|").split()
    process, thread = map(int, who.split("."))
    numbers = tuple(int(w, 0) if w.lstrip("-").isalnum() and w.lstrip("-")[0].isdigit() else w for w in words)
    return Op(process, thread, verb, numbers, text.startswith("|"))


def data(index: int, size: int, repetition: int = 0) -> bytes:
    """What the operation of this index writes."""
    start = (index * 7 + repetition) % PERIOD
    return _PATTERN[start : start + size]
