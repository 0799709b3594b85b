"""Compressed regions of every kind give the records that zlib gives, and damage in them what zlib finds."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable

import iolens
import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

Make = Callable[..., bytes]
WORDS, RECORDS = 88, 3000
STRATEGIES = {
    "default": zlib.Z_DEFAULT_STRATEGY,
    "huffman": zlib.Z_HUFFMAN_ONLY,
    "runs": zlib.Z_RLE,
    "fixed": zlib.Z_FIXED,
}


def raw_records(seed: int) -> bytes:
    pick = random.Random(seed)
    rows = []
    for i in range(RECORDS):
        words = [pick.getrandbits(pick.choice([1, 8, 60])) * (pick.random() < 0.3) for _ in range(WORDS)]
        rows.append(struct.pack(f"<{WORDS}q", i + 1, -1, *words[2:]))
    return b"".join(rows)


def with_region(make: Make, stored: bytes) -> bytes:
    """A log whose POSIX region is these bytes."""
    log = bytearray(make([{"id": 1}]))
    at = int.from_bytes(log[64:72], "little")
    log[72:80] = len(stored).to_bytes(8, "little")
    return bytes(log[:at]) + stored


def compress(raw: bytes, level: int, strategy: int, memory: int = 8) -> bytes:
    z = zlib.compressobj(level, zlib.DEFLATED, 15, memory, strategy)
    return z.compress(raw) + z.flush()


def words_of(log: bytes) -> list[list[int]]:
    table = pa.table(iolens.open(log)["posix"])
    assert table["id"].to_pylist() == list(range(1, RECORDS + 1))
    return [table[name].to_pylist() for name in ("opens", "reads", "bytes_written", "consec_reads")]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_level_and_strategy(posix_log: Make, strategy: str) -> None:
    raw = raw_records(1)
    expected = words_of(with_region(posix_log, zlib.compress(raw)))
    assert expected[0] == [v[0] for v in struct.iter_unpack("<16xq680x", raw)]
    for level, memory in ((0, 8), (1, 1), (1, 9), (6, 8), (9, 9)):
        stored = compress(raw, level, STRATEGIES[strategy], memory)
        assert words_of(with_region(posix_log, stored)) == expected, level


@pytest.mark.parametrize("size", [1, 703, 704, 5000, 100_000])
def test_streams_that_cut_records(posix_log: Make, size: int) -> None:
    raw = raw_records(2)
    end = 704 * 40 if size == 1 else len(raw)
    stored = b"".join(zlib.compress(raw[i : min(i + size, end)]) for i in range(0, end, size))
    stored += zlib.compress(raw[end:]) if end < len(raw) else b""
    assert words_of(with_region(posix_log, stored)) == words_of(with_region(posix_log, zlib.compress(raw)))


def rows_and_error(log: bytes) -> tuple[int, str]:
    rows = 0
    try:
        for batch in iolens.open(log).table("posix", batch_rows=500).batches():
            rows += pa.record_batch(batch).num_rows
    except iolens.IolensError as error:
        return rows, str(error)
    return rows, ""


def test_a_wrong_sum_is_found_after_its_rows(posix_log: Make) -> None:
    stored = bytearray(zlib.compress(raw_records(3)))
    stored[-1] ^= 1
    rows, problem = rows_and_error(with_region(posix_log, bytes(stored)))
    assert rows == RECORDS and "damaged" in problem


def test_rows_before_damage_are_those_of_zlib(posix_log: Make) -> None:
    """Three thousand mutations: never another row than zlib gives before it stops."""
    pick = random.Random(4)
    raw = raw_records(5)[: 704 * 60]
    streams = [compress(raw, 6, s) for s in STRATEGIES.values()]
    for _ in range(3000):
        broken = bytearray(pick.choice(streams))
        for _ in range(pick.choice([1, 1, 2, 9])):
            broken[pick.randrange(len(broken))] ^= 1 << pick.randrange(8)
        broken = broken[: pick.choice([len(broken), pick.randrange(1, len(broken))])]
        rows, problem = rows_and_error(with_region(posix_log, bytes(broken)))
        try:
            sound = zlib.decompressobj().decompress(bytes(broken))
        except zlib.error:
            assert problem
        else:
            assert rows <= len(sound) // 704
