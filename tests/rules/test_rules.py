"""Every rule fires where it should, saying the right numbers, and is silent where it should be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import cases
import cases_parallel
import pytest
from iolens.metrics import Dataset
from iolens.rules import Finding, find, load, parse

CASES = {
    **{**cases.SUMMARY, **cases.SIZE, **cases.PATTERN, **cases.METADATA},
    **{**cases_parallel.SHARING, **cases_parallel.BALANCE, **cases_parallel.LAYOUT},
    **{**cases_parallel.LIBRARY, **cases_parallel.DATA},
}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], list[Finding]]:
    """What is found in the jobs of all cases, each as it is alone: by its rule, and 0 where it fires, 2 where not."""
    folder = tmp_path_factory.mktemp("jobs")
    found: dict[tuple[str, int], list[Finding]] = {}
    places = [(rule, which) for rule in sorted(CASES) for which in (0, 2)]
    logs = [CASES[rule][which].save(folder / f"{rule}-{which}.darshan") for rule, which in places]
    found.update({place: [] for place in places})
    with Dataset(logs) as data:
        assert not data.problems
        for one in find(data):
            found[places[one.log]].append(one)
    return found


def test_every_rule_has_a_case() -> None:
    assert sorted(CASES) == sorted(load().rules)


@pytest.mark.parametrize("rule", CASES)
def test_it_fires(rule: str, judged: dict[tuple[str, int], list[Finding]]) -> None:
    found = {f.rule: f for f in judged[rule, 0]}
    assert rule in found, [f"{f.rule}: {f.message}" for f in found.values()]
    one = found[rule]
    assert CASES[rule][1] in one.message
    assert one.severity in ("high", "medium", "low") or one.gain is None
    assert all(row for evidence in one.evidence for row in evidence.rows)
    assert all(len(evidence.rows) <= 10 for evidence in one.evidence)
    if one.gain is not None:
        assert one.assumptions and 0 <= one.gain[0] <= one.gain[1]


@pytest.mark.parametrize("rule", CASES)
def test_it_must_not_fire(rule: str, judged: dict[tuple[str, int], list[Finding]]) -> None:
    assert rule not in {f.rule for f in judged[rule, 2]}


def test_rules_say_what_they_are() -> None:
    for rule in load().rules.values():
        problem = rule.cap not in ("info", "good")
        assert rule.why and (rule.advice or not problem), rule.id
        assert rule.gain or not problem or "does not say what it costs" in rule.why, rule.id
        assert all(t.reason for t in rule.thresholds.values()), rule.id


def test_the_reference_page_is_up_to_date(root: Path, tmp_path: Path) -> None:
    page = tmp_path / "rules.md"
    subprocess.run([sys.executable, root / "tools" / "rulepage.py", page], check=True)
    assert page.read_text() == (root / "docs" / "reference" / "rules.md").read_text(), "run make docs"


def test_the_installed_catalog_is_that_of_the_files(root: Path) -> None:
    files = (root / "python" / "iolens" / "rules" / "catalog").glob("*.toml")
    assert {file.stem: parse(file.stem, file.read_text()) for file in files} == load().rules


def test_rules_cover_rules_that_are_there() -> None:
    rules = load().rules
    assert [(r.id, name) for r in rules.values() for name in r.covers if name not in rules] == []
