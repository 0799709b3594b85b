"""Writes Darshan logs of any shape for tests and benchmarks, without the library under test."""

from __future__ import annotations

import bz2
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MAGIC = 6567223
MODULES = 64
HEADER = 1328
JOB_METADATA = 1024
POSIX, STDIO, DXT_POSIX, HEATMAP = 1, 9, 10, 15  # module ids

PACK = {0: zlib.compress, 1: bz2.compress, 2: bytes}


@dataclass
class LogMaker:
    """A 3.41 log; bytes(maker) is the file. regions: module id -> (record version, uncompressed bytes)."""

    nprocs: int = 1
    uid: int = 1000
    start: int = 1_700_000_000
    end: int = 1_700_000_100
    start_ns: int = 0
    end_ns: int = 0
    job_id: int = 42
    exe: bytes = b"/bin/program --with arguments"
    metadata: bytes = b"lib_ver=3.4.7\n"
    mounts: Sequence[tuple[str, str]] = (("ext4", "/"), ("lustre", "/scratch"))  # type, mount point
    names: Mapping[int, bytes] = field(default_factory=dict)
    regions: Mapping[int, tuple[int, bytes]] = field(default_factory=dict)
    partial: Iterable[int] = ()
    order: str = "<"
    compression: int = 0

    def pack(self, form: str, *values: object) -> bytes:
        return struct.pack(self.order + form, *values)

    def job(self) -> bytes:
        times = (self.start, self.start_ns, self.end, self.end_ns)
        numbers = self.pack("7q", self.uid, *times, self.nprocs, self.job_id)
        mounts = "".join(f"\n{kind}\t{point}" for kind, point in self.mounts).encode()
        return numbers + self.metadata.ljust(JOB_METADATA, b"\0") + self.exe + mounts + b"\0"

    def name_region(self) -> bytes:
        return b"".join(self.pack("Q", number) + name + b"\0" for number, name in self.names.items())

    def __bytes__(self) -> bytes:
        compress = PACK[self.compression]
        job = compress(self.job())
        places, versions, body = [(0, 0)] * (1 + MODULES), [0] * MODULES, [job]
        at = HEADER + len(job)
        parts = [(0, 0, self.name_region())]
        parts += [(number + 1, version, raw) for number, (version, raw) in sorted(self.regions.items())]
        for place, version, raw in parts:
            stored = compress(raw) if raw else b""
            places[place] = (at, len(stored))
            if place:
                versions[place - 1] = version
            at += len(stored)
            body.append(stored)
        head = b"3.41".ljust(8, b"\0") + self.pack("q", MAGIC) + bytes([self.compression]).ljust(8, b"\0")
        head += self.pack("Q", sum(1 << number for number in self.partial))
        head += b"".join(self.pack("QQ", *place) for place in places)
        head += self.pack(f"{MODULES}I", *versions)
        assert len(head) == HEADER
        return head + b"".join(body)


def record(schema: Mapping[str, object], order: str = "<", **values: object) -> bytes:
    """A record of fixed size from one module of the build's schema.json; fields not named are 0."""
    fields = schema["fields"]
    out = struct.pack(order + "Qq", values.pop("id", 0), values.pop("rank", 0))
    assert isinstance(fields, list)
    for one in fields:
        count = one["count"]
        if one["type"] in {"uuid", "text"}:
            out += bytes({"uuid": 16, "text": 8}[one["type"]] * count)
            continue
        value = values.pop(one["name"], 0)
        items = list(value) if isinstance(value, (list, tuple)) else [value] * count
        out += struct.pack(order + str(count) + {"i64": "q", "u64": "Q", "f64": "d"}[one["type"]], *items)
    assert not values, f"no such fields: {list(values)}"
    return out


def plain_log(**more: Any) -> LogMaker:
    """An uncompressed log of a small job."""
    small: dict[str, Any] = {"nprocs": 4, "uid": 500, "job_id": 77, "exe": b"./program", "compression": 2}
    small |= {"start": 1000, "end": 1010, "end_ns": 500_000_000, "mounts": [("ext4", "/")]}
    return LogMaker(**{**small, "metadata": b"lib_ver=3.5.0\n", **more})


_SIZES = "0_100 100_1k 1k_10k 10k_100k 100k_1m 1m_4m 4m_10m 10m_100m 100m_1g 1g_plus".split()
_STAMPS = "open_start read_start write_start close_start open_end read_end write_end close_end".split()
POSIX_INTEGERS = [
    *"opens filenos dups reads writes seeks stats mmaps fsyncs fdsyncs rename_sources rename_targets".split(),
    *"renamed_from mode bytes_read bytes_written max_byte_read max_byte_written consec_reads".split(),
    *"consec_writes seq_reads seq_writes rw_switches mem_not_aligned mem_alignment".split(),
    *"file_not_aligned file_alignment max_read_time_size max_write_time_size".split(),
    *[f"size_{way}_{size}" for way in ("read", "write") for size in _SIZES],
    *[f"{what}{n}_{part}" for what, value in (("stride", "stride"), ("access", "access"))
      for part in (value, "count") for n in range(1, 5)],
    *"fastest_rank fastest_rank_bytes slowest_rank slowest_rank_bytes".split(),
]  # fmt: skip
POSIX_DOUBLES = [
    *[f"{stamp}_timestamp" for stamp in _STAMPS],
    *"read_time write_time meta_time max_read_time max_write_time".split(),
    *"fastest_rank_time slowest_rank_time variance_rank_time variance_rank_bytes".split(),
]


def posix(record_id: int, rank: int = 0, **counters: float) -> bytes:
    """A POSIX 4 record of zeros but for some counters."""
    unknown = set(counters) - {*POSIX_INTEGERS, *POSIX_DOUBLES}
    assert not unknown, f"no such counters: {unknown}"
    integers = [int(counters.get(name, 0)) for name in POSIX_INTEGERS]
    doubles = [counters.get(name, 0.0) for name in POSIX_DOUBLES]
    return struct.pack("<Qq69q17d", record_id, rank, *integers, *doubles)


def heatmap(record_id: int, rank: int, width: float, writes: Sequence[int], reads: Sequence[int]) -> bytes:
    assert len(writes) == len(reads)
    head = struct.pack("<Qqdq16x", record_id, rank, width, len(writes))
    return head + struct.pack(f"<{2 * len(writes)}q", *writes, *reads)


Segment = tuple[int, int, float, float]  # offset, length, start, end


def dxt_posix(record_id: int, rank: int, writes: Sequence[Segment], reads: Sequence[Segment]) -> bytes:
    """A DXT_POSIX 1 record."""
    head = struct.pack("<Qqq64sqq", record_id, rank, 0, b"node01", len(writes), len(reads))
    return head + b"".join(struct.pack("<qqdd", *segment) for segment in [*writes, *reads])
