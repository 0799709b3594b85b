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
    assert f"| {one.label} | {one.rules[0]} | - | 1.5, 0.6 | 0.5 to 1.0 | 0.9 |" in text
    assert "precision 1.00, recall 1.00 of 1 causes; 1 of 1 savings" in text and "3 runs" in text
    assert injected.score([injected.Case(one, good, bad, good)]) == (0.0, 0.0)
