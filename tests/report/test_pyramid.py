"""Levels of detail hold exactly the time and bytes of the accesses."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from iolens.metrics import Dataset
from iolens.report import pyramid
from iolens.report.pyramid import FINEST, Trace, levels, per_row
from opened import dxt_log, dxt_record

END = 64.0


def trace(data: Dataset) -> Trace:
    count = data.query("SELECT count(*) FROM dxt_posix").fetchall()[0][0]
    sql = (
        "SELECT rank, start, \"end\", CASE operation WHEN 'write' THEN 1 ELSE 0 END AS kind, 1.0 AS weight, "
        'length AS bytes, "offset" AS place, id FROM dxt_posix'
    )
    return Trace(sql, count, END)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Two ranks: accesses inside one stretch, across borders, over many stretches, of no duration, touching the end."""
    stretch = END / FINEST
    first = [
        (0, 100, 0.25 * stretch, 0.75 * stretch),
        (0, 1000, 3.5 * stretch, 4.5 * stretch),
        (0, 2**20, 1.0, 33.0),
        (0, 7, 40.0, 40.0),
    ]
    second = [(5, 4096, 63.0, 64.0)]
    records = [dxt_record(1, 0, first, []), dxt_record(1, 1, [], second)]
    return dxt_log(tmp_path / "traced.darshan", records, {1: b"/data/file"}, nprocs=2)


def test_busy_time_and_bytes_are_kept(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyramid, "EXACT", 0)
    with Dataset(log) as data:
        made = levels(data, trace(data), 2, lambda ids: dict.fromkeys(ids, "/data/file"))
    assert [bins for bins, _ in made.levels] == [256, 1024, 4096, 16384]
    stretch = END / FINEST
    for bins, cells in made.levels:
        width = END / bins
        writing = sum(cell[3] for cell in cells if cell[0] == 0) * width
        reading = sum(cell[2] for cell in cells if cell[0] == 1) * width
        assert writing == pytest.approx(1.5 * stretch + 32)
        assert reading == pytest.approx(1.0)
        assert sum(cell[5] for cell in cells) == pytest.approx(100 + 1000 + 2**20 + 7 + 4096, abs=bins)
        assert max(cell[1] for cell in cells) == bins - 1
    assert not made.complete
    # The longest first.
    assert made.accesses[0] == (0, 1.0, 32.0, 1, 2**20, 0, 0)


def test_short_traces_are_whole(log: Path) -> None:
    with Dataset(log) as data:
        made = levels(data, trace(data), 2, lambda ids: dict.fromkeys(ids, "/data/file"))
    assert made.complete
    assert len(made.accesses) == 5
    assert made.files == ["/data/file"]


def test_every_stretch_is_what_its_accesses_add_up_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyramid, "EXACT", 0)
    chance = random.Random(3)
    segments = []
    for _ in range(300):
        start = chance.uniform(0, END * 0.95)
        segments.append((0, chance.randrange(1, 10**6), start, min(END, start + chance.expovariate(2))))
    log = dxt_log(tmp_path / "many.darshan", [dxt_record(1, 0, segments, [])], {1: b"/data/file"})
    with Dataset(log) as data:
        made = levels(data, trace(data), 1, lambda ids: {})
    bins, cells = made.levels[0]
    width = END / bins
    wanted = [
        sum(max(0.0, min(end, (n + 1) * width) - max(start, n * width)) for _, _, start, end in segments)
        / width
        for n in range(bins)
    ]
    found = [0.0] * bins
    for _, place, _, share, _, _ in cells:
        found[place] = share
    assert found == pytest.approx(wanted, abs=1e-6)


def test_many_ranks_share_rows() -> None:
    assert (per_row(128), per_row(129), per_row(65536)) == (1, 2, 512)
