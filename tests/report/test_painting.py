"""What charts paint: areas are the sums that they stand for, axes end with the run, every bar says its value."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from iolens.metrics import Dataset
from iolens.report import svg
from iolens.report.document import Bars, Heat, Series, Timeline
from iolens.report.palette import SERIES
from iolens.report.sections.cost import cost
from iolens.report.sections.time import time
from iolens.report.source import Source
from iolens.report.units import write
from iolens.rules.text import write as write_in_words
from jobs import Job, MiB
from opened import Opened, document_of

Open = Callable[..., Opened]
KINDS = ("read", "write", "meta")

RUN = 5.57
SHARES = {"read": 0.02, "write": 0.05, "meta": 4.9 / RUN}

# Pixels of the row nearest to each kind's colour or the background, and how many there are.
COUNT = """canvas => {
  const names = ['read', 'write', 'meta', 'panel'];
  const probe = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const colours = names.map((name) => {
    probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--' + name);
    probe.fillRect(0, 0, 1, 1);
    return probe.getImageData(0, 0, 1, 1).data;
  });
  const scale = canvas.width / canvas.getBoundingClientRect().width;
  const [left, right, top, bottom] = [160, 34, 6, 24].map((n) => Math.round(n * scale));
  const [w, h] = [canvas.width - left - right, canvas.height - top - bottom];
  const data = canvas.getContext('2d').getImageData(left, top, w, h).data;
  const found = {read: 0, write: 0, meta: 0, panel: 0};
  for (let n = 0; n < data.length; n += 4) {
    const far = colours.map((c) => Math.hypot(c[0] - data[n], c[1] - data[n + 1], c[2] - data[n + 2]));
    found[names[far.indexOf(Math.min(...far))]] += 1 / (w * h);
  }
  return found;
}"""


def busy(stretches: int) -> Job:
    """A process in metadata calls nearly all the time, and a little in each of the others, in so many stretches."""
    job = Job(nprocs=1, run_time=6).posix("/a", 0, write={MiB: 1})
    long = RUN / stretches
    for number in range(stretches):
        spent = {kind: share * long for kind, share in SHARES.items()}
        job.section(
            "timeline", {"rank": 0, "thread": 1, "start": number * long, "end": (number + 1) * long, **spent}
        )
    return job


def chart_of(job: Job, path: Path, kind: type, name: str) -> Any:
    with Dataset(job.save(path)) as data:
        source = Source(data, 0)
        blocks = [*time(source).blocks, *cost(source).blocks]
        return next(block for block in blocks if isinstance(block, kind) and block.id == name)


@pytest.mark.parametrize("stretches", [1, 40])
def test_the_timeline_paints_shares(open_page: Open, tmp_path: Path, stretches: int) -> None:
    """4.90 s of 5.57 s are metadata, and most of the picture was "writing"."""
    page = open_page(document_of(busy(stretches).save(tmp_path / "job.darshan"))).page
    canvas = page.locator("#timeline-processes canvas")
    canvas.scroll_into_view_if_needed()
    page.wait_for_timeout(50)
    found = page.eval_on_selector("#timeline-processes canvas", COUNT)
    drawn = 0.84 * RUN / 6
    for kind, share in SHARES.items():
        assert found[kind] == pytest.approx(share * drawn, abs=0.05), found
    assert found["meta"] > 0.6


def test_the_still_timeline_paints_shares(tmp_path: Path) -> None:
    chart: Timeline = chart_of(busy(40), tmp_path / "job.darshan", Timeline, "timeline-processes")
    areas: Counter[str] = Counter()
    names = {SERIES[kind][0]: kind for kind in KINDS}
    for width, height, colour in re.findall(
        r'width="([\d.]+)" height="([\d.]+)" fill="(#\w+)"', svg.timeline(chart)
    ):
        areas[names[colour]] += float(width) * float(height)
    whole = sum(areas.values())
    for kind, share in SHARES.items():
        assert areas[kind] / whole == pytest.approx(share / sum(SHARES.values()), abs=0.01)


def test_threads_at_once_do_not_paint_beyond_their_row() -> None:
    levels = [(4, [(0, 0, 3.0, 1.0, 0.0, 0), (0, 1, 0.5, 0.0, 0.0, 0)])]
    chart = Timeline("t", "T", ["0"], 4.0, levels, [], [], complete=False)
    tall = [float(h) for h in re.findall(r'height="([\d.]+)" fill=', svg.timeline(chart))]
    assert tall[0] == pytest.approx(3 * tall[1], abs=0.02) and tall[0] + tall[1] == pytest.approx(
        2 * tall[2], abs=0.02
    )


def test_an_average_says_of_how_many_files_it_is(tmp_path: Path) -> None:
    job = Job(nprocs=1).posix("/a", 0, write={MiB: 4}).posix("/b", 0, read={MiB: 2})
    for number in range(5):
        job.posix(f"/opened{number}", 0)
    with Dataset(job.save(tmp_path / "job.darshan")) as data:
        (row,) = [r for r in data.metric("file_categories") if r["category"] == "total"]
    assert (row["files"], row["sized"], row["mean_size"]) == (7, 2, 3 * MiB)


def test_the_heat_map_ends_with_the_run(tmp_path: Path) -> None:
    """Bins of 4 s: the last of two is half beyond a run of 6 s."""
    from logmaker import HEATMAP, heatmap, plain_log, posix

    log = plain_log(
        nprocs=1, start=1000, end=1006, end_ns=0, names={1: b"/a", 16592106915301738621: b"heatmap:POSIX"}
    )
    log.regions = {
        1: (4, posix(1, 0, writes=2, bytes_written=200, write_start_timestamp=1.0, write_end_timestamp=5.0)),
        HEATMAP: (1, heatmap(16592106915301738621, 0, 4.0, [100, 100], [0, 0])),
    }
    path = tmp_path / "heat.darshan"
    path.write_bytes(bytes(log))
    with Dataset(path) as data:
        (chart,) = [b for b in time(Source(data, 0)).blocks if isinstance(b, Heat)]
    assert (chart.bins, chart.end, chart.drawn_bins, chart.drawn_end) == (2, 8.0, 1.5, 6.0)
    picture = svg.heat(chart)
    assert "6 s" in picture and "8 s" not in picture


def test_a_bar_of_nothing_has_its_label() -> None:
    chart = Bars(
        "b", "B", ["x", "y"], [Series("first", "S", [0, 2 * MiB]), Series("second", "T", [None, 0])], "bytes"
    )
    labels = re.findall(r'<text class="faint"[^>]*>([^<]+)</text>', svg.bars(chart))
    assert labels.count("0 B") >= 2 and "2 MiB" in labels and "unknown" in labels


def test_numbers_are_written_one_way() -> None:
    assert [write(v, "seconds") for v in (0.99996, 0.0009999, 99.96, 2e-7, 0.9994)] == [
        *("1 s", "1 ms", "100 s", "200 ns", "999 ms")
    ]
    assert [write(v, "bytes") for v in (2 << 30, (2 << 30) + 1000, 1023.99 * 1024, 1536)] == [
        *("2 GiB", "2 GiB", "1 MiB", "1.5 KiB")
    ]
    assert [write(v, "percent") for v in (0.0996, 0.1, 0.5)] == ["10 %", "10 %", "50 %"]
    assert [write(v, "") for v in (12345.678, 0.5, 1e7 + 0.5)] == ["12,350", "0.5", "10,000,000"]
    assert [write_in_words(v, "count") for v in (999_999_900, 5e15)] == ["1 billion", "5,000 trillion"]
    assert all(
        "e+" not in write(1.2345 * 10**n, unit) for n in range(16) for unit in ("", "seconds", "count")
    )


@pytest.mark.parametrize("values", [[-5.0, 1.0, 1000.0], [-5.0, -1.0], [-5.0, 3.0]])
def test_bars_of_a_damaged_log_s_negative_counts_are_empty(values: list[float]) -> None:
    chart = Bars(
        "id", "Title", ["a", "b", "c"][: len(values)], [Series("read", "reads", list(values))], "count"
    )
    drawn = svg.bars(chart)
    assert 'width="-' not in drawn and "nan" not in drawn
