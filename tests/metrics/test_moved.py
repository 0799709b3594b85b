"""Data moved, by kind of access, and that nothing calls I/O fine of which too much is not explained."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from iolens.compare import Group, compare
from iolens.compare.text import to_plain, to_text
from iolens.metrics import Dataset
from iolens.report.build import build
from iolens.report.document import Document
from iolens.report.html import to_html
from iolens.report.plain import to_plain as report_plain
from iolens.report.sections.compared import compared
from iolens.report.text import print_text
from iolens.rules import find
from jobs import Job, MiB

FINE = ("fine", "not the problem", "look for time elsewhere", "not what makes this job slow", "no difference")


def process(**values: Any) -> dict[str, Any]:
    return {
        **{"rank": 0, "pid": 100, "host": "n1", "exe": "/bin/p", "start": 0.0, "end": 10.0, "ended": "exit"},
        **{"signal": 0, "io_time": 0.05, "mpi": "", "seen_read": 10 * MiB, "seen_written": 0},
        **{"unseen_read": 0, "unseen_written": 0, **values},
    }


def job(*operations: tuple[str, str, int], **values: Any) -> Job:
    """10 s, so that 64 MiB from storage could have taken an eighth of it."""
    made = Job(run_time=10).posix("/scratch/a", 0, read={MiB: 10}, read_time=0.05)
    made.section("process", process(**values))
    rows = [
        {"rank": 0, "interface": way, "name": name, "count": 1, "errors": 0, "bytes": n, "time": 0.0}
        for way, name, n in operations
    ]
    return made.section("operation", *rows) if rows else made


EXPLAINED = {"unexplained_read": 0, "unexplained_written": 0}
UNEXPLAINED = {"unseen_read": 64 * MiB, "unexplained_read": 64 * MiB, "unexplained_written": 0}
PARTLY = {
    "unexplained": (job(**UNEXPLAINED), True),
    "an old log": (job(unseen_read=64 * MiB), True),
    "io_uring": (job(("io_uring", "write", 64 * MiB), **EXPLAINED), False),
    "unobserved": (job(("unobserved", "read", 64 * MiB), unseen_read=64 * MiB, **EXPLAINED), False),
}
WHOLE = {
    "all is seen": job(**EXPLAINED),
    "unseen, but explained": job(unseen_read=64 * MiB, **EXPLAINED),
    "less than 5 %": job(("libaio", "read", MiB // 2), unexplained_read=1000, unexplained_written=1000),
    "sockets": job(**EXPLAINED).section(
        "excluded",
        {"rank": 0, "class": "socket_public", "description": "", "opens": 1, "reads": 1, "writes": 0}
        | {"bytes_read": 90 * MiB, "bytes_written": 0},
    ),
}


def report_text(document: Document, folder: Path) -> str:
    print_text(document, folder / "text")
    return " ".join((folder / "text").read_text().split())


def said(logs: Sequence[Path]) -> dict[str, str]:
    with Dataset(logs) as data:
        findings = find(data)
        document = build(data, findings)
        good = " ".join(f.title for f in findings if f.severity == "good")
        return {
            "good": good,
            "verdict": document.jobs[0].verdict,
            "headline": document.jobs[0].headline,
            "html": to_html(document),
            "text": report_text(document, logs[0].parent),
            "json": json.dumps(report_plain(document)),
        }


@pytest.mark.parametrize("name", PARTLY)
def test_nothing_says_that_io_is_fine_of_which_much_is_not_known(name: str, tmp_path: Path) -> None:
    made, unexplained = PARTLY[name]
    log = made.save(tmp_path / "log")
    words = said([log])
    assert words["good"] == ""
    assert words["verdict"] == "unknown"
    assert ("of all bytes are unexplained" in words["headline"]) is unexplained
    for form in ("headline", "html", "text", "json"):
        shown = words[form].split("<script")[0].lower()
        assert [word for word in FINE if word in shown] == [], form
        assert ("are unexplained" if unexplained else "time is not known") in shown


@pytest.mark.parametrize("name", WHOLE)
def test_where_all_is_explained_the_verdict_stands(name: str, tmp_path: Path) -> None:
    words = said([WHOLE[name].save(tmp_path / "log")])
    assert words["verdict"] == "good"
    assert "I/O is not the problem" in words["good"]
    assert "I/O is fine" in words["html"]


def test_the_finding_counts_what_has_no_explanation(tmp_path: Path) -> None:
    firing = [(PARTLY["unexplained"][0], True), (PARTLY["an old log"][0], True)]
    for made, fires in [*firing, *((one, False) for one in WHOLE.values())]:
        with Dataset(made.save(tmp_path / "log")) as data:
            assert ("unexplained_io" in [f.rule for f in find(data)]) is fires


RING = {"rank": 0, "interface": "io_uring", "direction": "read", "count": 10, "errors": 0, "bytes": 100 * MiB}


@pytest.mark.parametrize(("untimed", "noted"), [(0, False), (10 * MiB, False), (100 * MiB, True)])
def test_a_comparison_says_that_time_is_not_known(untimed: int, noted: bool, tmp_path: Path) -> None:
    """Requests stand in records, with their time or without; 10 MiB can have cost 0.2 of 10 s, 100 MiB 2 s."""
    operation = ("io_uring", "read", 100 * MiB)
    made = job(operation, **EXPLAINED).section("async", {**RING, "recorded": 100 * MiB, "untimed": untimed})
    log = made.save(tmp_path / "log")
    text = to_text(compare([Group(name, (str(log),)) for name in ("before", "after")]))
    assert ("100 MiB of before moved in ways whose time is not known" in text) is noted


def test_a_comparison_does_not_call_equal_what_is_not_known(tmp_path: Path) -> None:
    logs = [
        made.save(tmp_path / f"{n}")
        for n, made in enumerate((WHOLE["all is seen"], PARTLY["unexplained"][0]))
    ]
    groups = [Group(str(n), (str(log),)) for n, log in enumerate(logs)]
    found = compare(groups)
    text = to_text(found)
    assert "86 % of the bytes of 1 are unexplained" in text
    assert "no difference" not in text and "of what is explained, 1 is as 0" in text
    assert to_plain(found)["unexplained"] == pytest.approx([0.0, 64 / 74])
    assert (compared(found, "1").jobs[0].verdict, compared(found, "1").jobs[0].label) == (
        "unknown",
        "Not known",
    )
    same = compare([groups[0], Group("again", groups[0].paths)])
    assert "no difference beyond the limits" in to_text(same)
    assert compared(same, "1").jobs[0].verdict == "good"


def test_each_way_has_its_bytes(tmp_path: Path) -> None:
    made = job(
        ("libaio", "read", 5), ("io_uring", "write", 6), ("mapped", "write", 7), ("unobserved", "read", 8)
    )
    classes = [
        {"rank": 0, "class": name, "description": "", "opens": 1, "reads": 1, "writes": 0}
        | {"bytes_read": n, "bytes_written": 0}
        for n, name in enumerate(("socket_public", "socket_unix", "pipe", "python", "kernel"), 1)
    ]
    with Dataset(made.section("excluded", *classes).save(tmp_path / "log")) as data:
        rows = {row["way"]: (row["bytes_read"], row["bytes_written"]) for row in data.metric("moved")}
    assert rows == {
        **{
            "posix": (10 * MiB, 0),
            "libaio": (5, 0),
            "io_uring": (0, 6),
            "mapped": (0, 7),
            "socket_public": (1, 0),
        },
        **{"socket_unix": (2, 0), "not_files": (3, 0), "system_files": (9, 0), "unobserved": (8, 0)},
    }


def test_logs_without_the_tables_say_nothing_of_ways(tmp_path: Path) -> None:
    log = Job().posix("/scratch/a", 0, read={MiB: 10}, read_time=0.5).save(tmp_path / "log")
    with Dataset(log) as data:
        assert data.metric("moved") == data.metric("unexplained") == []
        assert "by its way" not in report_text(build(data, find(data)), tmp_path)
