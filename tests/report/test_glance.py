"""The first screen: the bar of the run time is true, the strip holds all bytes, what is costly stands first."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from iolens.metrics import Dataset
from iolens.report import svg
from iolens.report.document import Bars, FindingBlock, Offsets, Strip, Tile, Treemap, walk
from iolens.report.sections import traced
from iolens.report.treemap import HEIGHT, WIDTH, draw, layout
from jobs import Job, KiB, MiB, schemas
from logmaker import record
from opened import Opened, document_of, dxt_log, dxt_record

Open = Callable[..., Opened]
APMPI = "apmpi"


def communicating(job: Job, seconds: list[float]) -> Job:
    """With AutoPerf's records of communication, so many seconds in each rank."""
    head = schemas()[APMPI]["header"]
    raw = struct.pack("<QqqIIdd", 1, 0, head["magic"], 0, 0, 0.0, 0.0)
    for rank, time in enumerate(seconds):
        raw += record(schemas()[APMPI], id=1, rank=rank, total_comm_time=time)
    job.regions[APMPI] = raw
    return job


def processes(job: Job, times: list[tuple[float, float, float]], mpi: str = "MPICH") -> Job:
    """With seconds reading, writing and in metadata measured in each rank."""
    for rank, (read, write, meta) in enumerate(times):
        job.section(
            "process",
            {
                **{
                    "rank": rank,
                    "pid": rank + 10,
                    "host": "n",
                    "exe": "/bin/p",
                    "start": 0.0,
                    "end": 99.0,
                    "mpi": mpi,
                },
                **{"io_time": read + write + meta, "read_time": read, "write_time": write, "meta_time": meta},
            },
        )
    return job


def split(job: Job, folder: Path) -> list[dict[str, Any]]:
    with Dataset(job.save(folder / "job.darshan")) as data:
        return data.metric("run_split")


def adds_up(row: dict[str, Any]) -> bool:
    parts = row["compute"] + (row["communication"] or 0) + row["io_time"] - row["in_both"]
    kinds = row["read_time"] + row["write_time"] + row["meta_time"]
    return bool(parts == pytest.approx(row["run_time"]) and kinds == pytest.approx(row["io_time"]))


@pytest.mark.parametrize(("communication", "both"), [(690.0, 625.0), (50.0, 0.0), (2000.0, 662.0)])
def test_parts_of_the_run_add_up_to_it(tmp_path: Path, communication: float, both: float) -> None:
    """Collective I/O communicates: 690 s of communication and 662 s of I/O were 1,352 s of 727."""
    job = Job(nprocs=8, run_time=727).mpiio("/scratch/a", write={MiB: 800}, kind="coll", write_time=8 * 662.0)
    job.posix("/scratch/a", write={MiB: 800}, write_time=8 * 200.0)
    rows = split(communicating(job, [communication] * 8), tmp_path)
    assert [row["who"] for row in rows] == ["average", "slowest"]
    assert all(adds_up(row) for row in rows)
    assert rows[0]["in_both"] == pytest.approx(both)
    assert rows[0]["io_time"] == pytest.approx(662)  # MPI-IO's: POSIX' is in it
    (chart,) = [
        b for b in walk(document_of(tmp_path / "job.darshan")) if isinstance(b, Bars) and b.id == "split"
    ]
    for number in range(2):
        assert sum(series.values[number] or 0 for series in chart.series) == pytest.approx(727)
    assert min(value or 0 for series in chart.series for value in series.values) >= 0


def test_the_average_and_the_slowest_rank_are_what_was_measured(tmp_path: Path) -> None:
    job = Job(nprocs=4, run_time=100).posix("/a", write={MiB: 4}, write_time=1000.0)
    processes(job, [(1.0, 2.0, 3.0), (0.0, 10.0, 0.0), (0.0, 20.0, 4.0), (2.0, 0.0, 6.0)])
    average, slowest = split(communicating(job, [40.0, 30.0, 20.0, 10.0]), tmp_path)
    assert (average["basis"], average["io_time"], average["communication"]) == ("process", 12, 25)
    assert (average["read_time"], average["write_time"], average["meta_time"]) == (0.75, 8, 3.25)
    assert (slowest["rank"], slowest["io_time"], slowest["communication"]) == (2, 24, 20)
    assert (average["compute"], slowest["compute"]) == (63, 56)


def test_one_process_is_one_bar_and_no_more_than_the_run(tmp_path: Path) -> None:
    (row,) = split(Job(nprocs=1, run_time=10).posix("/a", 0, write={MiB: 4}, write_time=25.0), tmp_path)
    assert (row["who"], row["io_time"], row["compute"], row["communication"]) == ("job", 10, 0, None)


