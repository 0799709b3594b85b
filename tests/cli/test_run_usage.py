"""`iolens run` used wrongly: one line on stderr, its own exit code, and no command started if possible."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from observed import Observe

TOUCH = ["touch", "started"]


def one_line(text: str) -> bool:
    return re.fullmatch(r"iolens: run: [^\n]+\n", text) is not None


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "no command given"),
        (["--"], "no command given"),
        (["-q"], "no command given"),
        (["-o", "a.darshan"], "no command given"),
        (["-o"], "option -o needs a value"),
        (["--output"], "option --output needs a value"),
        (["--output="], '--output "": expected the name of a file'),
        (["--json"], "option --json needs a value"),
        (["-o", "--", *TOUCH], "option --output needs a value"),
        (["--json", "--", *TOUCH], "option --json needs a value"),
        (["-o", "", "--", *TOUCH], '--output "": expected the name of a file'),
        (["--trace=compat", *TOUCH], "--trace=compat: expected compact"),
        (["--quite", *TOUCH], "unknown option --quite: did you mean --quiet?"),
        (["--nonsense", *TOUCH], "unknown option --nonsense"),
        (["--quiet=yes", *TOUCH], "unknown option --quiet=yes"),
        (["-x", *TOUCH], "unknown option -x"),
    ],
)
def test_wrong_options_start_nothing(
    run_iolens, tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    done = run_iolens(["run", *arguments], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert one_line(done.stderr) and complaint in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_help_goes_to_stdout(run_iolens) -> None:
    done = run_iolens(["run", "--help"])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: iolens run ")


@pytest.mark.parametrize("command", ["no-such-command", "./no-such-file", "/no/such/directory/file"])
def test_a_command_that_is_not_there_is_127(run_iolens, tmp_path: Path, command: str) -> None:
    done = run_iolens(["run", command, "argument"], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr == f"iolens: run: {command}: No such file or directory\n"
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_program_is_126(run_iolens, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("data")
    for command in ("./data", "./"):
        done = run_iolens(["run", command], cwd=tmp_path)
        assert (done.returncode, done.stdout) == (126, "")
        assert done.stderr == f"iolens: run: {command}: Permission denied\n"


def test_a_script_without_an_interpreter_line_runs_as_from_a_shell(observe: Observe, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("echo $0 $1; exit 3\n")
    script.chmod(0o755)
    seen = observe(["./script", "x"], cwd=tmp_path)
    assert (seen.done.returncode, seen.done.stdout, seen.done.stderr) == (3, b"./script x\n", b"")


@pytest.mark.parametrize(
    ("log", "complaint"),
    [
        ("there.darshan", "exists already"),
        ("dangling", "exists already"),
        ("directory", "exists already"),
        ("nowhere/a.darshan", "No such file or directory"),
        ("there.darshan/a.darshan", "Not a directory"),
        ("x" * 300, "File name too long"),
        ("/proc/a.darshan", "proc/a.darshan"),
    ],
)
def test_a_log_that_cannot_be_is_said_before_the_command_starts(
    run_iolens, tmp_path: Path, log: str, complaint: str
) -> None:
    (tmp_path / "there.darshan").write_text("precious")
    (tmp_path / "dangling").symlink_to("nothing")
    (tmp_path / "directory").mkdir()
    before = sorted(tmp_path.rglob("*"))
    done = run_iolens(["run", "-o", log, "--", *TOUCH], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert one_line(done.stderr) and complaint in done.stderr
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "there.darshan").read_text() == "precious"


@pytest.mark.parametrize("place", ["directory", "nowhere/a.json"])
def test_a_summary_file_that_cannot_be_is_said_before_the_command_starts(
    run_iolens, tmp_path: Path, place: str
) -> None:
    (tmp_path / "directory").mkdir()
    done = run_iolens(["run", "--json", place, "-o", "a.darshan", "--", *TOUCH], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert one_line(done.stderr) and place in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["directory"]


def test_a_log_directory_that_is_not_there_is_said_before_the_command_starts(
    run_iolens, tmp_path: Path
) -> None:
    for variable in ("IOLENS_LOGPATH", "DARSHAN_LOGPATH"):
        done = run_iolens(["run", *TOUCH], cwd=tmp_path, env={variable: str(tmp_path / "nowhere")})
        assert done.returncode == 2
        assert one_line(done.stderr) and "nowhere" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_missing_library_is_said_before_the_command_starts(run_iolens, tmp_path: Path) -> None:
    done = run_iolens(["run", *TOUCH], cwd=tmp_path, env={"IOLENS_PRELOAD": str(tmp_path / "none.so")})
    assert (done.returncode, done.stdout) == (3, "")
    assert one_line(done.stderr) and "IOLENS_PRELOAD" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_option_may_be_written_in_each_usual_way(run_iolens, tmp_path: Path) -> None:
    ways = [["-o", "a"], ["-ob"], ["--output", "c"], ["--output=d"]]
    for way in ways:
        assert run_iolens(["run", "-q", *way, "--", "true"], cwd=tmp_path).returncode == 0
    assert {p.name for p in tmp_path.iterdir()} == set("abcd")


def test_options_of_the_command_are_its_own(observe: Observe) -> None:
    assert observe(["echo", "-o", "x", "--json", "--help"]).done.stdout == b"-o x --json --help\n"


def test_without_a_name_the_log_gets_darshans(run_iolens, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    env = {"IOLENS_LOGPATH": str(tmp_path / "logs"), "LOGNAME": "someone"}
    assert run_iolens(["run", "-q", "/bin/true"], cwd=tmp_path, env=env).returncode == 0
    (log,) = (tmp_path / "logs").iterdir()
    assert re.fullmatch(r"someone_true_id(\d+)-\1_\d+-\d+-\d+-\d+_1\.darshan", log.name)
    info = run_iolens(["info", log])
    assert log.name.split("_id")[1].split("-")[0] in info.stdout
