"""How large a log of the same operations would be as Darshan writes it, from a log of iolens.

The same records with what Darshan's clock leaves of times: it counts seconds since 1970 in a double, whose last bit is
2^-22 s. Bits that iolens has not kept are filled with random ones. Every rank deflates what is its own (zlib's default
level), the first one what all share; there are no tables behind it. How close that is: docs/performance/mpi.md.
"""

from __future__ import annotations

import json
import random
import struct
import zlib
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

HEADER, HEATMAP, HEATMAP_HEAD = 1328, 15, 48
CLOCK, POINT, DURATION = 2.0**-22, 2.0**-19, 2.0**-20
BITS = 8  # units of which iolens keeps a short duration more exact (format/base/precision.h)
SHARED = -1

Module = dict[str, Any]


class Log(NamedTuple):
    size: int
    job: int  # bytes, as stored
    names: bytes
    modules: dict[int, bytes]
    regions: dict[str, int]  # bytes, as stored


def inflate(data: bytes) -> bytes:
    found = b""
    while data:
        stream = zlib.decompressobj()
        found += stream.decompress(data)
        data = stream.unused_data
    return found


def read(path: Path) -> Log:
    data = path.read_bytes()
    words = struct.unpack_from("<130Q", data, 32)
    (start, length), *modules = zip(words[::2], words[1::2])
    regions = {"header": HEADER, "job": start - HEADER, "names": length}
    regions |= {str(number): length for number, (_, length) in enumerate(modules) if length}
    regions["trailer"] = len(data) - sum(regions.values())
    raw = {n: inflate(data[at : at + length]) for n, (at, length) in enumerate(modules) if length}
    return Log(len(data), start - HEADER, inflate(data[start : start + length]), raw, regions)


def times_of(module: Module) -> tuple[list[int], dict[int, float], list[int]]:
    """Places of points in time, of durations and what iolens keeps of them, and of variances of times, in words."""
    fields = [field for field in module["fields"] if field["type"] == "f64"]
    points = [f["offset"] // 8 for f in fields if f["name"].endswith("_timestamp")]
    variances = [f["offset"] // 8 for f in fields if f["unit"] == "seconds^2"]
    every = {
        f["offset"] // 8: POINT if "rank_time" in f["name"] else DURATION
        for f in fields
        if f["unit"] == "seconds"
    }
    return points, {place: known for place, known in every.items() if place not in points}, variances


class Clock:
    """What Darshan's leaves of times."""

    def __init__(self) -> None:
        self.random = random.Random(1)

    def time(self, seconds: float, known: float) -> float:
        finer = seconds + (self.random.random() - 0.5) * max(known - CLOCK, 0)
        return max(round(finer / CLOCK), 1) * CLOCK if seconds else 0.0

    def record(self, record: bytes, module: Module) -> bytes:
        points, durations, variances = times_of(module)
        words = list(struct.unpack(f"<{len(record) // 8}Q", record))
        floats = struct.unpack(f"<{len(record) // 8}d", record)
        for place in points:
            words[place] = as_word(self.time(floats[place], POINT))
        same: dict[float, int] = {}  # a file's only write is its longest
        for place, known in durations.items():
            time = floats[place]
            words[place] = same.setdefault(
                time, as_word(self.time(time, known if time >= BITS * known else 0))
            )
        for place in variances:
            words[place] ^= self.random.getrandbits(36) if words[place] else 0
        return struct.pack(f"<{len(words)}Q", *words)


def as_word(number: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", number))[0])


def records_of(raw: bytes, module: Module) -> list[bytes]:
    """A record is as long as its module says; a heat map as its bins."""
    found, at = [], 0
    while at < len(raw):
        (bins,) = struct.unpack_from("<q", raw, at + 24)
        size = HEATMAP_HEAD + 16 * bins if module["id"] == HEATMAP else module["size"]
        found.append(raw[at : at + size])
        at += size
    return found


def names_of(raw: bytes) -> dict[bytes, bytes]:
    found, at = {}, 0
    while at < len(raw):
        end = raw.index(b"\0", at + 8) + 1
        found[raw[at : at + 8]] = raw[at:end]
        at = end
    return found


def rank_of(record: bytes) -> int:
    return int(struct.unpack_from("<q", record, 8)[0])


def deflated(by_rank: dict[int, list[bytes]]) -> int:
    return sum(len(zlib.compress(b"".join(parts))) for parts in by_rank.values() if any(parts))


def darshans(log: Log, schema: Path) -> int:
    """Bytes of the log as Darshan would write it."""
    modules = {module["id"]: module for module in json.loads(schema.read_text())["schema"]}
    names, clock, size = names_of(log.names), Clock(), HEADER + log.job
    named: dict[int, list[bytes]] = defaultdict(list)
    for number, raw in log.modules.items():
        by_rank: dict[int, list[bytes]] = defaultdict(list)
        for record in records_of(raw, modules[number]):
            kept = record if number == HEATMAP else clock.record(record, modules[number])
            by_rank[rank_of(record)].append(kept)
            named[rank_of(record)].append(names.pop(record[:8], b""))
        size += deflated(by_rank)
    named[SHARED if SHARED in named else 0].extend(names.values())
    return size + deflated(named)