def test_an_average_over_many_ranks_counts_those_that_did_nothing(tmp_path: Path) -> None:
    """One of 2,048 ranks writes for 50 of 100 s."""
    job = Job(nprocs=2048, run_time=100).posix("/a", 7, write={MiB: 4}, write_time=50.0)
    average, slowest = split(job, tmp_path)
    assert (average["io_time"], slowest["io_time"]) == (pytest.approx(50 / 2048), 50)


def test_released_logs_add_up(corpus: Path) -> None:
    with Dataset(sorted(p for p in (corpus / "logs").iterdir() if p.suffix == ".darshan")) as data:
        rows = data.metric("run_split")
        assert len(rows) > 40 and all(adds_up(row) for row in rows)


def test_the_strip_holds_all_bytes_of_the_lowest_layer(tmp_path: Path) -> None:
    records = [
        dxt_record(1, rank, [(0, 1000 * (rank + 1), 1.0, 3.0)], [(0, 50, 5.0, 6.0)]) for rank in range(300)
    ]
    log = dxt_log(tmp_path / "a.darshan", records, {1: b"/f"}, nprocs=300)
    (strip,) = [b for b in walk(document_of(log)) if isinstance(b, Strip)]
    sums = {lane.name: sum(lane.values) for lane in strip.lanes}
    assert sums == {"read": 300 * 50, "write": sum(1000 * (r + 1) for r in range(300))}
    read, written = ([n for n, v in enumerate(lane.values) if v] for lane in strip.lanes)
    assert written[0] * strip.width <= 1.0 and (written[-1] + 1) * strip.width >= 3.0
    assert read[0] * strip.width >= 4.0
    assert len(strip.lanes[0].values) <= 100 and strip.end == 100


def test_the_three_costliest_files_are_named_with_their_part(tmp_path: Path) -> None:
    job = Job(nprocs=1)
    for number in range(6):
        job.posix(f"/f{number}", 0, write={MiB: 1}, write_time=float(number))
    (bars,) = [
        b
        for b in walk(document_of(job.save(tmp_path / "job")))
        if isinstance(b, Bars) and b.id == "costliest"
    ]
    assert bars.categories == ["/f5", "/f4", "/f3"]
    assert (bars.whole, [s.values for s in bars.series]) == (15, [[5, 4, 3]])


# ---- offsets ----


@pytest.mark.parametrize("single", [1500, 10])
def test_offsets_are_every_access_or_counts_of_them(
    tmp_path: Path, single: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traced, "SINGLE", single)
    writes = [(n << 20, 1 << 20, 0.1 * n, 0.1 * n + 0.05) for n in range(40)]
    records = [dxt_record(1, 0, writes, writes[:7]), dxt_record(2, 0, writes[:2], [])]
    log = dxt_log(tmp_path / "a.darshan", records, {1: b"/long", 2: b"/short"})
    (block,) = [b for b in walk(document_of(log)) if isinstance(b, Offsets)]
    long, short = block.files
    assert [(f.name, f.count, f.size) for f in block.files] == [
        ("/long", 47, 40 << 20),
        ("/short", 2, 2 << 20),
    ]
    assert len(short.accesses) == 2
    if single < 47:
        assert not long.accesses
        assert sum(count for *_, count, _ in long.cells) == 47
        assert sum(moved for *_, moved in long.cells) == 47 << 20
        assert max(time for time, *_ in long.cells) == 6  # 3.9 of 100 s, on a grid of 160
    else:
        assert long.accesses[-1] == (pytest.approx(3.9), pytest.approx(0.05), 39 << 20, 1 << 20, 1, 0)
    assert svg.offsets(block).count("<rect") == len(long.accesses) + len(long.cells)


def test_the_offsets_of_a_file_can_be_looked_at(open_page: Open, tmp_path: Path) -> None:
    records = [
        dxt_record(n, 0, [(k << 20, 1 << 20, 20.0 * k, 20.0 * k + 9) for k in range(n + 1)], [])
        for n in (1, 3)
    ]
    log = dxt_log(tmp_path / "a.darshan", records, {1: b"/two", 3: b"/four"})
    opened = open_page(document_of(log))
    page, figure = opened.page, "#offsets-dxt_posix"
    assert opened.colours(f"{figure} canvas") > 4
    assert page.inner_text(f"{figure} .status") == "4 accesses; 4 MiB to the furthest"
    page.select_option(f"{figure} select", label="/two")
    assert page.inner_text(f"{figure} .status") == "2 accesses; 2 MiB to the furthest"
    page.focus(f"{figure} canvas")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    said = page.inner_text(".tip")
    assert "process 0, writing from 20 s for 9 s" in said and "1 MiB at offset 1,048,576" in said


