"""Writes Darshan logs of any shape for tests and benchmarks, without the library under test."""

from __future__ import annotations

import bz2
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

MAGIC = 6567223
MODULES = 64
HEADER = 1328
JOB_METADATA = 1024

_PACK = {0: zlib.compress, 1: bz2.compress, 2: bytes}


@dataclass
class LogMaker:
    """A 3.41 log; bytes(maker) is the file. regions: module id -> (record version, uncompressed bytes)."""

    nprocs: int = 1
    uid: int = 1000
    start: int = 1_700_000_000
    end: int = 1_700_000_100
    job_id: int = 42
    exe: bytes = b"/bin/program --with arguments"
    metadata: bytes = b"lib_ver=3.4.7\n"
    mounts: bytes = b"ext4\t/\nlustre\t/scratch"
    names: Mapping[int, bytes] = field(default_factory=dict)
    regions: Mapping[int, tuple[int, bytes]] = field(default_factory=dict)
    partial: Iterable[int] = ()
    order: str = "<"
    compression: int = 0

    def _pack(self, form: str, *values: object) -> bytes:
        return struct.pack(self.order + form, *values)

    def _job(self) -> bytes:
        numbers = self._pack("7q", self.uid, self.start, 0, self.end, 0, self.nprocs, self.job_id)
        return numbers + self.metadata.ljust(JOB_METADATA, b"\0") + self.exe + b"\n" + self.mounts + b"\0"

    def _names(self) -> bytes:
        return b"".join(self._pack("Q", number) + name + b"\0" for number, name in self.names.items())

    def __bytes__(self) -> bytes:
        squeeze = _PACK[self.compression]
        job = squeeze(self._job())
        places, versions, body = [(0, 0)] * (1 + MODULES), [0] * MODULES, [job]
        at = HEADER + len(job)
        parts = [(0, 0, self._names())]
        parts += [(number + 1, version, raw) for number, (version, raw) in sorted(self.regions.items())]
        for place, version, raw in parts:
            stored = squeeze(raw) if raw else b""
            places[place] = (at, len(stored))
            if place:
                versions[place - 1] = version
            at += len(stored)
            body.append(stored)
        head = b"3.41".ljust(8, b"\0") + self._pack("q", MAGIC) + bytes([self.compression]).ljust(8, b"\0")
        head += self._pack("Q", sum(1 << number for number in self.partial))
        head += b"".join(self._pack("QQ", *place) for place in places)
        head += self._pack(f"{MODULES}I", *versions)
        assert len(head) == HEADER
        return head + b"".join(body)


def record(schema: Mapping[str, object], order: str = "<", **values: object) -> bytes:
    """A record of fixed size from one module of the build's schema.json; fields not named are 0."""
    fields = schema["fields"]
    out = struct.pack(order + "Qq", values.pop("id", 0), values.pop("rank", 0))
    assert isinstance(fields, list)
    for one in fields:
        count = one["count"]
        value = values.pop(one["name"], 0)
        items = list(value) if isinstance(value, (list, tuple)) else [value] * count
        out += struct.pack(order + str(count) + {"i64": "q", "u64": "Q", "f64": "d"}[one["type"]], *items)
    assert not values, f"no such fields: {list(values)}"
    return out
