"""Logs of some megabytes that unpack to gigabytes: every command stays within its memory and says one line."""

from __future__ import annotations

import bz2
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from synthetic import Kind, Maker
from trailer_page import crc32c

MIB = 1 << 20
SMALL = 200  # MiB
RECORD = struct.pack("<Qq", zlib.crc32(b"/data/a.h5"), -1) + struct.pack("<69q17d", *[1] * 69, *[1.0] * 17)
RECORDS = RECORD * (MIB // len(RECORD))
NAMES = b"".join(struct.pack("<Q", n) + b"x" * 4000 + b"\0" for n in range(256))

COMPRESS: dict[int, Callable[[bytes], bytes]] = {0: zlib.compress, 1: bz2.compress}


class Bomb(Maker):
    """A log whose regions are these: pieces are compressed once and repeated, as streams may be."""

    def __init__(self, compression: int, records: bytes, names: bytes = b"") -> None:
        super().__init__(Kind(41, "<", compression), 1, zlib.crc32)
        self.own, self.table = records, names

    def region(self, pieces: list[bytes]) -> bytes:
        return self.own if pieces == [RECORD] else super().region(pieces)

    def records(self, name: str, version: int) -> list[bytes]:
        return [RECORD]

    def names(self) -> bytes:
        return self.table or super().names()


# A child begins with the peak of the process that forked it: a small one starts the command and tells its peak.
MEASURE = """
import os, resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=False).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""


def limited(command: list[object]) -> tuple[int, str, int]:
    """Exit code, standard error, most memory in MiB."""
    start = [sys.executable, "-S", "-c", MEASURE, *map(str, command)]
    done = subprocess.run(start, capture_output=True, text=True, check=True)
    code, memory = map(int, done.stdout.split())
    return code, done.stderr, memory


def test_a_million_records_of_one_file(iolens: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    log.write_bytes(Bomb(0, 1200 * zlib.compress(RECORDS)).log({"POSIX": 4}))
    for command in ("files", "check", "info"):
        code, errors, memory = limited([iolens, command, log])
        assert (code, errors) == (0, "") and memory < SMALL, (command, memory)
    code, errors, memory = limited([iolens, "diff", log, log])
    assert (code, errors) == (0, "") and memory < 1000, "a third of what the records are unpacked"
    monkeypatch.setenv("IOLENS_MEMORY", "400M")
    code, errors, memory = limited([iolens, "diff", log, log])
    assert code == 4 and errors.count("\n") <= 2 and "not enough memory" in errors
    assert memory < 400 + 64 * log.stat().st_size / MIB


@pytest.mark.parametrize("compression", COMPRESS)
@pytest.mark.parametrize("command", ["files", "show --base", "info", "check", "convert"])
def test_a_gigabyte_of_names(compression: int, command: str, iolens: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    bomb = Bomb(compression, COMPRESS[compression](RECORD), 1200 * COMPRESS[compression](NAMES))
    log.write_bytes(bomb.log({"POSIX": 4}))
    target = [tmp_path / "new"] if command == "convert" else []
    code, errors, memory = limited([iolens, *command.split(), log, *target])
    assert code in (3, 4) and (command == "check" or errors.count("\n") == 1), errors
    assert memory < SMALL + 64 * log.stat().st_size / MIB
    assert not (tmp_path / "new").exists()


def test_bzip2_that_unpacks_to_more_than_a_log_may(iolens: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(Bomb(1, 300 * bz2.compress(bytes(8 * MIB))).log({"POSIX": 4}))
    code, errors, memory = limited([iolens, "files", log])
    assert code == 3 and memory < SMALL
    assert errors.count("\n") == 1 and "1,032 times their size at byte" in errors


# ---- the extension trailer ----


def number(value: int) -> bytes:
    return (
        b""
        if value < 0
        else bytes([value])
        if value < 128
        else bytes([value & 127 | 128]) + number(value >> 7)
    )


def texts(*lines: bytes) -> bytes:
    return number(len(lines)) + b"".join(number(len(line) << 2 | 2) + line for line in lines)


def with_trailer(log: bytes, fields: tuple[bytes, ...], rows: int, parts: int = 1) -> bytes:
    """
    The log with a process table of zeros: a bit a column, and as many bytes as its rows' size asks for; of several
    parts none has them.
    """
    head = texts(*fields) + texts()
    raw = rows * 8 * len(fields) + len(head)
    stored = number(len(head)) + number(0) + head
    stored += bytes(raw // 1024 + 64 - len(stored) if parts == 1 else 8)
    entry = number(rows) + number(len(stored)) + number(raw) + struct.pack("<I", crc32c(stored))
    directory = texts(*parts * (b"process",)) + parts * entry
    size = struct.pack("<I", len(directory))
    version = b"\3" if parts == 1 else b"\5"
    check = struct.pack("<I", crc32c(directory + size))
    return log + parts * stored + directory + size + check + b"iolens\0" + version


@pytest.fixture
def large_trailer(tmp_path: Path) -> Path:
    """A log of a megabyte whose process table has 1,000 MiB."""
    log = tmp_path / "log"
    sound = Maker(Kind(41, "<", 0), 1, zlib.crc32).log({"POSIX": 4})
    log.write_bytes(with_trailer(sound, (b"rank i64", b"pid i64"), (1000 << 20) // 16))
    return log


@pytest.mark.parametrize("command", ["info", "files", "check", "show --ext", "convert"])
def test_a_gigabyte_in_the_trailer(command: str, large_trailer: Path, iolens: Path, tmp_path: Path) -> None:
    target = [tmp_path / "new"] if command == "convert" else []
    code, errors, memory = limited([iolens, *command.split(), large_trailer, *target])
    assert code in (3, 4) and memory < SMALL
    assert command == "check" or (errors.count("\n") == 1 and "process does not fit into memory" in errors), (
        errors
    )


def test_a_gigabyte_in_parts_of_a_table_that_each_may_have_their_size(iolens: Path, tmp_path: Path) -> None:
    """60 parts of 16 MB, each from some bytes."""
    log = tmp_path / "log"
    sound = Maker(Kind(41, "<", 0), 1, zlib.crc32).log({"POSIX": 4})
    rows = (16 << 20) // 16 - 16
    log.write_bytes(with_trailer(sound, (b"rank i64", b"pid i64"), rows, 60))
    assert log.stat().st_size < 8192
    for command in ("info", "check", "show --ext"):
        code, errors, memory = limited([iolens, *command.split(), log])
        assert code in (3, 4) and memory < SMALL
        assert command == "check" or "trailer section process is damaged" in errors, errors


@pytest.mark.parametrize("command", ["report", "findings"])
def test_the_log_with_a_gigabyte_in_the_trailer_is_named(
    command: str, large_trailer: Path, iolens: Path
) -> None:
    code, errors, memory = limited([iolens, command, large_trailer])
    assert code == 3 and memory < SMALL and errors.count("\n") == 1
    assert (
        errors.startswith(f"iolens: {large_trailer}: unpacks to more than") and "IOLENS_MEMORY=4G" in errors
    )


# ---- the commands in Python ----

NODE = struct.pack("<Qqq64sqq", zlib.crc32(b"/data/a.h5"), 0, 0, b"node17", 32_000, 0)
TRACE = NODE + struct.pack("<qqdd", 0, 4096, 1.0, 2.0) * 32_000
STRIPES = struct.pack("<Qq5q", zlib.crc32(b"/data/a.h5"), -1, 1, 1, 1, 1 << 20, 400_000) + bytes(8 * 400_000)
HEAT = struct.pack("<Qqdq16x", zlib.crc32(b"/data/a.h5"), 0, 0.1, 8000) + bytes(16 * 8000)

# What is in each: the modules, and the one region of which all are.
BOMBS = {
    "records": ({"POSIX": 4}, 1200 * zlib.compress(RECORDS)),
    "trace": ({"DXT_POSIX": 1}, 1200 * zlib.compress(TRACE)),
    "stripes": ({"LUSTRE": 1}, 400 * zlib.compress(STRIPES)),
    "heat map": ({"HEATMAP": 1}, 400 * zlib.compress(HEAT * 20)),
}


@pytest.fixture(params=BOMBS)
def bomb(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    modules, region = BOMBS[request.param]

    class Region(Bomb):
        def region(self, pieces: list[bytes]) -> bytes:
            return region if pieces == [b"the bomb"] else super(Bomb, self).region(pieces)

        def records(self, name: str, version: int) -> list[bytes]:
            return [b"the bomb"]

    log = tmp_path / "log"
    log.write_bytes(Region(0, b"").log(modules))
    return log


def test_a_report_of_a_bomb_is_one_line(bomb: Path, iolens: Path, tmp_path: Path) -> None:
    begin = time.monotonic()
    page = tmp_path / "page.html"
    code, errors, memory = limited([iolens, "report", bomb, "-o", page])
    assert code == 3 and not page.exists()
    assert errors.count("\n") == 1 and "IOLENS_MEMORY=4G allows more" in errors
    assert memory < 800 and time.monotonic() - begin < 60


def test_what_is_exported_of_a_bomb_is_not_taken_for_the_whole(iolens: Path, tmp_path: Path) -> None:
    log, folder = tmp_path / "log", tmp_path / "tables"
    log.write_bytes(Bomb(0, 1200 * zlib.compress(RECORDS)).log({"POSIX": 4}))
    for command in (["findings", log], ["compare", log, log], ["export", log, "--to", folder]):
        code, errors, memory = limited([iolens, *command])
        assert (code, errors.count("\n")) == (3, 1) and "unpacks to more than 448 MiB" in errors
        assert memory < 800
    assert not list(folder.glob("posix*"))


def test_a_sound_log_above_the_limit_is_read_with_more_memory(
    iolens: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    log.write_bytes(Bomb(0, 400 * zlib.compress(RECORDS)).log({"POSIX": 4}))
    count = [iolens, "sql", log, "SELECT count(*) AS records FROM posix", "--format", "csv"]
    assert subprocess.run(count, capture_output=True, check=False).returncode == 3
    monkeypatch.setenv("IOLENS_MEMORY", "1GiB")
    found = subprocess.run(count, capture_output=True, text=True, check=True).stdout
    assert found.split() == ["records", str(400 * (MIB // len(RECORD)))]
    monkeypatch.setenv("IOLENS_MEMORY", "32M")  # of native commands it is all of their memory
    code, errors, _ = limited([iolens, "diff", log, log])
    assert code == 4 and "IOLENS_MEMORY=4G allows more" in errors


@pytest.mark.parametrize("command", ["info", "findings"])
def test_a_setting_that_is_no_size(
    command: str, iolens: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    log.write_bytes(Bomb(0, zlib.compress(RECORD)).log({"POSIX": 4}))
    monkeypatch.setenv("IOLENS_MEMORY", "much")
    done = subprocess.run([iolens, command, log], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "IOLENS_MEMORY is not a size such as 4G: much" in done.stderr
