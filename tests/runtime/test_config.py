"""Settings: where they come from, who wins, and that a wrong one changes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from os import environ
from pathlib import Path
from subprocess import CompletedProcess, run

import pytest
import shown
from interfaces import LIBC

Run = Callable[..., "CompletedProcess[str]"]


def setting(text: str, name: str) -> tuple[str, str]:
    """Value and origin of a setting as `iolens config` prints them."""
    line = next(line for line in text.splitlines() if line.startswith(name + " "))
    value, _, origin = line[17:].split(" # ")[0].strip().partition(" ")
    return value, origin.strip()


def test_defaults(run_iolens: Run) -> None:
    done = run_iolens(["config"])
    assert done.returncode == 0
    assert setting(done.stdout, "BUDGET") == ("4", "default")
    assert setting(done.stdout, "MEMALIGN") == ("8", "default")


def test_environment_beats_file_and_ours_beats_darshans(run_iolens: Run, tmp_path: Path) -> None:
    (tmp_path / "conf").write_text("# comment\n\nMODMEM 8\nMEM_ALIGNMENT 16\nLOGPATH /logs\n")
    env = {"DARSHAN_CONFIG_PATH": str(tmp_path / "conf"), "DARSHAN_MODMEM": "2", "IOLENS_MODMEM": "3"}
    out = run_iolens(["config"], env=env).stdout
    assert setting(out, "MODMEM") == ("3", "environment IOLENS_MODMEM")
    assert setting(out, "MEMALIGN") == ("16", f"{tmp_path}/conf:4")
    assert setting(out, "LOGPATH")[0] == "/logs"


WRONG = [
    ("BUDGET abc", "BUDGET abc: not a number of MiB"),
    ("MEMALIGN x", "MEMALIGN x: not a number"),
    ("MOD_DISABLE POSIX,NOSUCH", "not a list of module names"),
    ("NAME_EXCLUDE ([ POSIX", "not a regular expression"),
    ("NAME_EXCLUDE a NOSUCH", "not a list of module names"),
    ("RANK_EXCLUDE abc", "not a number, a range a:b or *"),
    ("RANK_EXCLUDE 5:2", "not a number, a range a:b or *"),
    ("TRACE often", "not one of on, compact, off, 1, 0"),
    ("TRACE_KEEP all", "not one of oldest, newest"),
    ("TRACE_SMALL 1.5", "not a number from 0 to 1"),
    ("DXT_UNALIGNED_IO_TRIGGER x", "not a number from 0 to 1"),
    ("TRACE_WINDOW 5", "not a time A:B in seconds"),
    ("TRACE_WINDOW 5:2", "not a time A:B in seconds"),
    ("NO_SUCH_KEY 1", "no such setting"),
]


@pytest.mark.parametrize(("line", "complaint"), WRONG)
def test_a_wrong_setting_is_named_with_its_line(
    run_iolens: Run, tmp_path: Path, line: str, complaint: str
) -> None:
    (tmp_path / "conf").write_text(f"MODMEM 2\n{line}\n")
    done = run_iolens(["config", tmp_path / "conf"])
    assert done.returncode == 1
    (warning,) = [text for text in done.stdout.splitlines() if text.startswith("warning: ")]
    assert f"{tmp_path}/conf:2: " in warning and complaint in warning
    assert setting(done.stdout, "MODMEM")[0] == "2"


@pytest.mark.parametrize("line", [line for line, _ in WRONG] + ["\0\1\2", "A" * 5000, "MODMEM " + "9" * 400])
def test_a_wrong_setting_never_stops_a_program(run_iolens: Run, tmp_path: Path, line: str) -> None:
    (tmp_path / "conf").write_bytes(line.encode() + b"\n")
    env = {"IOLENS_CONFIG_PATH": str(tmp_path / "conf")}
    done = run_iolens(["run", "-q", "-o", "log", "--", "sh", "-c", "echo hello > out; exit 3"], tmp_path, env)
    assert (done.returncode, done.stderr) == (3, "")
    assert (tmp_path / "log").exists()


def files(run_iolens: Run, folder: Path, env: dict[str, str]) -> dict[tuple[str, str], int]:
    """Bytes written by module and file name in a run that writes a.dat, a.log and b.log."""
    script = "for f in a.dat a.log b.log; do dd if=/dev/zero of=$f bs=100 count=1 2>/dev/null; done"
    done = run_iolens(["run", "-q", "-o", "log", "--", "sh", "-c", script], folder, env)
    assert done.returncode == 0
    text = run_iolens(["show", "--base", "--ext", "log"], folder).stdout
    found = {}
    for (module, name, _), r in shown.records(text).items():
        if module in LIBC:
            found[module, Path(name).name] = int(r[f"{module}_BYTES_WRITTEN"])
    for row in shown.sections(text).get("excluded", []):
        found["class", row["class"]] = found.get(("class", row["class"]), 0) + int(row["bytes_written"])
    return found


def test_excluded_names_have_no_record_but_count(run_iolens: Run, tmp_path: Path) -> None:
    found = files(run_iolens, tmp_path, {"IOLENS_NAME_EXCLUDE": r"\.log$ POSIX"})
    assert ("POSIX", "a.log") not in found and ("POSIX", "b.log") not in found
    assert found["POSIX", "a.dat"] == 100
    assert found["class", "filtered"] == 200


def test_an_include_rescues_from_an_exclude(run_iolens: Run, tmp_path: Path) -> None:
    env = {"IOLENS_NAME_EXCLUDE": r"\.log$", "IOLENS_NAME_INCLUDE": r"/a\."}
    found = files(run_iolens, tmp_path, env)
    assert found["POSIX", "a.log"] == 100 and ("POSIX", "b.log") not in found


def test_an_include_rescues_from_a_default_exclusion(run_iolens: Run, tmp_path: Path) -> None:
    env = {"IOLENS_NAME_INCLUDE": r"^/etc/passwd$"}
    command = ["run", "-q", "-o", "log", "--", "dd", "if=/etc/passwd", "of=/dev/null", "status=none"]
    assert run_iolens(command, tmp_path, env).returncode == 0
    found = shown.records(run_iolens(["show", "log"], tmp_path).stdout)
    assert int(found["POSIX", "/etc/passwd", 0]["POSIX_BYTES_READ"]) == Path("/etc/passwd").stat().st_size


def test_a_variable_of_a_pair_voids_what_the_file_says_of_both(run_iolens: Run, tmp_path: Path) -> None:
    (tmp_path / "conf").write_text("NAME_EXCLUDE b\\.log$ POSIX\nMOD_DISABLE STDIO\n")
    env = {"IOLENS_CONFIG_PATH": str(tmp_path / "conf"), "IOLENS_NAME_EXCLUDE": r"a\.log$"}
    found = files(run_iolens, tmp_path, env)
    assert ("POSIX", "b.log") in found and ("POSIX", "a.log") not in found


def test_a_disabled_module_has_no_records(run_iolens: Run, tmp_path: Path) -> None:
    found = files(run_iolens, tmp_path, {"DARSHAN_MOD_DISABLE": "POSIX"})
    assert not [key for key in found if key[0] == "POSIX"]
    assert files_again(run_iolens, tmp_path)["POSIX", "a.dat"] == 100


def files_again(run_iolens: Run, folder: Path) -> dict[tuple[str, str], int]:
    (folder / "log").unlink()
    return files(run_iolens, folder, {"DARSHAN_MOD_DISABLE": "*", "DARSHAN_MOD_ENABLE": "POSIX"})


def test_an_excluded_program_is_not_observed(run_iolens: Run, tmp_path: Path) -> None:
    found = files(run_iolens, tmp_path, {"IOLENS_APP_EXCLUDE": "^dd"})
    assert ("POSIX", "a.dat") not in found


def test_masked_arguments_are_not_stored(run_iolens: Run, tmp_path: Path) -> None:
    env = {"IOLENS_MASK_ARGS": "^--password=,secret"}
    command = ["run", "-q", "-o", "log", "--", "sh", "-c", "true", "x", "--password=abc", "my-secret-1"]
    assert run_iolens(command, tmp_path, env).returncode == 0
    assert b"abc" not in (tmp_path / "log").read_bytes()
    text = run_iolens(["show", "--all", "log"], tmp_path).stdout
    assert "abc" not in text and "my-secret" not in text and "***" in text


EXPENSIVE = [
    "(((((((((((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+",
    "((((a{200}){200}){200}){200})",
    r"(a*)\1\1",
]


@pytest.mark.parametrize("expression", EXPENSIVE)
def test_an_expression_that_would_take_all_memory_or_time_is_refused(
    run_iolens: Run, tmp_path: Path, expression: str
) -> None:
    (tmp_path / "conf").write_text(f"NAME_EXCLUDE {expression}\n")
    done = run_iolens(["config", tmp_path / "conf"], timeout=10)
    assert done.returncode == 1 and "too large an expression" in done.stdout


def test_a_home_of_any_length_can_say_no(preload: Path, run_iolens: Run, tmp_path: Path) -> None:
    """What `iolens disable` says is done is found by the library, too."""
    home = tmp_path / Path(*(["x" * 200] * 15))
    logs = tmp_path / "logs"
    logs.mkdir()
    (tmp_path / "file").write_text("12345")
    alone = {
        "HOME": str(home),
        "LD_PRELOAD": str(preload),
        "IOLENS_ENABLE_NONMPI": "1",
        "IOLENS_LOGPATH": str(logs),
    }
    found = []
    for command in ("enable", "disable"):
        done = run_iolens([command], env={"HOME": str(home), "XDG_CONFIG_HOME": ""})
        assert done.returncode == 0, done.stderr
        run(["cat", "file"], env={**environ, **alone, "XDG_CONFIG_HOME": ""}, cwd=tmp_path, check=True)
        found.append(len(list(logs.rglob("*.darshan"))))
    assert found == [1, 1]


def test_a_configuration_that_is_no_file_is_not_waited_for(
    preload: Path, run_iolens: Run, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "fifo")
    for no_file in ("fifo", "."):
        env = {"IOLENS_CONFIG_PATH": str(tmp_path / no_file)}
        alone = {**environ, **env, "LD_PRELOAD": str(preload), "IOLENS_ENABLE_NONMPI": "1"}
        alone["IOLENS_LOGPATH"] = str(tmp_path)
        done = run(
            ["cat", "/proc/version"], env=alone, capture_output=True, text=True, timeout=300, check=False
        )
        assert (done.returncode, done.stdout) == (0, Path("/proc/version").read_text())
        shown_settings = run_iolens(["config"], env=env)
        assert f"{tmp_path / no_file}: cannot be read" in shown_settings.stdout
        assert setting(shown_settings.stdout, "BUDGET") == ("4", "default")
        observed = run_iolens(["run", "-q", "--", "echo", "done"], tmp_path, env)
        assert (observed.returncode, observed.stdout) == (0, "done\n")
