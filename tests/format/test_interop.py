"""A log that we write, read by other people's tools."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import places
import pytest
from interfaces import LIBC

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
    for module in LIBC:
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
    assert compared == sum(key[0] in LIBC for key in made.counters)


def test_pydarshan_reads_the_heat_map(made: Made) -> None:
    darshan = pytest.importorskip("darshan", reason="PyDarshan is not installed")
    report = darshan.DarshanReport(str(made.path), read_all=False)
    report.read_all_heatmap_records()
    heat = report.heatmaps["POSIX"]
    written = [int(v) for k, v in made.counters.items() if "WRITE_BIN" in k[3]]
    assert int(heat.to_df(["write"]).to_numpy().sum()) == sum(written)
