"""The trailer's tables: as their reference page says, and of logs as iolens wrote them before (zlib streams)."""

from __future__ import annotations

import struct
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import places
import pytest
import trailer_page
from trailer_page import crc32c

BEFORE = Path(__file__).with_name("zlib-trailer.darshan")  # format-make-log 1 1 6
FOOTER = 64

Run = Callable[..., subprocess.CompletedProcess[str]]


def make(path: Path, *numbers: int) -> Path:
    tool = places.BUILD / "tests" / "format" / "format-make-log"
    subprocess.run([tool, path, *map(str, numbers)], check=True, stdout=subprocess.DEVNULL)
    return path


def plain(value: object) -> object:
    """As the package's tables have it: text, and of several texts the first."""
    first = value[0] if isinstance(value, list) and isinstance(value[0], bytes) else value
    return first.decode() if isinstance(first, bytes) else first


def same_as_the_page_says(log: Path) -> dict[str, list[trailer_page.Row]]:
    """The tables by the page alone, after they were found equal to what the library reads."""
    iolens, pa = pytest.importorskip("iolens.log"), pytest.importorskip("pyarrow")
    found = trailer_page.trailer(log.read_bytes())
    with iolens.Log(log) as opened:
        assert list(opened.trailer) == list(found)
        for name, rows in found.items():
            read = pa.table(opened.trailer[name]).to_pylist()
            assert read == [{key: plain(value) for key, value in row.items()} for row in rows]
    return found


@pytest.mark.parametrize("ranks", [1, 6, 300])
def test_the_trailer_is_what_its_reference_page_says(ranks: int, tmp_path: Path) -> None:
    rows = same_as_the_page_says(make(tmp_path / "made.darshan", 1, 1, ranks))["process"]
    assert [(row["pid"], row["start"], row["host"], row["tag"], row["args"]) for row in rows] == [
        (100 + i, 0.5 * i, b"node%03d" % i, b"exactly16letters", [b"", b"second"]) for i in range(ranks)
    ]
    assert rows[-1]["id"] == 2**64 - ranks
    assert rows[-1]["calls"] == [10 * (ranks - 1) + k for k in range(3)]


def test_so_is_that_of_a_job(run_iolens: Run, tmp_path: Path) -> None:
    log = tmp_path / "job.darshan"
    script = "for i in 1 2 3 4 5 6 7 8; do cat /etc/passwd >$i; cp $i copy-$i; done; ls -l . | wc -l"
    done = run_iolens(["run", "-o", log, "--", "sh", "-c", script], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = same_as_the_page_says(log)
    assert len(found["process"]) >= 18 and {"total", "operation", "timeline", "environment"} <= set(found)


def test_the_page_has_the_words_that_the_library_knows() -> None:
    source = (places.ROOT / "format" / "words.c").read_text()
    text = source[source.index("words[] =") : source.index("/* clang-format on")]
    known = "".join(line.strip().strip(';"') for line in text.splitlines()[2:]).split(r"\n")
    assert known[:-1] == trailer_page.words() and len(known) == 265 + 1


def tables(shown: str) -> list[str]:
    """What `iolens show --ext` prints of the trailer."""
    return shown[shown.index("# iolens extension") :].splitlines()


def test_a_trailer_of_before_is_read_like_one_of_today(tmp_path: Path, run_iolens: Run) -> None:
    made = make(tmp_path / "made.darshan", 1, 1, 6)
    assert made.read_bytes()[-8:] == b"iolens\0\2"
    before, today = (tables(run_iolens(["show", "--ext", log]).stdout) for log in (BEFORE, made))
    assert len(today) == 6 + 3
    assert before == today


def test_every_reader_takes_it(run_iolens: Run, tmp_path: Path) -> None:
    iolens, pa = pytest.importorskip("iolens.log"), pytest.importorskip("pyarrow")
    with iolens.Log(BEFORE) as log:
        table = pa.table(log.trailer["process"])
    assert table.column("pid").to_pylist() == [100 + row for row in range(6)]
    assert table.column("host").to_pylist()[5] == "node005"
    done = run_iolens(["convert", BEFORE, tmp_path / "copy.darshan"])
    assert done.returncode == 0, done.stderr
    copy = (tmp_path / "copy.darshan").read_bytes()
    assert copy[-8:] == b"iolens\0\2" and len(copy) < len(BEFORE.read_bytes())


def test_what_is_damaged_in_it_is_told(tmp_path: Path, run_iolens: Run) -> None:
    data = BEFORE.read_bytes()
    directory, length = struct.unpack_from("<QQ", data, len(data) - FOOTER + 16)
    (section,) = struct.unpack_from("<Q", data, directory + 32)
    for at in (section + 20, directory + 5, directory + length - 30, len(data) - 40):
        log = tmp_path / f"{at}.darshan"
        log.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
        done = run_iolens(["show", "--ext", log])
        assert done.returncode in {3, 4}
        assert done.stderr.count("\n") == 1 and "damaged" in done.stderr and "at byte" in done.stderr


def rows_of_columns(columns: bytes, rows: int, width: int) -> bytes:
    """Columns of byte planes, of differences to the row before."""
    table = bytearray(rows * width)
    for at in range(0, width, 8):
        word = 0
        for row in range(rows):
            planes = bytes(columns[(at + byte) * rows + row] for byte in range(8))
            word = (word + int.from_bytes(planes, "little")) % 2**64
            table[row * width + at : row * width + at + 8] = word.to_bytes(8, "little")
    return bytes(table)


def test_the_trailer_of_before_is_what_the_reference_page_says() -> None:
    log = BEFORE.read_bytes()
    footer = log[-64:]
    magic, version, flags, at, length, crc = struct.unpack("<8sIIQQI", footer[:36])
    assert (magic, version, flags) == (b"iolens\0\0", 1, 0)
    assert struct.unpack("<I", footer[60:])[0] == crc32c(footer[:60])
    directory = log[at : at + length]
    assert at + length == len(log) - 64
    assert crc == crc32c(directory)
    name, at, stored, raw, rows, heap, schema, width, packed, flags, crc, _ = struct.unpack(
        "<32s5Q6I", directory
    )
    assert (name.rstrip(b"\0"), packed, flags) == (b"process", 0, 2)
    assert crc == crc32c(log[at : at + stored])
    section = zlib.decompress(log[at : at + stored])
    assert len(section) == raw
    assert section[:schema].decode().rstrip("\0").splitlines()[2:5] == [
        "start f64 s",
        "host str",
        "calls i64[3] calls",
    ]
    assert schema + rows * width == heap
    table = rows_of_columns(section[schema:heap], rows, width)
    for row in range(rows):
        pid, _, start, host, length = struct.unpack_from("<qQdII", table, row * width)
        assert (pid, start) == (100 + row, 0.5 * row)
        assert section[heap + host : heap + host + length] == b"node%03d" % row
