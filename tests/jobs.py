"""Jobs that never ran: logs with just the records and sections a test is about."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from logmaker import LogMaker, record
from places import BUILD

KiB, MiB, GiB = 1 << 10, 1 << 20, 1 << 30

IDS = {
    "posix": 1,
    "mpiio": 2,
    "h5f": 3,
    "h5d": 4,
    "pnetcdf_file": 5,
    "pnetcdf_var": 6,
    "lustre": 8,
    "apmpi": 14,
    "stdio": 9,
}
EDGES = [100, KiB, 10 * KiB, 100 * KiB, MiB, 4 * MiB, 10 * MiB, 100 * MiB, GiB]


@cache
def schemas() -> dict[str, dict[str, Any]]:
    listed = json.loads((BUILD / "format" / "schema.json").read_text())["schema"]
    return {one["key"]: one for one in listed}


def identify(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


def size_class(size: int) -> int:
    return sum(size > edge for edge in EDGES)


def histogram(sizes: Mapping[int, int]) -> list[int]:
    """Accesses in each of Darshan's ten classes; sizes: bytes -> how many."""
    found = [0] * 10
    for size, count in sizes.items():
        found[size_class(size)] += count
    return found


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


# The plain rows of a running program's store, which need no packing.
PLAIN, LIVE = 2, 1


