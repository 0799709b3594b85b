"""./bootstrap on machines that lack things: a copy runs with a PATH of stand-ins, so nothing is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

TOOLS = "cat chmod cmp cut dirname env grep mktemp mv paste rm sed sh tail".split()

# Fails to install until the lists are updated, as on a fresh machine; what it installs then exists.
APT_GET = """
echo "$@" >>{log}
case " $* " in
*" update "*) : >{home}/updated ;;
*) [ -e {home}/updated ] || {{ echo 'E: Unable to locate package' >&2; exit 100; }}
   for name in cc ninja; do printf '#!/bin/sh\\n' >{bin}/$name; chmod +x {bin}/$name; done ;;
esac
"""


class Machine:
    """A repository with only ./bootstrap, a PATH of stand-ins, and a log of what they were called with."""

    def __init__(self, home: Path, bootstrap: Path) -> None:
        self.home, self.bin = home, home / "bin"
        self.bin.mkdir()
        shutil.copy(bootstrap, home / "bootstrap")
        (home / "pyproject.toml").write_text('[build-system]\nrequires = [\n    "meson-python>=1",\n]\n')
        (home / "meson.options").touch()
        for name in TOOLS:
            found = shutil.which(name)
            assert found, name
            (self.bin / name).symlink_to(found)
        # An environment that seems to be in place; its interpreter only says what it was asked.
        (home / ".venv" / "bin").mkdir(parents=True)
        (home / ".venv" / "home").write_text(f"{home}\n")
        # Nobody's root here, whoever runs the tests; becoming root is a stand-in too.
        self.stand_in("bin/id", "echo 1000")
        self.stand_in("bin/sudo", '"$@"')
        self.stand_in(".venv/bin/python", f'echo "$@" >>{home}/python.log')

    def stand_in(self, path: str, script: str = "") -> None:
        target = self.home / path
        target.write_text(f"#!/bin/sh\n{script}\n")
        target.chmod(0o755)

    def with_apt(self) -> None:
        text = APT_GET.format(log=self.home / "apt.log", home=self.home, bin=self.bin)
        self.stand_in("bin/apt-get", text)

    def with_compiler(self) -> None:
        self.stand_in("bin/cc")
        self.stand_in("bin/ninja")

    def called(self, name: str) -> list[str]:
        log = self.home / f"{name}.log"
        return log.read_text().splitlines() if log.exists() else []

    def run(self, *args: str, ci: str | None = None) -> subprocess.CompletedProcess[str]:
        env = {"PATH": str(self.bin), "HOME": str(self.home), **({"CI": ci} if ci else {})}
        command = [str(self.home / "bootstrap"), *args]
        return subprocess.run(command, env=env, check=False, capture_output=True, text=True, timeout=300)


@pytest.fixture
def machine(tmp_path: Path, root: Path) -> Machine:
    return Machine(tmp_path, root / "bootstrap")


def test_help_names_every_command(machine: Machine, root: Path) -> None:
    done = machine.run("help")
    commands = re.findall(r"^([a-z]+)\) ", (root / "bootstrap").read_text(), re.MULTILINE)
    assert {"build", "test", "lint", "demo"} <= set(commands)
    assert done.returncode == 0
    assert [name for name in commands if f"\n  {name} " not in done.stdout] == []


def test_an_unknown_command_is_one_line(machine: Machine) -> None:
    done = machine.run("biuld")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "bootstrap: no command 'biuld': ./bootstrap help lists them\n"


def test_another_distribution_is_told_what_is_missing(machine: Machine) -> None:
    done = machine.run("build")
    assert done.returncode == 1
    assert done.stderr.startswith("bootstrap: to build, please install: command cc, ")
    assert "command ninja" in done.stderr
    assert done.stderr.count("\n") == 1
    assert machine.called("python") == []


def test_another_distribution_with_everything_goes_on(machine: Machine) -> None:
    machine.with_compiler()
    done = machine.run("build")
    assert (done.returncode, done.stderr) == (0, "")
    assert "-Cbuild-dir=build" in machine.called("python")[-1]


def test_apt_installs_what_is_missing_after_an_update(machine: Machine) -> None:
    machine.with_apt()
    done = machine.run("build")
    assert (done.returncode, done.stderr) == (0, "")
    first, update, again = machine.called("apt")
    assert first == again
    assert "install -y" in first
    assert "gcc" in first.split() and "ninja-build" in first.split()
    assert update.endswith(" update")


def test_apt_is_not_called_when_nothing_is_missing(machine: Machine) -> None:
    machine.with_apt()
    machine.with_compiler()
    assert machine.run("build").returncode == 0
    assert machine.called("apt") == []


@pytest.mark.parametrize("there", [False, True])
def test_a_build_is_configured_anew_after_an_installation(machine: Machine, there: bool) -> None:
    """Meson does not look again for what it did not find: back ends for an MPI that came with the tests' packages."""
    machine.with_apt()
    if there:
        machine.with_compiler()
    (machine.home / "build").mkdir()
    (machine.home / "build" / "build.ninja").touch()
    assert machine.run("build").returncode == 0
    assert (machine.home / "build").exists() == there


def test_a_failing_apt_is_one_line_with_its_reason(machine: Machine) -> None:
    machine.stand_in("bin/apt-get", "echo 'E: Temporary failure resolving' >&2; exit 100")
    done = machine.run("build")
    assert done.returncode == 1
    assert "E: Temporary failure resolving" in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_sudo_the_command_for_root_is_named(machine: Machine) -> None:
    machine.with_apt()
    (machine.bin / "sudo").unlink()
    done = machine.run("build")
    assert done.returncode == 1
    assert "as root: apt-get install gcc" in done.stderr


def test_the_second_build_installs_no_packages_again(machine: Machine) -> None:
    machine.with_compiler()
    machine.run("build")
    machine.run("build")
    lists = [line for line in machine.called("python") if "-r .venv/wanted" in line]
    builds = [line for line in machine.called("python") if "-Cbuild-dir=build" in line]
    assert (len(lists), len(builds)) == (2, 2)  # to build, to run


def test_a_changed_list_is_installed(machine: Machine) -> None:
    machine.with_compiler()
    machine.run("build")
    (machine.home / "pyproject.toml").write_text('requires = [\n    "meson-python>=2",\n]\n')
    machine.run("build")
    assert sum("-r .venv/wanted" in line for line in machine.called("python")) == 3


def test_warnings_are_errors_in_ci_only(machine: Machine) -> None:
    machine.with_compiler()
    machine.run("build")
    machine.run("build", ci="true")
    builds = [line for line in machine.called("python") if "-Cbuild-dir=build" in line]
    assert ["werror" in line for line in builds] == [False, True]
