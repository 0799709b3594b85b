"""Logs made by hand: uncompressed 3.41, every byte as the test wants it."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

MAGIC = 6567223
HEADER = 1328


def posix(record_id: int, rank: int = 0, **counters: float) -> bytes:
    """A POSIX 4 record of zeros but for some counters, by index: i14=100 (integer 14), f8=0.5 (double 8)."""
    integers, doubles = [0] * 69, [0.0] * 17
    for name, value in counters.items():
        (integers if name[0] == "i" else doubles)[int(name[1:])] = value  # type: ignore[call-overload]
    return struct.pack("<Qq69q17d", record_id, rank, *integers, *doubles)


@dataclass
class PlainLog:
    exe: str = "./program"
    mounts: Sequence[tuple[str, str]] = (("ext4", "/"),)
    names: Mapping[int, bytes] = field(default_factory=dict)
    regions: Mapping[int, tuple[int, bytes]] = field(default_factory=dict)  # id: version, bytes
    nprocs: int = 4
    times: tuple[int, int, int, int] = (1000, 0, 1010, 500_000_000)  # start, ns, end, ns
    partial: int = 0
    metadata: bytes = b"lib_ver=3.5.0\n"

    def job(self) -> bytes:
        lines = "".join(f"\n{kind}\t{point}" for kind, point in self.mounts)
        text = (self.exe + lines).encode() + b"\0"
        head = struct.pack("<7q", 500, *self.times, self.nprocs, 77)
        return head + self.metadata.ljust(1024, b"\0") + text

    def name_region(self) -> bytes:
        return b"".join(struct.pack("<Q", i) + name + b"\0" for i, name in self.names.items())

    def build(self) -> bytes:
        body = self.job()
        places = {-1: (HEADER + len(body), len(self.name_region()))}
        body += self.name_region()
        for module, (_, data) in self.regions.items():
            places[module] = (HEADER + len(body), len(data))
            body += data
        head = struct.pack("<8sqB7xQ", b"3.41", MAGIC, 2, self.partial)
        for module in range(-1, 64):
            head += struct.pack("<QQ", *places.get(module, (0, 0)))
        for module in range(64):
            head += struct.pack("<I", self.regions.get(module, (0, b""))[0])
        assert len(head) == HEADER
        return head + body
