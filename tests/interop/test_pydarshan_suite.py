"""PyDarshan's own tests on our reader: those of records, functions and sums. `make pydarshan` runs all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

for _name in ("darshan", "pyarrow", "numpy", "pandas"):
    pytest.importorskip(_name, reason=f"{_name} is not installed")

from interop import pydarshan_suite  # noqa: E402

CHOSEN = "cffi_misc or error or lib_accum or moddxt or modmpiio or modposix or modstdio or test_report"


def test_records_functions_and_sums(corpus: Path) -> None:
    outcomes = pydarshan_suite.run("iolens", ["-k", CHOSEN])
    assert sum(outcome == "passed" for outcome, _ in outcomes.values()) >= 120
    assert pydarshan_suite.problems(outcomes) == []
