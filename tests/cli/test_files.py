"""`iolens files`: one line per file, and the sum."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from observed import Observe, Observed

HEAD = "      size      moved        time     operations       seeks   re-read  file"


@pytest.fixture
def seen(observe: Observe, tmp_path: Path) -> Observed:
    """Known files: written once; read three times by two programs; looked at only."""
    (tmp_path / "input").write_bytes(b"x" * 10_000)
    (tmp_path / "looked at").touch()
    script = (
        "dd if=/dev/zero of=output bs=1000 count=2000 status=none; cat input input >/dev/null;"
        "python3 -S -c \"import os; f = os.open('input', 0); [os.pread(f, 5000, 5000) for _ in range(2)];"
        "[os.lseek(f, n, 0) for n in range(1500)]; os.stat('looked at')\""
    )
    return observe(["sh", "-c", script.replace("python3", "/usr/bin/python3")], cwd=tmp_path)


def columns(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_the_table(run_iolens: Any, seen: Observed, tmp_path: Path) -> None:
    done = run_iolens(["files", seen.log])
    assert (done.returncode, done.stderr) == (0, "")
    head, *rows, total = done.stdout.splitlines()
    assert head == HEAD
    by_name = {columns(row)[-1].removeprefix(f"{tmp_path}/"): columns(row) for row in rows}
    assert set(by_name) == {"input", "output", "looked at"}
    size, moved, _, operations, seeks, factor, _ = by_name["output"]
    assert (size, moved, operations, seeks, factor) == ("1.9 MiB", "1.9 MiB", "2,000", "0", "-")
    size, moved, _, operations, seeks, factor, _ = by_name["input"]
    assert (size, moved, operations, seeks, factor) == ("9.8 KiB", "29.3 KiB", "6", "1,500", "3.00")
    assert by_name["looked at"][:2] == ["0 B", "0 B"]
    size, moved, _, operations, seeks, factor, name = columns(total)
    assert (size, moved, operations, seeks, factor) == ("1.9 MiB", "1.9 MiB", "2,006", "1,500", "3.00")
    assert name == "all files"


def test_the_longest_in_io_is_first(run_iolens: Any, seen: Observed) -> None:
    found = json.loads(run_iolens(["files", "--json", seen.log]).stdout)
    times = [file["read_time"] + file["write_time"] + file["meta_time"] for file in found]
    assert times == sorted(times, reverse=True)


def test_top_cuts_the_lines_and_not_the_sum(run_iolens: Any, seen: Observed) -> None:
    whole = run_iolens(["files", seen.log]).stdout.splitlines()
    assert run_iolens(["files", "--top", "1", seen.log]).stdout.splitlines() == [*whole[:2], whole[-1]]
    assert run_iolens(["files", seen.log, "--top", "100"]).stdout.splitlines() == whole
    assert len(json.loads(run_iolens(["files", "--json", "--top", "2", seen.log]).stdout)) == 2


def test_json_has_the_numbers_of_the_log(run_iolens: Any, seen: Observed, tmp_path: Path) -> None:
    found = {file["name"]: file for file in json.loads(run_iolens(["files", "--json", seen.log]).stdout)}
    assert found.keys() == seen.files()
    for name, file in found.items():
        for counter in ("reads", "writes", "opens", "seeks", "bytes_read", "bytes_written"):
            wanted = sum(seen.total(interface, counter.upper(), name) for interface in ("POSIX", "STDIO"))
            assert file[counter] == wanted, (name, counter)
    assert found[str(tmp_path / "input")]["size"] == found[str(tmp_path / "input")]["read_size"] == 10_000


def test_a_log_without_files(run_iolens: Any, observe: Observe) -> None:
    seen = observe(["true"])
    done = run_iolens(["files", seen.log])
    assert done.stdout.splitlines()[0] == HEAD
    assert columns(done.stdout.splitlines()[1]) == ["0 B", "0 B", "0 s", "0", "0", "-", "all files"]
    assert json.loads(run_iolens(["files", "--json", seen.log]).stdout) == []


def test_a_name_stays_on_its_line(run_iolens: Any, observe: Observe, tmp_path: Path) -> None:
    (tmp_path / "new\nline\tand \033[1m").write_text("text")
    seen = observe(["sh", "-c", "cat new*"], cwd=tmp_path)
    done = run_iolens(["files", seen.log])
    assert done.stdout.splitlines()[1].endswith("/new\\nline\\tand \\x1b[1m")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "give one log"),
        (["--top"], "--top wants a value"),
        (["--top", "0", "a"], "expected a number above 0"),
        (["--top", "-1", "a"], "expected a number above 0"),
        (["--top", "x", "a"], "expected a number above 0"),
        (["a", "b"], "give one log"),
        (["--nonsense", "a"], "--nonsense is no option"),
    ],
)
def test_wrong_use(run_iolens: Any, arguments: list[str], complaint: str) -> None:
    done = run_iolens(["files", *arguments])
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr and done.stderr.count("\n") == 1


def test_what_is_no_log(run_iolens: Any, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("text")
    for name in ("text", "nowhere", "."):
        done = run_iolens(["files", name], cwd=tmp_path)
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr.startswith(f"iolens: {name}: ") and done.stderr.count("\n") == 1


def test_an_output_that_is_full(run_iolens: Any, seen: Observed) -> None:
    with Path("/dev/full").open("w") as full:
        for options in ([], ["--json"]):
            done = run_iolens(["files", *options, seen.log], capture_output=False, stdout=full, stderr=-1)
            assert done.returncode == 3
            assert done.stderr == "iolens: files: cannot write the table\n"


def test_logs_of_every_darshan_version(run_iolens: Any, corpus: Path) -> None:
    for log in sorted((corpus / "logs").glob("*.darshan")):
        done = run_iolens(["files", log])
        assert done.returncode in (0, 3), log
        assert done.stderr.count("\n") <= 1
