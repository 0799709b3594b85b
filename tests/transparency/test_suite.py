"""The short cases of the transparency suite; `make transparency` runs them all."""

from __future__ import annotations

from pathlib import Path

import pytest
from transparency import suite

SHORT = [name for name, case in suite.CASES.items() if case.short]


@pytest.mark.parametrize("name", SHORT)
def test_the_verdict_is_the_same(name: str, iolens: Path, preload: Path) -> None:
    lacks = suite.missing(suite.CASES[name])
    if lacks:
        pytest.skip(f"not installed: {', '.join(lacks)}")
    verdict = suite.compare(suite.CASES[name])
    assert verdict.startswith("equal"), verdict
