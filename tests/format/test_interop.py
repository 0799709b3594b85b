"""A log that we write, read by other people's tools."""

from __future__ import annotations

import struct
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import places
import pytest

Key = tuple[str, int, int, str]  # module, rank, record id, counter


class Made(NamedTuple):
    path: Path
    counters: dict[Key, str]


SHAPES = [(1, 1, 1), (2, 40, 4), (3, 700, 16)]  # seed, files, processes


@pytest.fixture(scope="module", params=SHAPES, ids=lambda shape: f"{shape[1]}-files")
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    tool = places.BUILD / "tests" / "format" / "format-make-log"
    path = tmp_path_factory.mktemp("logs") / "made.darshan"
    words = [str(tool), str(path), *map(str, request.param)]
    lines = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
    counters = {}
    for line in lines:
        module, rank, record, counter, value = line.split("\t")
        counters[module, int(rank), int(record), counter] = value
    return Made(path, counters)


def test_iolens_shows_what_was_written(made: Made, run_iolens: Callable[..., object]) -> None:
    done = run_iolens(["show", made.path])
    assert (done.returncode, done.stderr) == (0, "")
    shown = {}
    for line in done.stdout.splitlines():
        if line and not line.startswith("#"):
            module, rank, record, counter, value = line.split("\t")[:5]
            shown[module, int(rank), int(record), counter] = value
    wanted = {
        key: value if "_F_" not in key[3] else f"{float(value):.6f}" for key, value in made.counters.items()
    }
    assert shown == wanted


def test_an_independent_decoder_reads_what_was_written(made: Made, oracle: ModuleType) -> None:
    log = oracle.Log(str(made.path))
    wanted = dict(made.counters)
    for module in log.mod:
        if not log.mod[module][1]:
            continue
        for record, rank, values in log.records(module):
            for counter, value in values:
                written = wanted.pop((oracle.MODNAMES[module], rank, record, counter))
                if isinstance(value, float):
                    assert value == float(written)
                else:
                    assert oracle.fmt(counter, value) == written
    assert not wanted
    assert log.names[oracle.jenkins64(b"/data/directory 0/file-0.dat")] == "/data/directory 0/file-0.dat"


def test_pydarshan_reads_what_was_written(made: Made) -> None:
    darshan = pytest.importorskip("darshan", reason="PyDarshan is not installed")
    report = darshan.DarshanReport(str(made.path), read_all=True)
    assert report.metadata["job"]["jobid"] == 4711
    assert report.metadata["exe"].startswith("./program")
    assert [m[0] for m in report.mounts] == ["/data/fast", "/data", "/"]
    compared = 0
    for module in ("POSIX", "STDIO"):
        frames = report.records[module].to_df()
        for frame in (frames["counters"], frames["fcounters"]):
            for row in frame.to_dict("records"):
                record, rank = int(row.pop("id")), int(row.pop("rank"))
                for counter, value in row.items():
                    written = made.counters[module, rank, record, counter]
                    if counter.endswith("RENAMED_FROM"):  # PyDarshan reads it as signed
                        assert int(value) % 2**64 == int(written)
                    else:
                        assert value == float(written) if "_F_" in counter else int(value) == int(written)
                    compared += 1
    assert compared == sum(key[0] in ("POSIX", "STDIO") for key in made.counters)


def test_pydarshan_reads_the_heat_map(made: Made) -> None:
    darshan = pytest.importorskip("darshan", reason="PyDarshan is not installed")
    report = darshan.DarshanReport(str(made.path), read_all=False)
    report.read_all_heatmap_records()
    heat = report.heatmaps["POSIX"]
    written = [int(v) for k, v in made.counters.items() if "WRITE_BIN" in k[3]]
    assert int(heat.to_df(["write"]).to_numpy().sum()) == sum(written)


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


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


def test_the_trailer_is_what_its_reference_page_says(made: Made) -> None:
    log = made.path.read_bytes()
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
