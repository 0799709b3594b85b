"""Metrics tell what they are: iolens explain, and the reference page."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Callable

import iolens
import pytest
from iolens.metrics import TOPICS, metrics
from iolens.metrics.metric import parse, thresholds
from observed import Observe

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_the_reference_page_is_up_to_date(root: Path, tmp_path: Path) -> None:
    page = tmp_path / "metrics.md"
    subprocess.run([sys.executable, root / "tools" / "metricpage.py", page], check=True)
    assert page.read_text() == (root / "docs" / "reference" / "metrics.md").read_text(), "run make docs"


def test_all_metrics_are_listed_by_topic(run_iolens: Run) -> None:
    lines = run_iolens(["explain"]).stdout.splitlines()
    names = [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "]
    assert sorted(names) == sorted(metrics())
    headings = [line for line in lines if line in TOPICS]
    assert headings == [topic for topic in TOPICS if topic in headings] and len(headings) >= 6


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_text_fits_the_terminal(run_iolens: Run, columns: int) -> None:
    out = run_iolens(["explain", "metadata_ratio"], env={"COLUMNS": str(columns)}).stdout
    text, _, sql = out.partition("\n\n")
    assert text.startswith("metadata_ratio: Fraction of the I/O time spent on metadata\n")
    assert all(len(line) <= min(columns, 110) for line in text.splitlines()[1:])
    assert "definition" in text and "lower is better" in text
    assert sql.strip() == metrics()["metadata_ratio"].sql


def test_explanations_are_json_too(run_iolens: Run) -> None:
    assert json.loads(run_iolens(["explain", "perf", "--json"]).stdout)["source"] == "darshan-parser --perf"
    assert {m["name"] for m in json.loads(run_iolens(["explain", "--json"]).stdout)["metrics"]} == set(
        metrics()
    )


def test_an_unknown_metric_is_one_line(run_iolens: Run) -> None:
    done = run_iolens(["explain", "metadata_ration"])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        'iolens: unknown metric or rule "metadata_ration": '
        "did you mean metadata_ratio or metadata_operations or metadata_time?\n"
    )


def test_a_topic_is_one_of_those() -> None:
    header = "-- title: t\n-- topic: weather\n-- definition: d\n-- unit: s\n-- source: here\n"
    with pytest.raises(ValueError, match="topic is none of job, time"):
        parse("x", header + "SELECT 1")


def test_a_threshold_stands_once(root: Path, tmp_path: Path) -> None:
    header = "-- title: t\n-- definition: in $much and more\n-- unit: s\n-- source: here\n"
    limit = "-- threshold much = 0.2 ms: it is felt\n"
    one = parse("x", header + limit + "SELECT $much, '$'")
    assert (one.definition, one.sql) == ("in 0.2 ms and more", "SELECT 0.0002, '$'")
    with pytest.raises(ValueError, match="no threshold little"):
        parse("x", header + limit + "SELECT $little")
    with pytest.raises(ValueError, match="days: the unit is none of ms"):
        parse("x", header + limit.replace("ms", "days") + "SELECT 1")


@pytest.mark.parametrize(
    ("metric", "count", "sources"),
    [
        ("hdf5_time", 5, ["digest_estimate", "instead", "verdict"]),
        ("instead", 24, ["instead", "used"]),
        ("late_ranks", 4, ["digest_estimate", "instead"]),
        ("lock_waits", 3, ["digest_waits"]),
        ("pipe_waits", 3, ["digest_waits"]),
    ],
)
def test_the_verdict_has_the_metric_s_thresholds(
    root: Path, tmp_path: Path, metric: str, count: int, sources: list[str]
) -> None:
    """What `iolens run` says in C has its numbers from the same lines."""
    sql, made = root / "python" / "iolens" / "metrics" / "sql" / f"{metric}.sql", tmp_path / "made.h"
    subprocess.run([sys.executable, root / "tools" / "thresholds.py", sql, made], check=True)
    defined = {
        words[1]: float(words[2]) for line in made.read_text().splitlines()[1:] if (words := line.split())
    }
    named = {f"{metric.upper()}_{name.upper()}": value for name, value in thresholds(metric).items()}
    assert defined == named and len(defined) == count
    text = "".join((root / "cli" / "summary" / f"{name}.c").read_text() for name in sources)
    assert [name for name in defined if not re.search(rf"\b{name}\b", text)] == []


def test_a_metric_is_one_file_and_so_is_a_rule(
    run_iolens: Run, observe: Observe, root: Path, tmp_path: Path
) -> None:
    """The metric of CONTRIBUTING and the rule of the guide, in a copy of the package: nothing else is written."""
    contributing = (root / "CONTRIBUTING.md").read_text()
    metric = re.search(r"`python/(iolens/\S+)` would\s+be:\n\n```sql\n(.*?)^```$", contributing, re.M | re.S)
    rule = re.search(
        r"^```toml\n(title = .*?)^```$", (root / "docs/guide/findings.md").read_text(), re.M | re.S
    )
    assert metric and rule
    shutil.copytree(Path(iolens.__file__).parent, tmp_path / "iolens")
    (tmp_path / metric[1]).write_text(metric[2])
    rules = tmp_path / "iolens" / "rules"
    (rules / "catalog" / "old_scratch.toml").write_text(rule[1])
    build = [sys.executable, root / "tools" / "catalog.py", rules, rules / "catalog.json", tmp_path / "d"]
    subprocess.run(build, check=True)

    log = observe(["dd", "if=/dev/zero", f"of={tmp_path / 'file'}", "bs=250", "count=4"]).log
    env = {"PYTHONPATH": str(tmp_path)}
    assert "Mean size of a write" in run_iolens(["explain"], env=env).stdout
    asked = ["sql", log, "select value from metric.mean_write", "--format", "json"]
    assert json.loads(run_iolens(asked, env=env).stdout) == [{"value": 250}]
    assert "Files in /scratch/old" in run_iolens(["explain", "old_scratch"], env=env).stdout
    assert run_iolens(["explain", "mean_write"]).returncode == 2
