"""The short form of the truth suite: `make truth` runs the whole of it, and measures what is saved."""

from __future__ import annotations

import shutil
from pathlib import Path

import injected
import pytest
import table
from iolens.rules import Finding

SHORT = [cause for cause in injected.causes() if cause.short]


def test_forty_causes_have_twins() -> None:
    names = {(cause.kind, cause.name) for cause in injected.causes()}
    assert len(names) >= 40 and {kind for kind, _ in names} == set(injected.KINDS)
    assert all(cause.twin and cause.twin != cause.run for cause in injected.causes())


@pytest.mark.parametrize("cause", SHORT, ids=lambda cause: str(cause.label))
def test_the_first_finding_names_the_cause(cause: injected.Cause, tmp_path: Path) -> None:
    if cause.mpi and not shutil.which(f"mpicc.{cause.mpi}"):
        pytest.skip(f"no {cause.mpi}")
    bad = injected.judge(injected.run(cause, cause.run, tmp_path))
    assert bad.first in cause.rules, [f.message for f in bad.found]
    gone = {f.rule for f in injected.judge(injected.run(cause, cause.twin, tmp_path)).problems}
    assert not gone & set(cause.rules)


def evidence_of(judged: injected.Judged) -> list[str]:
    """Names of files in the evidence of problems."""
    return [
        str(row[one.columns.index("name")])
        for finding in judged.problems
        for one in finding.evidence
        if "name" in one.columns
        for row in one.rows
    ]


def test_a_rank_is_not_blamed_for_files_that_mpi_opens(tmp_path: Path) -> None:
    """Its own thirty thousand files are named, and no other one; the twin, which opens one, has no such finding."""
    cause = next(c for c in injected.causes() if c.name.startswith("each rank opens many files"))
    if not shutil.which(f"mpicc.{cause.mpi}"):
        pytest.skip(f"no {cause.mpi}")
    bad = injected.judge(injected.run(cause, cause.run, tmp_path))
    assert bad.first in cause.rules
    assert all(name.startswith(str(tmp_path)) for name in evidence_of(bad) if name.startswith("/"))
    twin = injected.judge(injected.run(cause, cause.twin, tmp_path))
    assert twin.first == "", [f.message for f in twin.problems]


def test_samples_are_data_and_no_modules(tmp_path: Path) -> None:
    cause = next(c for c in injected.causes() if c.name.endswith("by an application of many modules"))
    bad = injected.judge(injected.run(cause, cause.run, tmp_path))
    (found,) = (f for f in bad.found if f.rule == "small_random_reads")
    (files,) = (e for e in found.evidence if "out_of_order" in e.columns)
    assert [str(row[0]).rpartition("/")[2] for row in files.rows] == ["data0"]


def test_waiting_in_a_full_pipe_is_no_time_in_io(tmp_path: Path) -> None:
    """The producer waits for a second and more; its consumer computes."""
    cause = next(c for c in injected.causes() if c.run == "pipe 512 sync")
    twin = injected.judge(injected.run(cause, cause.twin, tmp_path))
    assert twin.io_time < 0.2 and twin.first == "", [f.message for f in twin.problems]


@pytest.mark.parametrize("name", ["records of 100 bytes written one by one", "a SQLite commit for each row"])
def test_idle_processes_change_no_finding(tmp_path: Path, name: str) -> None:
    cause = next(c for c in injected.causes() if c.name == name)
    assert injected.changed(cause, tmp_path, 20) == ""


def test_the_page_gets_the_table(tmp_path: Path) -> None:
    """What `make truth` writes, and how it ends, of cases that were not run."""
    one = next(cause for cause in injected.causes() if cause.drishti and not cause.unmeasured)
    empty = dict.fromkeys(("advice", "evidence", "references", "aliases"), ())
    texts = dict.fromkeys(("title", "message", "assumptions", "confidence", "topic"), "")
    cost = {"time_lost": 1.0, "share": 0.5, "gain": (0.5, 1.0)}
    finding = Finding(rule=one.rules[0], severity="high", log=0, values={}, **empty, **texts, **cost)
    bad, good = injected.Judged(tmp_path, [finding], 1.5), injected.Judged(tmp_path, [], 0.6)
    page = tmp_path / "page.md"
    page.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
    cases = [injected.Case(one, bad, good, good)]
    table.put(page, cases, injected.score(cases), "3 runs")
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert f"| {one.label} | {one.rules[0]} | 1.5 | 0.6 | 0.5–1.0 | 0.9 |" in text
    assert "precision 1.00, recall 1.00 of 1 causes; 1 of 1 savings" in text and "3 runs" in text
    assert "severity: none." in text
    assert injected.score([injected.Case(one, good, bad, good)]) == (0.0, 0.0)