def _section(rows: Sequence[Mapping[str, Any]]) -> tuple[bytes, int, int, int]:
    """A section of the trailer: its bytes, where rows and strings begin, bytes per row."""
    kinds = {name: {int: "i64", float: "f64", str: "str"}[type(value)] for name, value in rows[0].items()}
    schema = "".join(f"{name} {kind}\n" for name, kind in kinds.items()).encode()
    schema = schema.ljust(-(-len(schema) // 8) * 8, b"\0")
    body, heap = b"", b""
    for row in rows:
        for name, kind in kinds.items():
            value = row[name]
            if kind == "str":
                body += struct.pack("<II", len(heap), len(value.encode()))
                heap += value.encode()
            else:
                body += struct.pack("<q" if kind == "i64" else "<d", value)
    width = len(body) // len(rows)
    return schema + body + heap, len(schema), len(schema) + len(body), width


@dataclass
class Job:
    """A log in the making. ``accesses`` of posix and mpiio: {bytes: how many}; times are of all ranks together."""

    nprocs: int = 8
    run_time: int = 100
    metadata: bytes = b"lib_ver=3.4.7\n"
    mounts: Sequence[tuple[str, str]] = (("ext4", "/"), ("lustre", "/scratch"), ("nfs", "/home"))
    partial: Sequence[str] = ()
    exe: str = "/bin/program"
    names: dict[int, bytes] = field(default_factory=dict)
    regions: dict[str, bytes] = field(default_factory=dict)
    sections: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def name(self, name: str) -> int:
        self.names[identify(name)] = name.encode()
        return identify(name)

    def add(self, module: str, name: str, rank: int = -1, **values: Any) -> Job:
        """A record with these fields. A shared one's ranks are alike unless said otherwise."""
        known = {f["name"] for f in schemas()[module]["fields"]}
        total = sum(values.get(f"{kind}_time", 0.0) for kind in ("read", "write", "meta"))
        moved = values.get("bytes_read", 0) + values.get("bytes_written", 0)
        shared = {"slowest_rank_time": total / self.nprocs, "fastest_rank_time": total / self.nprocs}
        shared |= {"slowest_rank_bytes": moved // self.nprocs, "fastest_rank_bytes": moved // self.nprocs}
        if rank < 0 and "slowest_rank_time" in known:
            values = {**shared, **values}
        raw = record(schemas()[module], id=self.name(name), rank=rank, **values)
        self.regions[module] = self.regions.get(module, b"") + raw
        return self

    def _moved(self, direction: str, sizes: Mapping[int, int], hist: str) -> dict[str, Any]:
        past = {"read": "bytes_read", "write": "bytes_written"}[direction]
        return {past: sum(s * n for s, n in sizes.items()), hist: histogram(sizes)} if sizes else {}

    def posix(
        self,
        name: str,
        rank: int = -1,
        read: Mapping[int, int] | None = None,
        write: Mapping[int, int] | None = None,
        **values: Any,
    ) -> Job:
        """A POSIX record, aligned and in order unless said otherwise. read, write: {bytes: calls}."""
        made: dict[str, Any] = {"opens": 1 if rank >= 0 else self.nprocs, "file_alignment": MiB}
        for direction, sizes in (("read", read or {}), ("write", write or {})):
            calls = sum(sizes.values())
            if not calls:
                continue
            made |= self._moved(direction, sizes, f"size_{direction}")
            made |= {f"{direction}s": calls, f"seq_{direction}s": calls, f"consec_{direction}s": calls}
            made[f"max_byte_{'read' if direction == 'read' else 'written'}"] = (
                sum(s * n for s, n in sizes.items()) - 1
            )
        common = sorted({**(read or {}), **(write or {})})[:4]
        counts = [(read or {}).get(size, 0) + (write or {}).get(size, 0) for size in common]
        made["access"] = (common + [0] * 4)[:4]
        made["access_count"] = (counts + [0] * 4)[:4]
        return self.add("posix", name, rank, **{**made, **values})

    def mpiio(
        self,
        name: str,
        rank: int = -1,
        read: Mapping[int, int] | None = None,
        write: Mapping[int, int] | None = None,
        kind: str = "indep",
        **values: Any,
    ) -> Job:
        """An MPI-IO record; kind: indep, coll, split or nb."""
        made: dict[str, Any] = {
            f"{'indep' if kind == 'indep' else 'coll'}_opens": 1 if rank >= 0 else self.nprocs
        }
        for direction, sizes in (("read", read or {}), ("write", write or {})):
            if sizes:
                made |= self._moved(direction, sizes, f"size_{direction}_agg")
                made[f"{kind}_{direction}s"] = sum(sizes.values())
        return self.add("mpiio", name, rank, **{**made, **values})

    def lustre(self, name: str, stripe_size: int, osts: Sequence[int], rank: int = -1) -> Job:
        raw = struct.pack("<Qqqq", self.name(name), rank, 1, len(osts))
        raw += struct.pack("<4q3q16s", stripe_size, len(osts), 1, 16, 0, -1, 0, b"")
        raw += struct.pack(f"<{len(osts)}q", *osts)
        self.regions["lustre"] = self.regions.get("lustre", b"") + raw
        return self

    def section(self, name: str, *rows: dict[str, Any]) -> Job:
        """Rows of a section of the trailer; all of one section have the same columns."""
        self.sections.setdefault(name, []).extend(rows)
        return self

    def _trailer(self, at: int) -> bytes:
        body, directory = b"", b""
        for name, rows in self.sections.items():
            raw, begin, heap, width = _section(rows)
            place = struct.pack("<5Q", at + len(body), len(raw), len(raw), len(rows), heap)
            directory += name.encode().ljust(32, b"\0") + place
            directory += struct.pack("<6I", begin, width, PLAIN, LIVE, 0, 0)
            body += raw
        footer = b"iolens\0\0" + struct.pack("<IIQQI", 1, LIVE, at + len(body), len(directory), 0)
        footer += bytes(24)
        return body + directory + footer + struct.pack("<I", crc32c(footer))

    def __bytes__(self) -> bytes:
        maker = LogMaker(
            nprocs=self.nprocs,
            end=1_700_000_000 + self.run_time,
            exe=self.exe.encode(),
            metadata=self.metadata,
            mounts=self.mounts,
            names=self.names,
            regions={IDS[m]: (schemas()[m]["version"], raw) for m, raw in self.regions.items()},
            partial=[IDS[m] for m in self.partial],
        )
        raw = bytes(maker)
        return raw + self._trailer(len(raw)) if self.sections else raw

    def save(self, path: Path) -> Path:
        path.write_bytes(bytes(self))
        return path


def lined_job() -> Job:
    """A script that reads 6 s in line 7 and writes 2 s in line 9, called from lines 20 and 21."""
    job = Job(nprocs=1, run_time=10, exe="python3 train.py")
    job.posix("/scratch/data", 0, read={MiB: 100}, write={MiB: 20}, read_time=6.0, write_time=2.0, opens=0)
    for kind, inner, outer, calls, time in (("read", "load", 20, 100, 6.0), ("write", "save", 21, 20, 2.0)):
        frames = (f"{inner} ({{}}:{7 if kind == 'read' else 9})", f"main ({{}}:{outer})", "<module> ({}:30)")
        stack = "\n".join(frame.format("/home/u/secret/train.py") for frame in frames)
        row = {"rank": 0, "interface": "posix", "kind": kind, "stack": stack}
        row |= {
            "file": identify("/scratch/data") % (1 << 40),
            "calls": calls,
            "bytes": calls * MiB,
            "time": time,
        }
        job.section("lines", row)
    return job


def process(rank: int, busy: float, mpi: str = "", **kinds: float) -> dict[str, Any]:
    """A process that read, wrote and looked up for so many seconds of `busy`."""
    times = {f"{kind}_time": kinds.get(kind, 0.0) for kind in ("read", "write", "meta")}
    return {
        "rank": rank,
        "pid": 100 + rank,
        "start": 0.0,
        "io_time": busy,
        "mpi": mpi,
        "ended": "exit",
        **times,
    }


def used(rank: int, processor: float, **values: Any) -> dict[str, Any]:
    """A process of 10 s that used so many seconds of a processor."""
    used = {"exe": "/usr/bin/cc1", "end": 10.0, "user_time": processor, "system_time": 0.0}
    return {
        **process(rank, 0.05, read=0.05),
        **used,
        "major_faults": 0,
        "waits": 5,
        "storage_read": 0,
        "seen_read": 0,
        **values,
    }


def of(*processes: dict[str, Any]) -> Job:
    job = Job(nprocs=len(processes), run_time=10).posix("/d/a", 0, read={MiB: 5}, read_time=0.05)
    return job.section("process", *processes)
