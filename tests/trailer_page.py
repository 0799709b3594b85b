"""A reader of the extension trailer after docs/reference/extension-trailer.md: no line is shared with the C library."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any, NamedTuple

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "extension-trailer.md"
TOP = 1 << 64
PARTS = 5  # the first version in which a table may have several, but for
SMALL = 6  # in which there also are small tables

Row = dict[str, Any]


def words() -> list[str]:
    page = PAGE.read_text()
    block = page[page.index("### Words") :].split("```")[1]
    return [word for line in block.strip("\n").split("\n") for word in line.split(" | ")]


def code_of_texts() -> tuple[str, dict[str, int]]:
    """What is before the first text, and symbols by the bits of their code."""
    page = PAGE.read_text()
    blocks = page[page.index("### Small tables") :].split("```")
    before = blocks[1].strip("\n").replace("\n", "")
    lengths = [int(word) for word in blocks[3].split()]
    found, code = {}, 0
    for length in range(1, max(lengths) + 1):
        for symbol, known in enumerate(lengths):
            if known == length:
                found[f"{code:0{length}b}"] = symbol
                code += 1
        code *= 2
    return before, found


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


def small_texts(data: bytes, n: int, known: list[str]) -> list[bytes]:
    """Texts of small tables."""
    before, code = code_of_texts()
    bits, all_, found = Bits(data), before.encode(), []
    while len(found) < n:
        begins = len(all_)
        while True:
            prefix = ""
            while prefix not in code:
                prefix += str(bits.take(1))
            symbol = code[prefix]
            if symbol == 95:
                break
            if symbol == 96:
                assert len(all_) == begins
                all_ += known[bits.take(10)].encode()
                break
            if symbol == 97:
                count, far = bits.take(5) + 4, bits.take(len(all_).bit_length())
                assert 0 < far <= len(all_)
                for _ in range(count):
                    all_ += all_[len(all_) - far : len(all_) - far + 1]
            elif symbol == 98:
                all_ += "".join(f"{bits.take(4):x}" for _ in range(bits.take(6) + 8)).encode()
            else:
                all_ += bytes([bits.take(8) if symbol == 99 else 32 + symbol])
        found.append(all_[begins:])
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
    """A section."""
    section = Bytes(data, known)
    size, stored = section.number(), section.number()
    raw = section.take(stored or size)
    texts = Bytes(zlib.decompress(raw) if stored else raw, known)
    assert len(texts.data) == size
    fields = [field(line) for line in texts.texts()]
    strings = texts.texts()
    assert texts.at == size
    return rows_of(section.data[section.at :], rows, fields, strings)


def scales_of(bits: Bits, kinds: list[Field]) -> list[int]:
    scale, scales = 20, []
    for f in kinds:
        if f.type == "f64":
            scale = scale if bits.take(1) else bits.take(6)
        scales.append(scale)
    return scales


def rows_of(data: bytes, rows: int, fields: list[Field], strings: list[bytes]) -> list[Row]:
    kinds = [f for f in fields for _ in range(f.width)]
    bits = Bits(data)
    group = bits.take(6) + 1
    scales = scales_of(bits, kinds)
    columns: list[list[int]] = []
    for _ in range(group * len(kinds)):
        columns.append(bits.column(rows // group, columns))
    found = []
    for row in range(rows):
        place = row % group * len(kinds)
        line = [columns[place + w][row // group] for w in range(len(kinds))]
        found.append(dict(values(fields, line, scales, strings)))
    return found


def single_row(data: bytes, fields: list[Field], strings: list[bytes]) -> list[Row]:
    """Of a small table with one row."""
    kinds = [f for f in fields for _ in range(f.width)]
    bits, text = Bits(data), 0
    scales = scales_of(bits, kinds)
    line = [bits.signed() for _ in kinds]
    for place, f in enumerate(kinds):
        if f.type == "str":
            line[place] += text
            text = line[place] + 1
    return [dict(values(fields, [word % TOP for word in line], scales, strings))]


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


class Entry(NamedTuple):
    name: str
    rows: int
    stored: int
    crc: int | None  # None: a small table
    fields: list[Field]


def entry(directory: Bytes) -> Entry:
    word = directory.number() - 1
    name = (directory.known[word] if word >= 0 else directory.take(directory.number())).decode()
    rows, stored = directory.number(), directory.number()
    if rows % 2 == 0:
        directory.number()
        return Entry(name, rows // 2, stored, *struct.unpack("<I", directory.take(4)), [])
    n = directory.number()
    lines = directory.known[word + 1 : word + 1 + n // 2] if n % 2 else directory.some_texts(n // 2)
    return Entry(name, rows // 2, stored, None, [field(line) for line in lines])


def old_entries(directory: Bytes) -> list[Entry]:
    entries = []
    for name in directory.texts():
        rows, stored, _ = (directory.number() for _ in range(3))
        entries.append(Entry(name.decode(), rows, stored, *struct.unpack("<I", directory.take(4)), []))
    return entries


def trailer(log: bytes) -> dict[str, list[Row]]:
    """The tables of a log, by name."""
    known = words()
    length, crc, magic = struct.unpack("<II8s", log[-16:])
    assert magic[:-1] == b"iolens\0" and magic[-1] in {3, 4, PARTS, SMALL}
    at = len(log) - 16 - length
    assert crc == crc32c(log[at:-16] + log[-16:-12])
    directory = Bytes(log[at:-16], known)
    strings: list[bytes] = []
    if magic[-1] == SMALL:
        entries = [entry(directory) for _ in range(directory.number())]
        count = directory.number()
        strings = small_texts(directory.take(directory.number()), count, known)
    else:
        entries = old_entries(directory)
    at -= sum(e.stored for e in entries if e.crc is not None)
    found: dict[str, list[Row]] = {}
    for e in entries:
        rows = found.setdefault(e.name, [])
        if e.crc is not None:
            section = log[at : at + e.stored]
            assert e.crc == crc32c(section)
            rows += table(section, e.rows, known)
            at += e.stored
        else:
            columns = directory.take(e.stored)
            one = e.rows == 1
            rows += (
                single_row(columns, e.fields, strings) if one else rows_of(columns, e.rows, e.fields, strings)
            )
    assert directory.at == length
    assert len(found) == len(entries) or magic[-1] >= PARTS
    return found
