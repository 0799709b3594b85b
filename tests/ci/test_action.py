"""action.yml: its steps' shell as written, on a repository whose second commit writes in smaller pieces."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

WRITE = """import os, time
with open("out-%d" % os.getpid(), "wb", buffering=0) as f:
    for _ in range({calls}):
        f.write(bytes({size}))
time.sleep({pause})
"""


@dataclass
class Runner:
    """What a runner does with a composite action: expressions into the environment, steps in order, its files."""

    action: dict[str, Any]
    repository: Path
    temp: Path
    event: Mapping[str, str]
    outputs: dict[str, str] = field(default_factory=dict)
    said: str = ""

    def value(self, text: str, given: Mapping[str, str]) -> str:
        names = {f"inputs.{name}": value for name, value in self.inputs(given).items()}
        names |= {f"steps.{name}": value for name, value in self.outputs.items()} | dict(self.event)
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: names.get(found[1], ""), text)

    def inputs(self, given: Mapping[str, str]) -> dict[str, str]:
        known = self.action["inputs"]
        assert set(given) <= set(known)
        defaults = {name: str(one.get("default", "")) for name, one in known.items()}
        event = {
            name: re.sub(r"\$\{\{ (.*?) \}\}", lambda m: self.event.get(m[1], ""), text)
            for name, text in defaults.items()
        }
        return {**event, **given}

    def run(self, **given: str) -> int:
        """The exit code of the first step that fails; those that run always do."""
        code = 0
        for step in self.action["runs"]["steps"]:
            condition = step.get("if", "success()")
            wanted = condition.replace("always()", "True").replace("success()", str(code == 0))
            wanted = re.sub(r"steps\.([\w.]+)", lambda m: repr(self.outputs.get(m[1], "")), wanted)
            if eval(wanted.replace("&&", "and")):
                code = self.step(step, given) or code
        return code

    def step(self, step: Mapping[str, Any], given: Mapping[str, str]) -> int:
        assert step["shell"] == "bash"
        script = self.temp / "script"
        script.write_text(step["run"])
        output = self.temp / "output"
        output.write_text("")
        variables = {name: self.value(str(value), given) for name, value in step.get("env", {}).items()}
        variables |= {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_PATH": str(self.temp / "path"),
            "GITHUB_STEP_SUMMARY": str(self.temp / "summary"),
            "GITHUB_ACTION_PATH": "/nowhere",
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
            cwd=self.repository, env={**os.environ, **variables}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.said += done.stdout + done.stderr
        for line in output.read_text().splitlines():
            name, _, value = line.partition("=")
            self.outputs[f"{step['id']}.outputs.{name}"] = value
        return done.returncode

    @property
    def summary(self) -> str:
        return (self.temp / "summary").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def action(root: Path) -> dict[str, Any]:
    loaded = yaml.safe_load((root / "action.yml").read_text())
    assert isinstance(loaded, dict)
    return loaded


def git(folder: Path, *words: str) -> str:
    settings = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *settings, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def runner(action: dict[str, Any], tmp_path: Path) -> Runner:
    repository, temp = tmp_path / "repository", tmp_path / "a temp"
    repository.mkdir()
    temp.mkdir()
    git(repository, "init", "-q")
    for calls, size, pause in ((4, 1 << 20, 0), (4096, 1 << 10, 1)):
        (repository / "write.py").write_text(WRITE.format(calls=calls, size=size, pause=pause))
        git(repository, "add", ".")
        git(repository, "commit", "-q", "-m", "x")
    event = {"github.event.pull_request.base.sha": git(repository, "rev-parse", "HEAD^")}
    return Runner(action, repository, temp, event)


def test_what_an_input_holds_is_never_part_of_a_script(action: dict[str, Any]) -> None:
    assert [step["run"] for step in action["runs"]["steps"] if "${{" in step["run"]] == []


def test_a_slower_head_fails_and_the_summary_says_why(runner: Runner) -> None:
    assert runner.run(command="python3 write.py", prepare="touch made") == 1, runner.said
    assert runner.summary.startswith("### 🔴 head is slower than base: run time ")
    assert re.search(r"^\| write calls \| 4 \| 4,096 \| x 1,020 \| 🔴 worse \|$", runner.summary, re.M)
    assert "<code>out-&#35;</code>" in runner.summary, "names are those within the checkout"
    assert "::error::iolens: head is slower than base: run time" in runner.said
    assert "not interleaved" not in runner.summary
    folder = Path(runner.outputs["trees.outputs.folder"])
    assert sorted(p.name for p in folder.iterdir()) == [
        *(f"base-{n}.darshan" for n in (1, 2, 3)), "comparison.html", "comparison.md",
        *(f"head-{n}.darshan" for n in (1, 2, 3)),
    ]  # fmt: skip
    assert git(runner.repository, "worktree", "list").count("\n") == 0


def test_it_fails_only_where_it_is_asked_to(runner: Runner) -> None:
    assert runner.run(**{"command": "python3 write.py", "fail-on": "never", "repeat": "1"}) == 0, runner.said
    assert "one run each" in runner.summary


def test_a_base_that_was_not_fetched_is_fetched(runner: Runner) -> None:
    clone = runner.temp / "clone"
    git(runner.temp, "clone", "-q", "--depth=1", f"file://{runner.repository}", str(clone))
    git(runner.repository, "config", "uploadpack.allowAnySHA1InWant", "true")
    runner.repository = clone
    # Whatever else runs on the machine: a process that takes 30 ms may take 90.
    assert runner.run(command="true", repeat="1", tolerance="100000") == 0, runner.said
    assert runner.summary.startswith("### ⚪ head is as base")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"command": "exit 7"}, "the command ended with 7 in run 1 of base"),
        ({"command": "true", "prepare": "false"}, "the input prepare failed in the checkout of base"),
        ({"command": "true", "base": ""}, "there is no base to compare with"),
        ({"command": "true", "repeat": "many"}, "repeat is no number from 1 on: many"),
    ],
)
def test_what_went_wrong_is_said(runner: Runner, given: dict[str, str], words: str) -> None:
    assert runner.run(**given) != 0
    assert f"::error::iolens: {words}" in runner.said
    assert git(runner.repository, "worktree", "list").count("\n") == 0
