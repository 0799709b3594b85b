"""What a report says of a job: its name, what adds up, what is not known, what took a directory's time."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
from iolens.cli.finding_text import finding_lines
from iolens.metrics import Dataset
from iolens.report import build, svg
from iolens.report.document import Bars, Document, FindingBlock, Note, Series, Table, walk
from iolens.report.html import to_html
from iolens.report.sections.ending import title
from iolens.report.source import Source
from iolens.report.text import print_text
from iolens.report.units import write
from iolens.rules import find
from jobs import Job, KiB, MiB


def document(job: Job, folder: Path) -> Document:
    with Dataset(job.save(folder / "job.darshan")) as data:
        return build(data, find(data))


def notes(document: Document) -> list[str]:
    return [block.text for block in walk(document) if isinstance(block, Note)]


@pytest.mark.parametrize(
    ("exe", "expected"),
    [
        ("/usr/bin/python3.11 -u /home/me/train.py --epochs 3", "train.py"),
        ("python3 -m mpi4py run.py", "mpi4py"),
        ("/usr/bin/python3 -c pass", "python3"),
        ("bash job.sh", "job.sh"),
        ("python3 4711", "python3"),
        ("/bin/lmp -in in.melt", "lmp"),
    ],
)
def test_a_job_is_called_by_its_script(exe: str, expected: str, tmp_path: Path) -> None:
    job = Job(nprocs=1, exe=exe).posix("/a", 0, write={MiB: 10}, write_time=5.0)
    with Dataset(job.save(tmp_path / "job.darshan")) as data:
        assert title(Source(data, 0)) == expected


def test_findings_that_overlap_say_so(tmp_path: Path) -> None:
    several = Job(nprocs=1).posix("/a", 0, write={KiB: 50_000}, fsyncs=500, write_time=60.0)
    one = Job(nprocs=1).posix("/a", 0, write={MiB // 2: 5000}, write_time=60.0)
    line = "findings overlap: do not add their seconds."
    for job, expected in ((several, True), (one, False)):
        assert any(line in text for text in notes(document(job, tmp_path))) == expected
        with Dataset(tmp_path / "job.darshan") as data:
            said = list(finding_lines(find(data), 200, False))
        assert any(line in text for text in said) == expected, said


def test_what_starting_takes_is_not_unexplained(tmp_path: Path) -> None:
    for unseen, expected in ((5 * KiB, False), (MiB, True)):
        job = Job(nprocs=1).posix("/a", 0, write={MiB: 10}, write_time=5.0)
        row: dict[str, Any] = {"rank": 0, "pid": 1, "host": "n", "exe": "/bin/p", "start": 0.0, "end": 9.0}
        row |= {
            "ended": "exit",
            "signal": 0,
            "io_time": 5.0,
            "mpi": "",
            "seen_read": 0,
            "seen_written": 10 * MiB,
        }
        job.section("process", {**row, "unseen_read": unseen, "unseen_written": 0})
        assert any(text.startswith("Unexplained") for text in notes(document(job, tmp_path))) == expected


def test_a_directory_that_was_forced_to_storage_says_so(tmp_path: Path) -> None:
    job = Job(nprocs=1).posix("/a/directory", 0, opens=1, fsyncs=7, write_time=5.0)
    files = next(
        b for b in walk(document(job, tmp_path)) if isinstance(b, Table) and b.id.endswith("file-table")
    )
    syncs = [column.name for column in files.columns].index("syncs")
    assert files.rows[0][syncs] == 7


def test_what_is_good_or_to_know_is_one_line_of_text(tmp_path: Path) -> None:
    job = Job(nprocs=1).posix("/a", 0, write={MiB: 2000}, write_time=60.0)
    made = document(job, tmp_path)
    quiet = [b for b in walk(made) if isinstance(b, FindingBlock) and b.severity in ("good", "info")]
    assert len(quiet) >= 2
    print_text(made, tmp_path / "report.txt")
    text = (tmp_path / "report.txt").read_text()
    said = text.partition("Good, or to know: ")[2].partition("\n\n")[0].replace("\n", " ")
    assert all(one.title in said for one in quiet)
    assert not any(one.message in text.replace("\n  ", " ") for one in quiet)


# ---- how a job ended, and what it is called ----


def image(rank: int, command: str, **more: Any) -> dict[str, Any]:
    """A row of the process table."""
    return {
        **{"rank": rank, "pid": 10 + rank, "host": "n", "exe": "", "command": command, "start": 0.1 * rank},
        **{"end": 9.0, "ended": "exit", "signal": 0, "io_time": 0.0, "mpi": "", **more},
    }


def of_processes(folder: Path, exe: str, *rows: dict[str, Any]) -> Document:
    job = Job(nprocs=len(rows), run_time=100, exe=exe).posix("/a", 0, write={MiB: 10}, write_time=0.1)
    return document(job.section("process", *rows), folder)


def test_a_killed_job_says_so_first(tmp_path: Path) -> None:
    """ "I/O is fine" stood in green over a job that signal 9 had ended."""
    killed = {"ended": "signal", "signal": 9, "end": 0.0}
    made = of_processes(tmp_path, "python3 killed.py", image(0, "python3 killed.py", **killed))
    (job,) = made.jobs
    assert job.ended.startswith("Ended by signal 9 (killed) after ") and job.ended.endswith(
        "numbers until then."
    )
    box = to_html(made).partition('<div class="verdict ')[2].partition("</div>")[0]
    assert (
        box.startswith('look"><p class="ended">Ended by signal 9') and "<strong>Ended early</strong>" in box
    )
    (found,) = [
        b for b in walk(made) if isinstance(b, FindingBlock) and b.facts[-1][1].startswith("ended_early")
    ]
    assert not found.quiet, "it stood among the good signs"
    (tree,) = [b for b in walk(made) if isinstance(b, Table) and b.id == "process-tree"]
    row = dict(zip([c.name for c in tree.columns], tree.rows[0]))
    assert (row["end"], row["ended"]) == (None, "killed by signal 9")


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        ("exit", ""),
        ("unknown", "Recovered: the program was killed; numbers until"),
        ("running", "Still running"),
    ],
)
def test_a_recovered_job_says_so(ended: str, words: str, tmp_path: Path) -> None:
    made = of_processes(tmp_path, "/bin/p", image(0, "/bin/p", ended=ended))
    assert made.jobs[0].ended.startswith(words) and bool(made.jobs[0].ended) == bool(words)


def test_helpers_that_a_job_ends_are_no_news(tmp_path: Path) -> None:
    """A pool of processes is ended by signal 15."""
    pool = image(1, "python3 loader.py", signal=15, ended="signal", io_time=3.0)
    made = of_processes(tmp_path, "python3 loader.py", image(0, "python3 loader.py"), pool)
    assert made.jobs[0].ended == ""


@pytest.mark.parametrize(
    ("exe", "expected"),
    [
        ("timeout -s KILL 5 python3 killed.py", "killed.py (started by timeout)"),
        ("/usr/bin/env bash /home/me/shims/python3 killed.py", "killed.py"),
    ],
)
def test_a_job_is_not_called_by_what_starts_it(exe: str, expected: str, tmp_path: Path) -> None:
    rows = image(0, exe), image(1, "sed -n 1p x"), image(2, "/usr/bin/python3 killed.py", io_time=4.0)
    assert of_processes(tmp_path, exe, *rows).jobs[0].title == expected


# ---- what to do, and words ----


def test_the_answer_says_what_to_do_first(tmp_path: Path) -> None:
    made = document(Job(nprocs=1).posix("/a", 0, write={KiB: 50_000}, fsyncs=500, write_time=60.0), tmp_path)
    (job,) = made.jobs
    first = next(b for b in walk(made) if isinstance(b, FindingBlock))
    assert (job.action_at, job.action) == (first.id, first.advice[0][0])
    page = to_html(made)
    assert f'<a href="#{first.id}">Why, and how</a>' in page and f'id="{first.id}"' in page
    print_text(made, tmp_path / "report.txt")
    said = " ".join((tmp_path / "report.txt").read_text().split())
    assert f"Do this first: {job.action}" in said


def test_findings_of_equal_cost_say_that_they_are_the_same_seconds(tmp_path: Path) -> None:
    made = document(Job(nprocs=1).posix("/a", 0, write={KiB: 50_000}, fsyncs=500, write_time=60.0), tmp_path)
    costly = [b for b in walk(made) if isinstance(b, FindingBlock) and b.severity in ("high", "medium")]
    lost = [dict(b.facts)["Time lost"] for b in costly]
    same = [n for n, text in enumerate(lost) if "the same seconds as" in text]
    assert all(lost[n].split(" =")[0] in [text.split(" =")[0] for text in lost[:n]] for n in same)


def test_ranks_are_processes_where_no_mpi_ran(tmp_path: Path) -> None:
    rows = [image(n, "python3 loader.py", io_time=1.0) for n in range(3)]
    job = Job(nprocs=3, run_time=100)
    for rank in range(3):
        job.posix(f"/f{rank}", rank, read={MiB: 10}, read_time=1.0)
    made = document(job.section("process", *rows), tmp_path)
    text = to_html(made).partition("<main")[2].partition("<script")[0]
    text = re.sub(
        r'<details class="finding.*?</details>|<code>.*?</code>| id="\w+"', "", text, flags=re.DOTALL
    )
    assert not re.search(r"\b[Rr]anks?\b", text), "but in sentences of rules"
    assert "I/O by process" in text
    parallel = document(Job(nprocs=4).posix("/a", write={MiB: 10}, write_time=5.0), tmp_path)
    assert "rank" in to_html(parallel)


def test_alike_files_are_one_row(tmp_path: Path) -> None:
    job = Job(nprocs=1, run_time=100)
    for number in range(50):
        job.posix(f"/imgs/img_{number:04}.jpg", 0, read={KiB: 20}, read_time=0.5)
    job.posix("/imgs/labels7.csv", 0, read={MiB: 2}, read_time=0.4)
    made = document(job, tmp_path)
    found = {getattr(b, "id", ""): b for b in walk(made)}
    alike, costliest = found["alike-files"], found["costliest"]
    assert isinstance(alike, Table) and isinstance(costliest, Bars)
    assert [row[:2] for row in alike.rows] == [["/imgs/img_*.jpg", 50]]
    assert costliest.categories == ["/imgs/img_*.jpg (50 files)", "/imgs/labels7.csv"]
    assert costliest.series[0].values == [pytest.approx(25.0), pytest.approx(0.4)]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (4.89e-9, "4.89 ns"),
        (3.51e-7, "351 ns"),
        (437, "437 s"),
        (599.4, "599 s"),
        (600, "10 min"),
        (1479, "24 min 39 s"),
        (3599.6, "1 h"),
        (51_264, "14 h 14 min"),
        (287_585, "3 d 8 h"),
        (23_763_178, "275 days"),
    ],
)
def test_long_times_are_in_units_that_people_count(seconds: float, words: str) -> None:
    assert write(seconds, "seconds") == words


# ---- charts ----


def test_bars_are_linear_with_whole_ticks_and_values_to_hear() -> None:
    chart = Bars("c", "Files", ["a", "b"], [Series("read", "Read", [9, 3])], "count", axis="files")
    assert svg.axis_ticks(9, "count") == [0, 2, 4, 6, 8] and svg.axis_ticks(1, "count") == [0, 1]
    drawn = svg.bars(chart)
    wide = [float(w) for w in re.findall(r'class="s-read"[^>]*? width="([\d.]+)"', drawn)]
    assert wide[0] / wide[1] == pytest.approx(3, rel=0.01)
    far = dataclasses.replace(chart, series=[Series("read", "Read", [10_000, 1])])
    wide = [float(w) for w in re.findall(r'class="s-read"[^>]*? width="([\d.]+)"', svg.bars(far))]
    assert wide[0] > 100 and wide[1] == 1, "linear, whatever the range"
    assert 'aria-label="Files: a: read 9; b: read 3"' in drawn and ">files</text>" in drawn
