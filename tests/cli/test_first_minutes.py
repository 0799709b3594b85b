"""What somebody sees who has never used iolens: the welcome, and what is said to typing errors."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from logmaker import plain_log

Run = Callable[..., Any]
GROUP = re.compile(r"^([A-Z][a-z ]+):$", re.M)


def commands(page: str) -> list[str]:
    return re.findall(r"^  (\w+)  +\S", page.partition("Observe")[2], re.M)


def test_a_setting_that_has_no_effect_is_said_after_the_run(iolens: Path, tmp_path: Path) -> None:
    def told(**variables: str) -> list[str]:
        command = [iolens, "run", "-o", tmp_path / f"{len(list(tmp_path.iterdir()))}.darshan", "--", "true"]
        done = subprocess.run(
            command, env={**os.environ, **variables}, capture_output=True, text=True, check=True
        )
        return [line for line in done.stderr.splitlines() if line.startswith("iolens: run:")]

    assert told() == told(IOLENS_TIMES="exact") == []
    wrong = told(IOLENS_TIMES="bogus", IOLENS_TRCE="1")
    assert wrong == [
        "iolens: run: environment IOLENS_TIMES: TIMES bogus: not one of sampled, exact, always-sampled",
        "iolens: run: environment IOLENS_TRCE : no such setting: did you mean TRACE?",
    ]


def test_the_welcome_is_grouped_and_begins_with_examples(run_iolens: Run) -> None:
    page = run_iolens(["--help"]).stdout
    titles = ["Examples", "Observe programs", "Look at a log", "Explain and compare"]
    assert GROUP.findall(page) == [*titles, "Transform logs", "Maintain"]
    examples = page.partition("Examples:\n")[2].partition("\n\n")[0].splitlines()
    assert len(examples) == 3 and all(line.startswith("  iolens ") for line in examples)
    assert len(set(commands(page))) == len(commands(page)) > 15
    assert all(len(line) <= 100 for line in page.splitlines())


def test_without_a_command_the_welcome_is_on_stderr(run_iolens: Run) -> None:
    done = run_iolens([])
    assert (done.returncode, done.stdout, done.stderr) == (2, "", run_iolens(["--help"]).stdout)


def test_every_command_of_the_welcome_has_help(run_iolens: Run) -> None:
    for name in commands(run_iolens(["--help"]).stdout):
        done = run_iolens([name, "--help"])
        assert (done.returncode, done.stderr) == (0, ""), name
        assert re.match(rf"[Uu]sage: iolens {name}\b", done.stdout), name
    assert run_iolens(["help", "show"]).stdout == run_iolens(["show", "--help"]).stdout


def test_help_starts_no_interpreter(iolens: Path, tmp_path: Path) -> None:
    """Milliseconds: one process that maps libc and nothing that is slow to load."""
    trace = tmp_path / "trace"
    strace = ["strace", "-f", "-qq", "-e", "trace=execve,clone,fork,vfork", "-o", trace]
    subprocess.run([*strace, iolens, "--help"], check=True, capture_output=True)
    assert len([line for line in trace.read_text().splitlines() if "execve" in line or "fork" in line]) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["reprot"], 'unknown command "reprot": did you mean report?'),
        (["RUN"], 'unknown command "RUN": did you mean run?'),
        (["finding"], 'unknown command "finding": did you mean findings?'),
        (["zzzzzz"], 'unknown command "zzzzzz": see iolens --help'),
        (["--versoin"], "unknown option --versoin: see iolens --help"),
        (["show", "--jsn", "LOG"], "show: unknown option --jsn: did you mean --json?"),
        (["show", "--zzz", "LOG"], "show: unknown option --zzz: see iolens show --help"),
        (["show", "--module", "posx", "LOG"], "show: --module posx: did you mean posix?"),
        (["convert", "--module", "posix,stdoi", "LOG", "x"], "convert: --module posix,stdoi: did you mean stdio?"),
        (["trace", "--module", "mpoi", "LOG"], "trace: --module mpoi: did you mean mpiio?"),
        (["diff", "--ignore", "posix.byte_read", "LOG", "LOG"], "diff: --ignore posix.byte_read: did you mean posix."),
        (["diff", "--tolerance", "read_tiem=5%", "LOG", "LOG"], "diff: --tolerance read_tiem: did you mean read_time?"),
        (["completion", "zhs"], 'completion: unknown shell "zhs": did you mean zsh?'),
        (["findings", "--jsn", "LOG"], "findings: unknown option --jsn: did you mean --json?"),
        (["findings", "--only", "small_raeds", "LOG"], 'unknown rule "small_raeds": did you mean small_reads'),
        (["findings", "--threshold", "small_reads.prat=1", "LOG"], 'unknown threshold "small_reads.prat": did'),
        (["findings", "--fail-on", "hihg", "LOG"], "findings: --fail-on hihg: did you mean high?"),
        (["findings", "--fail-on", "zzz", "LOG"], "findings: --fail-on zzz: expected high, medium or low"),
        (["findings", "--fail-on"], "findings: option --fail-on needs a value: see iolens findings --help"),
        (["findings"], "findings: LOG... is missing: see iolens findings --help"),
        (["compare", "--tolerance", "much"], "compare: --tolerance much: expected a number"),
        (["explain", "metadata_ration"], 'unknown metric or rule "metadata_ration": did you mean metadata_ratio'),
        (["explain", "small_raeds"], 'unknown metric or rule "small_raeds": did you mean small_reads'),
        (["sql", "LOG", "select * from posx"], 'unknown table "posx": did you mean posix'),
    ],
)  # fmt: skip
def test_what_was_meant(run_iolens: Run, tmp_path: Path, arguments: list[str], said: str) -> None:
    log = tmp_path / "a.darshan"
    log.write_bytes(bytes(plain_log()))
    done = run_iolens([str(log) if a == "LOG" else a for a in arguments])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"iolens: {said}") and done.stderr.count("\n") == 1


def test_settings(run_iolens: Run, tmp_path: Path) -> None:
    conf = tmp_path / "conf"
    conf.write_text("TRACES on\nZZZZZZZZZZ 1\n")
    done = run_iolens(["config", conf])
    warnings = [line for line in done.stdout.splitlines() if line.startswith("warning")]
    assert done.returncode == 1
    assert warnings[0].endswith("TRACES : no such setting: did you mean TRACE?")
    assert warnings[1].endswith("ZZZZZZZZZZ : no such setting")


def test_a_variable_that_is_near_to_a_setting(run_iolens: Run) -> None:
    odd = {"IOLENS_TRCE": "1", "IOLENS_RULES": "/nowhere", "IOLENS_CORPUS": "/nowhere"}
    done = run_iolens(["config"], env=odd)
    assert done.returncode == 1
    assert [line for line in done.stdout.splitlines() if line.startswith("warning")] == [
        "warning: environment IOLENS_TRCE : no such setting: did you mean TRACE?"
    ]
