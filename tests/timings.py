"""How long each test of the last runs took, and what came of it: `make slowest`, and the counts of tests/run.py.

As a script: prints the dearest files and tests. usage: tests/timings.py [HOW_MANY]
"""

from __future__ import annotations

import collections
import json
import sys
from pathlib import Path
from typing import Any

BUILD = Path(__file__).resolve().parent.parent / "build"
STORED = BUILD / "test-timings.json"
COUNTS = BUILD / "test-counts.json"


def _replace(file: Path, content: Any) -> None:
    file.parent.mkdir(exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(json.dumps(content, indent=0, sort_keys=True))
    new.replace(file)


class Timings:
    """Plugin of the process that reports: seconds of set-up, call and tear-down of each test together."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.outcomes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        name, outcome = report.nodeid, report.outcome
        self.seconds[name] = self.seconds.get(name, 0.0) + report.duration
        if outcome != "passed" or report.when == "call":
            self.outcomes[name] = outcome if self.outcomes.get(name) != "failed" else "failed"

    def pytest_sessionfinish(self) -> None:
        known = json.loads(STORED.read_text()) if STORED.is_file() else {}
        _replace(STORED, known | {name: round(seconds, 3) for name, seconds in self.seconds.items()})
        _replace(COUNTS, dict(collections.Counter(self.outcomes.values())))


def pytest_configure(config: Any) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Timings())


def main(most: int = 25) -> None:
    if not STORED.is_file():
        sys.exit(f"{STORED} is not there: run ./bootstrap test or make full first")
    tests: dict[str, float] = json.loads(STORED.read_text())
    files: collections.Counter[str] = collections.Counter()
    for name, seconds in tests.items():
        files[name.partition("::")[0]] += seconds
    for title, rows in (("files", files), ("tests", collections.Counter(tests))):
        print(f"{sum(rows.values()):8.1f} s in {len(rows)} {title}, of these:")
        for name, seconds in rows.most_common(most):
            print(f"{seconds:8.1f} s {name}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
