"""What a report says of a job: its name, what adds up, what is not known, what took a directory's time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from iolens.cli.finding_text import finding_lines
from iolens.metrics import Dataset
from iolens.report import build
from iolens.report.document import Document, FindingBlock, Note, Table, walk
from iolens.report.sections.job import title
from iolens.report.source import Source
from iolens.report.text import print_text
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
    line = "findings may account for the same seconds: what they cost and can save does not add up."
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
