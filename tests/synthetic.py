"""Logs that no release left behind: any container, byte order, compression and module version, filled with noise.

Written from the description of the format alone and sharing nothing with iolens' own writer. Numbers of counters are
given here as the description has them; what they mean is the decoders' business.
"""

from __future__ import annotations

import bz2
import random
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

MAGIC = 6567223
NPROCS = 8
FILES = ["/data/a.h5", "/data/fast/b.nc", "/home/c", "/data/d e", "<STDOUT>"]
MOUNTS = [("ext4", "/"), ("lustre", "/data"), ("nfs", "/data/fast")]

# Module -> its id per container (None: that container has no place for it).
IDS: dict[str, tuple[int | None, int | None, int | None]] = {  # 3.00 and 3.10; 3.20 and 3.21; 3.41
    "NULL": (0, 0, 0),
    "POSIX": (1, 1, 1),
    "MPI-IO": (2, 2, 2),
    "H5F": (3, 3, 3),
    "H5D": (None, 4, 4),
    "PNETCDF_FILE": (4, 5, 5),
    "PNETCDF_VAR": (None, None, 6),
    "BG/Q": (5, 6, 7),
    "LUSTRE": (6, 7, 8),
    "STDIO": (7, 8, 9),
    "DXT_POSIX": (8, 9, 10),
    "DXT_MPIIO": (9, 10, 11),
    "MDHIM": (10, 11, 12),
    "APXC": (None, 12, 13),
    "APMPI": (None, 13, 14),
    "HEATMAP": (None, 14, 15),
    "DFS": (None, None, 16),
    "DAOS": (None, None, 17),
}

# (module, version) -> bytes between rank and counters, integers, doubles, bytes behind.
PLAIN = {
    ("NULL", 1): (0, 2, 2, 0),
    ("POSIX", 1): (0, 68, 15, 0),
    ("POSIX", 2): (0, 64, 15, 0),
    ("POSIX", 3): (0, 64, 17, 0),
    ("POSIX", 4): (0, 69, 17, 0),
    ("MPI-IO", 1): (0, 51, 15, 0),
    ("MPI-IO", 2): (0, 51, 15, 0),
    ("MPI-IO", 3): (0, 51, 17, 0),
    ("STDIO", 1): (0, 13, 15, 0),
    ("STDIO", 2): (0, 14, 15, 0),
    ("H5F", 1): (0, 1, 2, 0),
    ("H5F", 2): (0, 1, 4, 0),
    ("H5F", 3): (0, 3, 5, 0),
    ("H5D", 1): (0, 94, 17, 0),
    ("H5D", 2): (8, 94, 17, 0),
    ("PNETCDF_FILE", 1): (0, 2, 2, 0),
    ("PNETCDF_FILE", 2): (0, 2, 4, 0),
    ("PNETCDF_FILE", 3): (0, 9, 8, 0),
    ("PNETCDF_VAR", 1): (8, 120, 17, 0),
    ("BG/Q", 1): (8, 11, 1, 0),
    ("BG/Q", 2): (0, 11, 1, 0),
    ("DFS", 1): (0, 52, 15, 32),
    ("DAOS", 1): (0, 64, 15, 48),
}
VERSIONS = {name: sorted(v for n, v in PLAIN if n == name) for name in IDS}
VERSIONS |= {"LUSTRE": [1, 2], "DXT_POSIX": [1, 2], "DXT_MPIIO": [1, 2, 3], "MDHIM": [1]}
VERSIONS |= {"APXC": [1], "APMPI": [1], "HEATMAP": [1]}


class Kind(NamedTuple):
    minor: int
    order: str  # "<" or ">"
    compression: int  # 0 zlib, 1 bzip2, 2 none