# ---- the treemap ----


@pytest.mark.parametrize("values", [[1.0], [6, 6, 4, 3, 2, 2, 1], [1000, 1, 1, 1], [5.0] * 30])
def test_areas_are_values_and_fill_the_box(values: list[float]) -> None:
    boxes = layout(values, (0, 0, WIDTH, HEIGHT))
    for value, (x, y, w, h) in zip(values, boxes):
        assert w * h == pytest.approx(value / sum(values) * WIDTH * HEIGHT)
        assert x >= -1e-6 and x + w <= WIDTH + 1e-6 and y >= -1e-6 and y + h <= HEIGHT + 1e-6
    for n, (x, y, w, h) in enumerate(boxes):
        for left, top, wide, tall in boxes[:n]:
            over = min(x + w, left + wide) - max(x, left), min(y + h, top + tall) - max(y, top)
            assert min(over) < 1e-6


def test_a_directory_may_be_called_anything() -> None:
    chart = Treemap("t", "T", [Tile("/<script>", 3.0, "read", "1 file")], "seconds", [])
    assert "<script>" not in draw(chart) and "/&lt;script&gt;: 3 s = 100 %; 1 file" in draw(chart)


def test_directories_are_drawn_by_their_time(tmp_path: Path) -> None:
    job = Job(nprocs=1)
    for number in range(40):
        job.posix(f"/d{number}/f", 0, write={MiB: 1}, write_time=40.0 - number)
    (chart,) = [b for b in walk(document_of(job.save(tmp_path / "job"))) if isinstance(b, Treemap)]
    assert len(chart.tiles) == 31
    assert {"/d0", "10 other directories"} <= {tile.name for tile in chart.tiles}
    assert sum(tile.value for tile in chart.tiles) == pytest.approx(sum(range(1, 41)))


# ---- the page ----


def big(folder: Path) -> Path:
    job = Job(nprocs=4, run_time=60).posix(
        "/scratch/a", write={KiB: 90_000}, read={MiB: 40}, write_time=200.0, fsyncs=900
    )
    for number in range(5):
        job.posix(f"/scratch/d{number}/b", number % 4, read={MiB: 4}, read_time=number + 1.0)
    return job.save(folder / "big.darshan")


def test_the_first_screen_has_the_picture(open_page: Open, tmp_path: Path) -> None:
    page = open_page(document_of(big(tmp_path)), viewport={"width": 1280, "height": 800}).page
    for figure in ("#split", "#costliest"):
        box = page.locator(figure).bounding_box()
        assert box["y"] + box["height"] < 800
    widths = [bar.bounding_box()["width"] for bar in page.locator("#split svg.fluid rect:not(.empty)").all()]
    whole = page.locator("#split svg.fluid").first.bounding_box()["width"]
    assert sum(widths) == pytest.approx(2 * whole, rel=0.01)  # the average, the slowest


def test_every_bar_says_its_value_under_the_pointer(open_page: Open, tmp_path: Path) -> None:
    page = open_page(document_of(big(tmp_path))).page
    assert page.locator("svg title").count() == 0
    for bar in (
        "#split rect[data-tip]",
        "#costliest rect[data-tip]",
        "#treemap g[data-tip]",
        "#io-cost rect[data-tip]",
    ):
        page.locator(bar).last.hover()
        assert page.locator(".tip").is_visible()
        assert re.search(r"\d (s|ms|us)\b", page.inner_text(".tip")), bar
    page.hover("h1")
    assert not page.locator(".tip").is_visible()


def test_what_is_good_or_to_know_is_one_line(open_page: Open, tmp_path: Path) -> None:
    document = document_of(big(tmp_path))
    quiet = [b for b in walk(document) if isinstance(b, FindingBlock) and b.severity in ("good", "info")]
    page = open_page(document).page
    assert len(quiet) >= 2
    line = page.locator("details.quiet")
    assert line.count() == 1 and line.bounding_box()["height"] < 50
    assert all(one.title in line.locator(":scope > summary").inner_text() for one in quiet)
    assert not page.locator(f"#{quiet[0].id}").is_visible()
    line.locator(":scope > summary").click()
    assert page.locator(f"#{quiet[0].id}").is_visible()


@pytest.mark.parametrize("width", [360, 768])
def test_a_narrow_screen_does_not_scroll_sideways(open_page: Open, tmp_path: Path, width: int) -> None:
    page = open_page(document_of(big(tmp_path)), viewport={"width": width, "height": 800}).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
