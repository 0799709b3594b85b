"""The table of real programs, how they are judged, and three that need nothing: `make truth-real` runs all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import judge
import lines
import pytest
from iolens.rules.rule import read_toml

HERE = Path(__file__).parent
TABLE = read_toml((HERE / "truth.toml").read_text(encoding="utf-8"))
PROGRAMS = TABLE["program"]
KEYS = {
    "id": str, "family": str, "debian": list, "pypi": list, "tools": list, "data": list, "script": str, "setup": str,
    "run": str, "options": str, "after": str, "cold": bool, "processes": str, "verdict": str, "instead": str,
    "cause": str, "accept": list, "why": str, "note": str,
}  # fmt: skip
IO = {"verdict": "io", "cause": "fsync", "accept": ["sync_storm", "=fdatasync"]}
NOT = {"verdict": "not", "cause": "deflate", "instead": "processor"}
SAID = judge.Said("80 % of the run time goes into I/O", "problem", 0.8, 2.0, [("sync_storm", "high", 1.5)])


LINE_KEYS = {"id", "debian", "pypi", "data", "script", "setup", "run", "line", "why"}


def test_every_row_of_a_line_is_whole() -> None:
    assert len(TABLE["line"]) >= 8 and len({row["id"] for row in TABLE["line"]}) == len(TABLE["line"])
    for row in TABLE["line"]:
        assert {"id", "run", "why"} <= row.keys() <= LINE_KEYS, row["id"]
        assert lines.wanted_of(row)


def test_the_line_of_a_program_that_needs_nothing(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{lines.BEGIN}\nold\n{lines.END}\nafter\n")
    command = [sys.executable, HERE / "lines.py", "--page", page, "csv-rows"]
    environment = {**os.environ, "REAL_PLACE": str(tmp_path)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stdout
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "1 of 1 right." in text and "| csv-rows | save (csv-rows.script:7) |" in text


def test_every_row_is_whole() -> None:
    assert len(PROGRAMS) >= 120 and len({p["id"] for p in PROGRAMS}) == len(PROGRAMS)
    for program in PROGRAMS:
        assert {key for key, value in program.items() if not isinstance(value, KEYS[key])} == set()
        assert {"id", "family", "run", "verdict", "cause", "why"} <= program.keys(), program["id"]
        assert (program["verdict"] == "not") == ("instead" in program), program["id"]
        assert program["verdict"] == "not" or program["accept"], program["id"]
        assert set(program.get("data", [])) <= TABLE["data"].keys(), program["id"]
        assert any(word in program.get("instead", "too short") for word in judge.INSTEAD), program["id"]


def test_a_third_is_io_and_thirty_are_cold() -> None:
    verdicts = [p["verdict"] for p in PROGRAMS]
    assert set(verdicts) == {"io", "not", "mixed"} and verdicts.count("io") >= len(PROGRAMS) * 0.3
    assert sum(p.get("cold", False) for p in PROGRAMS) >= 30


def test_accepted_rules_exist(root: Path) -> None:
    rules = {path.stem for path in (root / "python/iolens/rules").rglob("*.toml")}
    named = {rule for p in PROGRAMS for rule in p.get("accept", []) if not rule.startswith("=")}
    assert named and named - rules == set()


@pytest.mark.parametrize(
    ("program", "said", "result"),
    [
        (IO, SAID, "right"),
        (IO, replace(SAID, findings=[("tiny_writes", "high", 1.5)]), "cause wrong"),
        (IO, replace(SAID, verdict="80 %: 9 fdatasync calls", findings=[]), "right"),
        (IO, replace(SAID, level="good", share=0.01), "wrong"),
        (IO, replace(SAID, level="unknown", share=0.1), "not known"),
        (NOT, SAID, "wrong"),
        (NOT, replace(SAID, level="good", share=0.01, verdict="1 %; it is the processor, busy"), "right"),
        (NOT, replace(SAID, level="good", share=0.01, verdict="1 %; it is waiting"), "cause wrong"),
    ],
)
def test_what_counts_as_right(program: dict[str, Any], said: judge.Said, result: str) -> None:
    assert judge.compare(program, said)[0] == result


def test_page_faults_from_storage_are_io() -> None:
    said = replace(
        SAID, level="look", share=0.1, findings=[], verdict="10 %; more goes into page faults, about 60.5 %"
    )
    assert said.faults == 0.605
    assert judge.compare({**IO, "accept": ["=page faults"]}, said) == ("right", "")
    both = replace(
        said, share=0.13, verdict="13 %; it is the processor, busy, and page faults, about 13 % of the run"
    )
    assert judge.compare({**IO, "accept": ["=page faults"]}, both) == ("right", "")
    less = replace(both, share=0.1)
    assert judge.compare({**IO, "accept": ["=page faults"]}, less)[0] == "wrong"


@pytest.mark.parametrize(
    ("verdict", "part"),
    [
        ("HDF5 itself (filters, chunks) takes 92 % of the run time: 4.4 of 4.8 s; 1.5 % goes into I/O", 0.92),
        ("I/O is not the cause here: 2 %; it is HDF5 itself (filters, chunks), 58 % of the run: 0.6 s", 0.58),
        ("8.0 %; more goes into the processor; HDF5 itself (filters, chunks) takes 25 % of the run", 0.25),
        ("I/O is not the cause here: 2 %; it is the processor, busy for 94 % of the run", 0.0),
    ],
)
def test_hdf5_itself_is_io(verdict: str, part: float) -> None:
    said = replace(
        SAID, level="look", share=0.08, findings=[("hdf5_small_chunks", "medium", 0.1)], verdict=verdict
    )
    assert said.library == part
    assert judge.compare({**IO, "accept": ["hdf5_small_chunks", "=HDF5"]}, said)[0] == (
        "right" if part else "wrong"
    )


def test_what_takes_more_stands_before_a_low_finding() -> None:
    low = [("stdio_share", "low", 0.1)]
    said = replace(
        SAID, level="look", share=0.1, findings=low, verdict="10 %; more goes into the processor, busy"
    )
    assert said.first == "the processor, busy"
    assert replace(said, findings=[("small_reads", "medium", 0.3), *low]).first == "small_reads"
    assert (
        replace(said, share=0.01, verdict="1 %; the largest part is waiting, 40 %").first == "waiting, 40 %"
    )


def test_the_page_counts(tmp_path: Path) -> None:
    program = {"id": "x", "family": "f", **NOT}
    rows = [
        judge.judged(program, replace(judge.new_row(program), said=replace(SAID, drishti=["P05"]))),
        judge.new_row({**program, "id": "y"}, "no x"),
    ]
    page = tmp_path / "page.md"
    page.write_text(f"before\n{judge.BEGIN}\nold\n{judge.END}\nafter\n")
    judge.put(page, rows)
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "1 programs: 0 right, 0 cause wrong, 0 not known, 1 wrong; 1 skipped" in text
    assert "| x | not | wrong | 80 % | sync_storm | deflate |" in text
    assert "* sync_storm: x\n" in text
    assert [*judge.right_ones(rows)] == ["| not | sync_storm | x (80) |"]
    assert "Drishti read 1 of these logs." in text and "and 1 of 1 that are slow for other reasons" in text
    assert "* skipped, no x: y\n" in text
    judge.write(tmp_path / "rows.json", rows)
    assert judge.read(tmp_path / "rows.json")["x"].said == rows[0].said


def test_three_that_need_nothing(root: Path, tmp_path: Path) -> None:
    programs = ["python-logging", "sleep-poll", "python-state-rename"]
    wanted = tmp_path / "rows.json"
    command = [
        sys.executable,
        str(HERE / "run.py"),
        "--json",
        str(wanted),
        "--rest",
        "--logs",
        str(tmp_path / "logs"),
    ]
    for named in (programs[:1], programs):
        done = subprocess.run(
            [*command, *named],
            check=True,
            cwd=root,
            env={**os.environ, "REAL_PLACE": str(tmp_path)},
            stdout=subprocess.PIPE,
            text=True,
        )
    assert "| python-logging |" not in done.stdout, "it has a result already"
    assert sorted(path.stem for path in (tmp_path / "logs").iterdir()) == sorted(programs)
    rows = {row["id"]: row for row in json.loads(wanted.read_text()) if row["said"]}
    assert set(rows) == set(programs)
    assert {row["result"] for row in rows.values()} <= {"right", "cause wrong"}, rows
    assert rows["sleep-poll"]["result"] == "right" and rows["sleep-poll"]["said"]["run_time"] > 2
    assert {rule for rule, _, _ in rows["python-state-rename"]["said"]["findings"]} & {"sync_storm"}