class Maker:
    def __init__(self, kind: Kind, seed: int, identify: Callable[[bytes], int]) -> None:
        self.kind, self.e = kind, kind.order
        self.noise = random.Random(seed)
        self.ids = [identify(name.encode()) for name in FILES]

    def pack(self, codes: str, *values: float) -> bytes:
        return struct.pack(self.e + codes, *values)

    # ---- values ----

    def whole(self) -> int:
        return self.noise.choice(
            [0, -1, self.noise.randrange(100), self.noise.getrandbits(40), self.noise.getrandbits(62)]
        )

    def wholes(self, n: int) -> bytes:
        return self.pack(f"{n}q", *(self.whole() for _ in range(n)))

    def counts(self, n: int) -> bytes:
        return self.pack(f"{n}Q", *(self.noise.getrandbits(self.noise.choice([4, 32, 64])) for _ in range(n)))

    def second(self) -> float:
        return self.noise.choice([0.0, self.noise.random(), self.noise.random() * 1e6, 2.5e-07])

    def seconds(self, n: int) -> bytes:
        return self.pack(f"{n}d", *(self.second() for _ in range(n)))

    def noise_bytes(self, n: int) -> bytes:
        return bytes(self.noise.getrandbits(8) | 1 for _ in range(n))

    def base(self, rank: int | None = None) -> bytes:
        rank = self.noise.randrange(-1, NPROCS) if rank is None else rank
        return self.pack("Qq", self.noise.choice(self.ids), rank)

    # ---- records ----

    def plain(self, name: str, version: int) -> bytes:
        before, wholes, doubles, behind = PLAIN[name, version]
        body = bytearray(self.wholes(wholes))
        if (name, version) == ("POSIX", 1) and self.noise.random() < 0.7:
            body[48:56] = bytes(8)  # no stream was opened: the record counts today
        return (
            self.base() + self.noise_bytes(before) + body + self.seconds(doubles) + self.noise_bytes(behind)
        )

    def lustre(self, version: int) -> bytes:
        if version == 1:
            n = self.noise.randrange(6)
            return self.base() + self.wholes(3) + self.pack("qq", 1 << 20, n) + self.wholes(n)
        stripes = [self.noise.randrange(4) for _ in range(self.noise.randrange(1, 5))]
        spare = self.noise.randrange(2)  # a slot that is not used ends the list
        parts = [self.base(), self.pack("qq", len(stripes) + spare, sum(stripes))]
        for n in [*stripes, *[0] * spare]:
            unused = n == 0 and len(parts) - 2 == len(stripes)
            pattern, flags = self.noise.choice([0, 2, 4, 8, 3, -1]), self.noise.choice([0, -1, 16, 4095])
            parts.append(self.pack("4q", -1 if unused else 65536, n, pattern, flags))
            parts.append(self.pack("3q", self.whole(), self.whole(), self.whole()))
            parts.append(self.noise.choice([b"", b"pool.one", b"sixteen letters!"]).ljust(16, b"\0"))
        return b"".join(parts) + self.wholes(sum(stripes))

    def traced(self, threads: bool) -> bytes:
        writes, reads = self.noise.randrange(40), self.noise.randrange(40)
        parts = [self.base(self.noise.randrange(NPROCS)), self.pack("q", 0)]
        parts.append(self.noise.choice([b"node17", b"n" * 64]).ljust(64, b"\0"))
        parts.append(self.pack("qq", writes, reads))
        for _ in range(writes + reads):
            start = self.noise.random() * 100
            parts.append(
                self.pack("qqdd", self.noise.getrandbits(40), self.noise.getrandbits(30), start, start + 1)
            )
            parts.append(self.counts(1) if threads else b"")
        return b"".join(parts)

    def mdhim(self) -> bytes:
        servers = self.noise.randrange(5)
        head = self.base() + self.wholes(4) + self.pack("q", servers) + self.seconds(4)
        return head + self.wholes(max(1, servers))

    def heatmaps(self) -> Iterator[bytes]:
        for rank in range(3):
            n = 12 + self.noise.choice([0, 0, 1, -1]) * (rank > 0)
            yield self.base(rank) + self.pack("dq", 0.2, n) + self.noise_bytes(16) + self.wholes(2 * n)

    def apmpi(self) -> Iterator[bytes]:
        sync = self.noise.randrange(2)
        yield (
            self.base(0)
            + self.pack("q", 0x41504D5049)
            + self.pack("I", sync)
            + self.noise_bytes(4)
            + self.seconds(2)
        )
        for rank in range(3):
            name = self.noise.choice([b"nid00017", b"p" * 128]).ljust(128, b"\0")
            yield self.base(rank) + self.counts(396) + self.seconds(222 + 16 + 2) + name

    def apxc(self) -> Iterator[bytes]:
        yield self.base(0) + self.pack("q", 0x4155544F50455246) + self.pack("5qQ", 3, 2, 1, 4, 5, 2**63 + 5)
        for rank in range(3):
            yield self.base(rank) + self.wholes(4) + self.counts(392)

    def records(self, name: str, version: int) -> list[bytes]:
        one: dict[str, Callable[[], bytes]] = {
            "LUSTRE": lambda: self.lustre(version),
            "DXT_POSIX": lambda: self.traced(version >= 2),
            "DXT_MPIIO": lambda: self.traced(version >= 3),
            "MDHIM": self.mdhim,
        }
        several = {"HEATMAP": self.heatmaps, "APMPI": self.apmpi, "APXC": self.apxc}
        if name in several:
            return list(several[name]())
        n = self.noise.randrange(1, 9)
        return [one[name]() if name in one else self.plain(name, version) for _ in range(n)]

    # ---- regions ----

    def region(self, pieces: list[bytes]) -> bytes:
        """As several processes leave it: a stream each."""
        if self.kind.compression == 2:
            return b"".join(pieces)
        compress = bz2.compress if self.kind.compression else zlib.compress
        cut = self.noise.randrange(len(pieces) + 1)
        halves = [b"".join(pieces[:cut]), b"".join(pieces[cut:])]
        return b"".join(compress(half) for half in halves if half)

    def job(self) -> bytes:
        metadata = b"lib_ver=3.4.1\nh=romio_no_indep_rw=true;cb_nodes=4\n".ljust(1024, b"\0")
        text = "./program with arguments" + "".join(f"\n{t}\t{p}" for t, p in MOUNTS)
        times = (1000, 5, 1100, 7) if self.kind.minor >= 41 else (1000, 1100)
        head = self.pack(f"{len(times) + 3}q", 1001, *times, NPROCS, 4711)
        return self.region([head + metadata + text.encode() + b"\0"])

    def names(self) -> bytes:
        texts = [(i, name.encode()) for i, name in zip(self.ids, FILES)]
        if self.kind.minor == 0:
            return self.region([self.pack("QI", i, len(t)) + t for i, t in texts])
        return self.region([self.pack("Q", i) + t + b"\0" for i, t in texts])

    def log(self, versions: dict[str, int]) -> bytes:
        """The whole file; `versions`: module -> version, in any order."""
        minor = self.kind.minor
        column = 0 if minor < 20 else 1 if minor < 41 else 2
        slots, size = (64, 1328) if minor >= 41 else (16, 360)
        regions, version = [(0, b"")] * slots, [0] * slots
        for name, v in versions.items():
            slot = IDS[name][column]
            if slot is not None:
                regions[slot] = (slot, self.region(self.records(name, v)))
                version[slot] = v
        at, body, table = size, b"", []
        for _, data in [(-1, self.job()), (-1, self.names()), *regions]:
            table += [at if data else 0, len(data)]
            body += data
            at += len(data)
        head = f"3.{minor:02}".encode().ljust(8, b"\0") + self.pack("qB", MAGIC, self.kind.compression)
        head += self.pack("7xQ", 0) if minor >= 41 else self.pack("3xI", 0)
        head += self.pack(f"{len(table) - 2}Q", *table[2:]) + self.pack(f"{slots}I", *version)
        assert len(head) == size
        return head + body


