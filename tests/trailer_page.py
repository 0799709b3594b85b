"""A reader of the extension trailer after docs/reference/extension-trailer.md: no line is shared with the C library."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any, NamedTuple

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "extension-trailer.md"
TOP = 1 << 64
PARTS = 5  # the first version in which a table may have several

Row = dict[str, Any]


def words() -> list[str]:
    page = PAGE.read_text()
    block = page[page.index("### Words") :].split("```")[1]
    return [word for line in block.strip("\n").split("\n") for word in line.split(" | ")]


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    return crc ^ 0xFFFFFFFF


class Bytes:
    """Numbers and texts, from the front."""

    def __init__(self, data: bytes, known: list[str]) -> None:
        self.data, self.at, self.known = data, 0, [word.encode() for word in known]

    def take(self, n: int) -> bytes:
        self.at += n
        assert self.at <= len(self.data)
        return self.data[self.at - n : self.at]

    def number(self) -> int:
        value = shift = 0
        while True:
            (byte,) = self.take(1)
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def texts(self) -> list[bytes]:
        return self.some_texts(self.number())

    def some_texts(self, n: int) -> list[bytes]:
        found: list[bytes] = []
        while len(found) < n:
            head = self.number()
            kind, value = head & 3, head >> 2
            if kind == 0:
                found.append(self.known[value])
            elif kind == 1:
                found += self.known[value : value + self.number()]
            else:
                same = self.number() if kind == 3 else 0
                found.append((found[-1][:same] if same else b"") + self.take(value))
        assert len(found) == n
        return found


def unzigzag(x: int) -> int:
    return x >> 1 if x % 2 == 0 else -(x + 1 >> 1)


class Bits:
    def __init__(self, data: bytes) -> None:
        self.all, self.at = int.from_bytes(data, "little"), 0

    def take(self, n: int) -> int:
        self.at += n
        return self.all >> (self.at - n) & (1 << n) - 1

    def signed(self) -> int:
        if not self.take(1):
            return 0
        low = self.take(6)
        return unzigzag(1 << low | self.take(low))

    def rice(self, k: int) -> int:
        quotient = 0
        while quotient < 32 and self.take(1):
            quotient += 1
        return self.take(64) if quotient == 32 else quotient << k | self.take(k)

    def length(self, k: int, highest: int) -> int:
        length = self.take(k)
        if length < 2:
            return length
        kept = min(length - 1, highest)
        return (1 << kept | self.take(kept)) << (length - 1 - kept)

    def coded(self, n: int) -> list[int]:
        code = self.take(3)
        base = self.signed() if code != 4 else 0
        k = self.take(6) if 1 <= code <= 4 else 0
        if code == 0:
            return [base] * n
        if code == 1:
            return [base + self.take(k + 1) for _ in range(n)]
        if code in {2, 3}:
            return [base + (self.rice(k) if code == 2 else unzigzag(self.rice(k))) for _ in range(n)]
        if code == 4:
            sign, highest = self.take(1), self.take(6)
            found = [self.length(k, highest) for _ in range(n)]
            return [unzigzag(x) for x in found] if sign else found
        assert code == 5
        found, at = [base] * n, -1
        for _ in range(self.signed()):
            at += 1 + self.signed()
            found[at] += self.signed()
        return found

    def column(self, n: int, before: list[list[int]]) -> list[int]:
        if not self.take(1):
            return [0] * n
        stored = self.take(2)
        other = before[-1 - self.take(6)] if stored == 3 else [0] * n
        found = [self.signed() for _ in range(stored % 3)]
        for i, x in enumerate(self.coded(n - len(found)), len(found)):
            of = {0: 0, 3: other[i]}.get(stored)
            if of is None:
                of = found[-1] if stored == 1 else 2 * found[-1] - found[-2]
            found.append((x + of) % TOP)
        return [x % TOP for x in found]


class Field(NamedTuple):
    name: str
    type: str
    count: int

    @property
    def width(self) -> int:
        return self.count // 8 if self.type == "char" else self.count


def field(line: bytes) -> Field:
    name, kind, *_ = line.decode().split(" ")
    kind, _, count = kind.partition("[")
    return Field(name, kind, int(count.rstrip("]") or 1))


def table(data: bytes, rows: int, known: list[str]) -> list[Row]:
    section = Bytes(data, known)
    size, stored = section.number(), section.number()
    raw = section.take(stored or size)
    texts = Bytes(zlib.decompress(raw) if stored else raw, known)
    assert len(texts.data) == size
    fields = [field(line) for line in texts.texts()]
    strings = texts.texts()
    assert texts.at == size
    kinds = [f for f in fields for _ in range(f.width)]
    bits = Bits(section.data[section.at :])
    group, scale = bits.take(6) + 1, 20
    scales = []
    for f in kinds:
        if f.type == "f64":
            scale = scale if bits.take(1) else bits.take(6)
        scales.append(scale)
    columns: list[list[int]] = []
    for _ in range(group * len(kinds)):
        columns.append(bits.column(rows // group, columns))
    found = []
    for row in range(rows):
        place = row % group * len(kinds)
        line = [columns[place + w][row // group] for w in range(len(kinds))]
        found.append(dict(values(fields, line, scales, strings)))
    return found


def values(
    fields: list[Field], line: list[int], scales: list[int], strings: list[bytes]
) -> list[tuple[str, Any]]:
    found, at = [], 0
    for f in fields:
        cells: list[Any] = []
        for word, scale in zip(line[at : at + f.width], scales[at : at + f.width], strict=True):
            signed = word - TOP if word >> 63 else word
            if f.type == "f64":
                whole = scale < 63
                cells.append(signed / 2**scale if whole else struct.unpack("<d", struct.pack("<Q", word))[0])
            else:
                cells.append(strings[word] if f.type == "str" else word if f.type == "u64" else signed)
        if f.type == "char":
            cells = [b"".join(struct.pack("<q", cell) for cell in cells).rstrip(b"\0")]
        found.append((f.name, cells if len(cells) > 1 else cells[0]))
        at += f.width
    return found


def trailer(log: bytes) -> dict[str, list[Row]]:
    """The tables of a log, by name."""
    known = words()
    length, crc, magic = struct.unpack("<II8s", log[-16:])
    assert magic in {b"iolens\0\4", b"iolens\0\5"}
    at = len(log) - 16 - length
    assert crc == crc32c(log[at:-16] + log[-16:-12])
    directory = Bytes(log[at:-16], known)
    names = directory.texts()
    entries = [
        (directory.number(), directory.number(), directory.number(), *struct.unpack("<I", directory.take(4)))
        for _ in names
    ]
    assert directory.at == length
    at -= sum(stored for _, stored, _, _ in entries)
    found: dict[str, list[Row]] = {}
    for name, (rows, stored, _, crc) in zip(names, entries, strict=True):
        section = log[at : at + stored]
        assert crc == crc32c(section)
        found.setdefault(name.decode(), []).extend(table(section, rows, known))
        at += stored
    assert len(found) == len(names) or magic[-1] == PARTS
    return found
