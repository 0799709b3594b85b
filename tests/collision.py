"""Texts of one hash (format/base/hash.c), made at once: the hash is no secret and a block of it can be undone."""

from __future__ import annotations

import itertools
import struct

SHIFTS = [(43, 9, 8), (38, 23, 5), (35, 49, 11), (12, 18, 22)]
MASK = (1 << 64) - 1


def mixed(a: int, b: int, c: int) -> tuple[int, int, int]:
    for x, y, z in SHIFTS:
        a = (a - b - c & MASK) ^ c >> x
        b = (b - c - a & MASK) ^ a << y & MASK
        c = (c - a - b & MASK) ^ b >> z
    return a, b, c


def after(block: bytes) -> tuple[int, int, int]:
    a, b, c = struct.unpack("<3Q", block)
    return mixed(a, b, 0x9E3779B97F4A7C13 + c & MASK)


def of(text: bytes, start: bytes = b"other-", without: bytes = b"\0\t\n\r/") -> bytes:
    """A text that begins with `start` and has the hash of the first one, which is of 48 bytes at least."""
    goal = [x + y for x, y in zip(after(text[:24]), struct.unpack("<3Q", text[24:48]))]
    for k in itertools.count():
        block = start + b"%0*d" % (24 - len(start), k)
        rest = struct.pack("<3Q", *(x - y & MASK for x, y in zip(goal, after(block))))
        if not set(rest) & set(without):
            return block + rest + text[48:]
    raise AssertionError