# Version -> byte orders, fixed part and whole of the job record, integers, doubles.
OLD = {
    **{"1.21": (">", 28, 1024, 133, 12), "1.22": (">", 28, 1024, 138, 14)},
    **{f"1.2{n}": (">", 28, 1024, 140, 14) for n in (3, 4)},
    **{"2.00": ("<>", 56, 1024, 144, 18)},
    **{f"2.0{n}": ("<>", 120, 1024, 144, 18) for n in (1, 2, 3)},
    **{f"2.0{n}": ("<>", 1080, 4096, 144, 18) for n in (4, 5, 6)},
}


def old_log(version: str, order: str, seed: int, identify: Callable[[bytes], int]) -> bytes:
    """A log of Darshan 1.x or 2.x, not compressed."""
    _, fixed, total, wholes, doubles = OLD[version]
    maker = Maker(Kind(0, order, 2), seed, identify)
    first = version < "2"
    if first:
        head = version.encode().ljust(12, b"\0") + maker.pack("Iiii", 1001, 1000, 1100, NPROCS)
    else:
        head = version.encode().ljust(8, b"\0") + maker.pack("6q", MAGIC, 1001, 1000, 1100, NPROCS, 4711)
        head += b"lib_ver=2.2.2\n"[: fixed - 56]
    text = b"./old program\n17\text3\t/\n-5\tlustre\t/data\n99\tnfs\t/data/fast"
    parts = [(head.ljust(fixed, b"\0") + text).ljust(total, b"\0")]
    for _ in range(maker.noise.randrange(1, 9)):
        counters = bytearray(maker.wholes(wholes) + maker.seconds(doubles))
        if wholes >= 140:
            counters[8 * 138 : 8 * 139] = maker.pack("q", maker.noise.choice([17, -5, 99, 4]))
        name = maker.noise.choice([b"short", b"the end of a name"])
        if first:
            rank = maker.pack("i4x", maker.noise.randrange(-1, NPROCS))
            parts += [maker.pack("Q", maker.noise.choice(maker.ids)), rank, counters]
            parts.append(name[-11:].ljust(16, b"\0"))
        else:
            parts += [maker.base(), name[-15:].ljust(16, b"\0"), counters]
    return b"".join(parts)
