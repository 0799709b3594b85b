"""iolens compare: real runs beside each other."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from iolens.compare import Group, compare, match, parse_substitution, role
from iolens.error import IolensError
from observed import Observe


def copy_with(observe: Observe, target: Path, block: int, blocks: int) -> Path:
    return observe(["dd", "if=/dev/zero", f"of={target}", f"bs={block}", f"count={blocks}"]).log


def run(iolens: Path, *args: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([iolens, "compare", *map(str, args)], capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def command() -> Path:
    """The installed command: its Python package stands beside it."""
    import sys

    return Path(sys.executable).parent / "iolens"


def test_a_role_is_a_name_without_what_varies() -> None:
    assert role("/run/42/out.0007.h5") == "/run/#/out.#.h5"
    assert role("/x/0f8fad5b-d9cb-469f-a165-70867728950e/a") == "/x/#/a"
    assert role("/old/a", [parse_substitution("^/old=/new")]) == "/new/a"
    with pytest.raises(IolensError, match="not PATTERN=REPLACEMENT"):
        parse_substitution("word")


def test_roles_are_paired_by_name_then_by_their_last_component() -> None:
    assert match([["/a/x", "/a/y", "/a/z"], ["/a/x", "/b/y", "/c/w"]]) == [
        ("/a/x", "/a/x"),
        ("/a/y", "/b/y"),
        ("/a/z", None),
        (None, "/c/w"),
    ]
    ambiguous = match([["/a/y", "/b/y"], ["/c/y"]])
    assert ambiguous == [("/a/y", None), ("/b/y", None), (None, "/c/y")]


def test_numbered_outputs_of_two_runs_are_one_row(observe: Observe, tmp_path: Path) -> None:
    logs = [copy_with(observe, tmp_path / f"out.000{n}", 4096 * n, 64) for n in (1, 2)]
    result = compare([Group("a", (str(logs[0]),)), Group("b", (str(logs[1]),))])
    row = next(r for r in result.roles if r.name.endswith("/out.#"))
    assert all(row.parts)
    assert [(p.files, p.size, p.bytes) for p in row.parts if p] == [(1, 262144, 262144), (1, 524288, 524288)]
    written = result.row("bytes_written")
    assert written.verdicts == ("same", "different")
    assert written.ratios[1] == pytest.approx(2, rel=0.01)


def test_smaller_blocks_are_more_calls(observe: Observe, tmp_path: Path, command: Path) -> None:
    big = copy_with(observe, tmp_path / "out", 1 << 20, 4)
    small = copy_with(observe, tmp_path / "out", 1 << 12, 1024)
    done = run(command, big, small, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    writes = next(m for m in result["measures"] if m["name"] == "writes")
    assert writes["verdicts"][1] == "worse"
    assert writes["samples"][1]["mean"] - writes["samples"][0]["mean"] == 1020
    assert any("one run each" in note for note in result["notes"])
    assert run(command, big, small, "--fail-on", "difference").returncode == 1
    assert "write calls" in run(command, big, small).stdout


def test_groups_are_tested_against_chance(observe: Observe, tmp_path: Path, command: Path) -> None:
    for n in range(3):
        for name, seconds in (("fast", 0.02), ("slow", 0.3)):
            observe(["sh", "-c", f"sleep {seconds}; echo > {tmp_path}/x"]).log.rename(
                tmp_path / f"{name}{n}.darshan"
            )
    groups = ["--group", f"fast={tmp_path}/fast*.darshan", "--group", f"slow={tmp_path}/slow*.darshan"]
    done = run(command, *groups, "--fail-on", "slower")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "slow is slower than fast: run time" in done.stdout
    assert "Welch t" in done.stdout
    assert "not interleaved" not in done.stdout


def test_a_page_shows_the_same(observe: Observe, tmp_path: Path, command: Path) -> None:
    logs = [copy_with(observe, tmp_path / "<b>out", 4096, 8 * n) for n in (1, 2)]
    page = tmp_path / "page.html"
    done = run(command, *logs, "--html", page)
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    assert done.stdout.splitlines()[0] in text
    assert "bytes written" in text
    assert "<b>out" not in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")


def test_wrong_input_is_one_line(observe: Observe, command: Path, tmp_path: Path) -> None:
    log = observe(["true"]).log
    for args, code, words in (
        ([log], 2, "needs two logs"),
        ([log, tmp_path / "none"], 3, "none"),
        (["--group", "x", log], 2, "NAME=PATTERN"),
        (["--group", f"x={tmp_path}/*.none", log], 3, "no such log"),
        (["--map", "(=y", log, log], 2, "no regular expression"),
    ):
        done = run(command, *args)
        assert (done.returncode, done.stdout) == (code, ""), done
        assert done.stderr.startswith("iolens: ")
        assert words in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_log_is_as_itself(corpus: Path) -> None:
    for log in sorted((corpus / "logs").glob("*.darshan*")):
        result = compare([Group("a", (str(log),)), Group("b", (str(log),))])
        assert result.verdicts == ("same", "same"), log
        assert {v for row in result.rows for v in row.verdicts} <= {"same", "unknown"}, log
        assert all(row.parts[0] == row.parts[1] for row in result.roles), log
