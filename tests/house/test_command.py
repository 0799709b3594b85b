"""A command is one file: nothing else is written by hand for it.

The build's table is made from the files in C and in Python; what is wrong in one of them ends the build with one line.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOMS = ["api", "cli", "format", "modules", "python", "runtime", "tools"]
TOP = ["meson.build", "meson.options", "pyproject.toml", "README.md", "LICENSE"]

ROW = """
const struct command hello_command = {
	.name = "hello",
	.group = GROUP_MAINTAIN,
	.place = 50,
};
"""


def run(*command: str | Path, **options: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return str(done.stdout)


def samples(root: Path) -> dict[str, str]:
    """The files that CONTRIBUTING shows as whole commands."""
    text = (
        (root / "CONTRIBUTING.md").read_text().partition("\n## Adding a command\n")[2].partition("\n## ")[0]
    )
    return dict(re.findall(r"^In \w+, `([^`]+)`.*?^```\w+\n(.*?)^```$", text, re.M | re.S))


def files(tree: Path) -> dict[str, bytes]:
    names = (path for path in tree.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(tree)): path.read_bytes() for path in names}


def test_a_command_is_one_file(root: Path, build_dir: Path, tmp_path: Path) -> None:
    """Both samples of CONTRIBUTING are in the help, run, and are completed; each has a man page."""
    tree, build = tmp_path / "tree", tmp_path / "build"
    tree.mkdir()
    for name in ROOMS:
        shutil.copytree(root / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in TOP:
        shutil.copy(root / name, tree / name)
    before = files(tree)
    written = samples(root)
    assert list(written) == ["cli/hello.c", "python/iolens/cli/greet.py"]
    for name, code in written.items():
        (tree / name).write_text(code)

    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    env = {**env, "PYTHONPATH": str(tree / "python"), "IOLENS_PYTHON": sys.executable}
    run("meson", "setup", "-Dtests=false", "-Dbuildtype=plain", build, cwd=tree, env=env)
    run("ninja", "-C", build, "cli/iolens", "cli/man1", env=env)
    after = files(tree)
    assert {name for name in after if after[name] != before.get(name)} == set(written)

    iolens = build / "cli" / "iolens"
    overview = run(iolens, "--help", env=env)
    assert "\n  completion  print completion scripts for bash, zsh and fish\n" in overview
    assert "\n  hello       greet\n  greet       greet from Python\n" in overview
    assert run(iolens, "hello", env=env) == "hello\n"
    assert run(iolens, "greet", "--name", "Ada", env=env) == "hello Ada\n"
    shutil.copy(next((build_dir / "python" / "ext").glob("_native*.so")), tree / "python" / "iolens" / "log")
    script = run(iolens, "completion", "bash", env=env)
    assert "\thello) options=' --help -h'" in script
    assert "\tgreet) options=' --name" in script
    pages = {path.name: path.read_text() for path in (build / "cli" / "man1").iterdir()}
    assert "iolens-hello \\- greet\n" in pages["iolens-hello.1"]
    assert ".B \\-\\-name TEXT\nName to greet." in pages["iolens-greet.1"]
    assert "iolens-hello(1), iolens-greet(1)" in pages["iolens.1"]


@pytest.fixture
def table(root: Path, tmp_path: Path):  # type: ignore[no-untyped-def]
    """Makes the table of a tree with one command in C."""
    cli, python = tmp_path / "cli", tmp_path / "python"
    cli.mkdir()
    python.mkdir()
    shutil.copy(root / "cli" / "cli.h", cli)

    def made(row: str, declared: str = "", listed: str = "hello.c") -> tuple[str, str]:
        (cli / "hello.c").write_text(row)
        (python / "greet.py").write_text(declared)
        command = [
            sys.executable,
            root / "tools" / "commands.py",
            cli,
            python,
            tmp_path / "out.c",
            tmp_path / "out.d",
        ]
        done = subprocess.run([*command, *listed.split()], capture_output=True, text=True, check=False)
        return done.stderr, (tmp_path / "out.c").read_text() if not done.returncode else ""

    return made


def test_commands_stand_in_the_order_of_group_place_and_name(table) -> None:  # type: ignore[no-untyped-def]
    for group, place, first in (("maintain", 50, "greet"), ("maintain", 51, "hello"), ("look", 99, "greet")):
        said, text = table(ROW, f'COMMAND = Command(group="{group}", place={place}, about="a \\"word\\"")\n')
        assert not said
        order = re.findall(r"^\t&(\w+)_command,$", text, re.M)
        assert sorted(order) == ["greet", "hello"] and order[0] == first
        assert '.about = "a \\"word\\""' in text


def test_what_is_wrong_in_a_commands_file_is_one_line(table) -> None:  # type: ignore[no-untyped-def]
    said, _ = table(ROW.replace("50", "LAST"))
    assert (
        said.count("\n") == 1 and 'hello_command needs .name = "hello", .group = GROUP_... and .place' in said
    )
    said, _ = table(ROW, 'COMMAND = Command(group="other", place=1, about="")\n')
    assert said.count("\n") == 1 and "greet.py: COMMAND needs group= one of observe, look, explain" in said
    said, _ = table(ROW, listed="hello.c gone.c")
    assert said == f"commands: gone.c: not what Meson has listed: meson setup --reconfigure {Path.cwd()}\n"
