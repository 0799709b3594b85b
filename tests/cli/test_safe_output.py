"""Nothing that a terminal obeys, nothing more readable than the log, no code of the working directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from iolens.cli.command import keep_private

Run = Callable[..., "subprocess.CompletedProcess[str]"]

HOSTILE = ["\u009b31m", "\u202etxt", "\u2066x", "\x1b[31m", "\udcff\udcfe"]


@pytest.fixture
def log(run_iolens: Run, tmp_path: Path) -> Path:
    names = " ".join(f"'a{text}'" for text in HOSTILE)
    script = f"for f in {names}; do echo hello > $f; done".replace("$f", '"$f"')
    assert run_iolens(["run", "-q", "-o", "log", "--", "sh", "-c", script], cwd=tmp_path).returncode == 0
    return tmp_path / "log"


def raw(iolens: Path, *arguments: object) -> bytes:
    return subprocess.run([iolens, *map(str, arguments)], capture_output=True, check=False).stdout


def test_names_are_printed_as_a_terminal_may_show_them(iolens: Path, log: Path) -> None:
    for command in ("show", "files"):
        printed = raw(iolens, command, log)
        for text in HOSTILE:
            assert os.fsencode(text) not in printed, (command, text)
        assert b"a\\xe2\\x80\\xaetxt" in printed and b"a\\xff\\xfe" in printed


@pytest.mark.parametrize("form", ["table", "lines", "json"])
def test_what_sql_and_json_print_is_no_command_to_a_terminal(iolens: Path, log: Path, form: str) -> None:
    statement = "select name from file order by name"
    printed = raw(iolens, "sql", "--format", form, log, statement)
    printed += raw(iolens, "show", "--json", log) + raw(iolens, "files", "--json", log)
    assert printed.count(b"txt") >= 3
    for text in HOSTILE:
        assert os.fsencode(text) not in printed, text


def test_json_has_the_characters_that_it_does_not_print(iolens: Path, log: Path) -> None:
    (posix,) = (
        m for m in json.loads(raw(iolens, "show", "--json", log))["modules"] if m["module"] == "posix"
    )
    names = {Path(record["name"]).name for record in posix["records"]}
    assert names >= {f"a{text}" for text in HOSTILE[:4]} and "a\ufffd\ufffd" in names


def test_json_has_names_with_quotes_and_backslashes(iolens: Path, run_iolens: Run, tmp_path: Path) -> None:
    names = {'a"b', "a\\b", "a\\", 'a\\"b', "a\\u0041"}
    command = ["sh", "-c", 'for f do echo hello >"$f"; done', "sh", *sorted(names)]
    assert run_iolens(["run", "-q", "-o", "log", "--", *command], cwd=tmp_path).returncode == 0
    shown = json.loads(raw(iolens, "show", "--json", tmp_path / "log"))
    records = [r for m in shown["modules"] if m["module"] == "posix" for r in m["records"]]
    listed = json.loads(raw(iolens, "files", "--json", tmp_path / "log"))["files"]
    for found in (records, listed):
        assert {Path(one["name"]).name for one in found} >= names


def test_a_short_line_ends_with_a_whole_escape(iolens: Path, tmp_path: Path) -> None:
    for length in range(70, 100):
        script = f": {'x' * length}{chr(27) * 20}{'y' * 60}"
        command = [iolens, "run", "-o", "log", "--", "sh", "-c", script]
        said = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False).stderr
        first = next(line for line in said.splitlines() if line.startswith("iolens: "))
        assert first.endswith(" characters more]") and len(first) <= 100
        assert not first.rpartition(" [")[0].endswith(("\\", "\\x", "\\x1"))
        (tmp_path / "log").unlink()


@pytest.mark.parametrize(("mode", "readers"), [(0o400, 0), (0o440, 0o040), (0o444, 0o044)])
def test_tables_are_for_those_who_may_read_the_log(
    run_iolens: Run, log: Path, mode: int, readers: int
) -> None:
    log.chmod(mode)
    folder = log.parent / "new folder"
    assert run_iolens(["show", "--csv", "--out", folder, log]).returncode == 0, "the folder is made"
    written = list(folder.iterdir())
    assert {path.name for path in written} >= {"posix.csv"}
    assert {path.stat().st_mode & 0o077 for path in written} == {readers & ~os.umask(os.umask(0))}
    assert folder.stat().st_mode & 0o044 == readers & ~os.umask(os.umask(0))


@pytest.mark.parametrize(("mode", "mask"), [(0o400, 0o077), (0o440, 0o027), (0o444, 0o022)])
def test_tables_of_python_are_for_those_who_may_read_the_log(log: Path, mode: int, mask: int) -> None:
    log.chmod(mode)
    old = os.umask(0o022)
    try:
        keep_private([str(log)])
        assert os.umask(old) == mask
    finally:
        os.umask(old)


@pytest.mark.parametrize("umask", [0o022, 0o027])
def test_a_report_is_made_to_be_shared(run_iolens: Run, log: Path, umask: int) -> None:
    """Its user's umask says with whom, not the mode of the log, which only its owner can read."""
    log.chmod(0o400)
    page = log.parent / "page.html"
    assert run_iolens(["report", "-o", page, log], umask=umask).returncode == 0
    assert page.stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_log_that_is_there_is_no_reason_to_report(run_iolens: Run, log: Path) -> None:
    said = run_iolens(["convert", log, log]).stderr
    assert "please report" not in said and "another name" in said


def test_no_code_of_the_working_directory_is_run(iolens: Path, log: Path) -> None:
    for name in ("click.py", "duckdb.py", "sitecustomize.py"):
        (log.parent / name).write_text("import sys\nsys.exit('stolen')\n")
    environment = {**os.environ, "PYTHONPATH": "/nowhere:", "IOLENS_PYTHON": sys.executable}
    command = [iolens, "explain", "--help"]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=log.parent, env=environment, check=False
    )
    assert "stolen" not in done.stderr and done.returncode == 0, done.stderr
