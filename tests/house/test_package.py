"""The installed package: what `pip install` leaves behind, whatever the build directory holds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import distribution
from pathlib import Path

import pytest

iolens = pytest.importorskip("iolens", reason="iolens is not installed in this environment")

ELF = b"\x7fELF"


def test_the_command_is_native() -> None:
    command = Path(sysconfig.get_path("scripts")) / "iolens"
    assert command.read_bytes()[:4] == ELF


def test_the_preload_library_is_inside_the_package() -> None:
    assert iolens.preload_path().parent.parent == Path(iolens.__file__).parent
    assert iolens.preload_path().read_bytes()[:4] == ELF


def test_the_wheel_serves_later_pythons_too() -> None:
    wheel = distribution("iolens").read_text("WHEEL") or ""
    tags = [line.split(": ")[1] for line in wheel.splitlines() if line.startswith("Tag:")]
    assert [tag.split("-")[1] for tag in tags] == ["abi3"]


# Before 2.33, or 2.28, headers called functions of other names for these.
RENAMED = {f"{kind}{wide}" for kind in ("stat", "fstat", "lstat", "fstatat", "fcntl") for wide in ("", "64")}


def _symbols(file: Path) -> set[tuple[str, int]]:
    """(name, N of GLIBC_2.N) of a program's or a library's dynamic symbols."""
    listed = subprocess.run(["readelf", "-W", "--dyn-syms", file], capture_output=True, text=True, check=True)
    return {(name, int(minor)) for name, minor in re.findall(r" (\w+)@+GLIBC_2\.(\d+)", listed.stdout)}


def test_programs_need_no_function_that_the_wheel_s_libc_lacks(build_dir: Path, root: Path) -> None:
    """A wheel is built for an older glibc than this machine's: ./bootstrap wheel stops at what that one has not."""
    (oldest,) = re.findall(r"manylinux_2_(\d+)_", (root / "tools" / "wheel.py").read_text())
    libc = Path(subprocess.check_output(["cc", "-print-file-name=libc.so.6"], text=True).strip())
    there = {name for name, minor in _symbols(libc) if minor <= int(oldest)}
    needed = {name for name, minor in _symbols(build_dir / "cli" / "iolens") if minor > int(oldest)}
    assert needed - there - RENAMED == set()


def test_the_version_is_meson_s(root: Path) -> None:
    assert f"version: '{iolens.__version__}'" in (root / "meson.build").read_text()


def test_reading_logs_needs_no_other_package(root: Path) -> None:
    required = [line for line in distribution("iolens").requires or [] if "extra ==" not in line]
    names = [re.split(r"[^\w-]", line)[0] for line in required]
    reasons = (root / "docs/decisions/dependencies.md").read_text()
    assert [name for name in names if f"| {name}" not in reasons] == []
    loaded = "import sys, iolens.log; print([m for m in sys.argv[1:] if m.replace('-', '_') in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", loaded, "numpy", *names], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def loaded_by(statement: str, first: str = "") -> set[str]:
    """The modules that a statement imports, after another one."""
    code = f"import sys\n{first}\nbefore = set(sys.modules)\n{statement}\nprint(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_imports_nothing_else() -> None:
    """Programs do that to name phases: what is imported for it is counted, not timed."""
    assert loaded_by("import iolens") - {"__future__"} == {"iolens"}


def test_the_plugin_of_pytest_imports_no_part_of_the_package() -> None:
    """It is loaded by every pytest where iolens is installed."""
    pytest_s = "import pytest, tempfile, subprocess, sysconfig, contextlib, threading"
    assert loaded_by("import iolens.pytest_plugin", pytest_s) - {"__future__"} == {
        "iolens",
        "iolens.pytest_plugin",
    }


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """An environment with iolens alone, as `pip install --no-deps` leaves it."""
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    (packages,) = (tmp_path / "env").glob("lib/python3*/site-packages")
    shutil.copytree(Path(iolens.__file__).parent, packages / "iolens")
    shutil.copy(Path(sysconfig.get_path("scripts")) / "iolens", tmp_path / "env" / "bin")
    return packages


def test_a_clone_s_program_finds_the_library_for_static_programs(tmp_path: Path) -> None:
    bin, linked = tmp_path / ".venv" / "bin", tmp_path / "build" / "runtime" / "linked"
    bin.mkdir(parents=True)
    shutil.copy(Path(sysconfig.get_path("scripts")) / "iolens", bin)
    ask = [bin / "iolens", "config", "--static-ldflags"]
    done = subprocess.run(ask, capture_output=True, text=True, check=False)
    assert done.returncode == 3 and "`make install PREFIX=DIR` installs it" in done.stderr
    linked.mkdir(parents=True)
    (linked / "libiolens.a").touch()
    done = subprocess.run(ask, capture_output=True, text=True, check=False)
    assert done.stdout == f"-Wl,@{linked}/iolens.wrap {linked}/libiolens.a\n"


def test_a_clone_s_program_finds_the_companion_in_the_kernel(tmp_path: Path) -> None:
    bin, kernel = tmp_path / ".venv" / "bin", tmp_path / "build" / "kernel"
    bin.mkdir(parents=True)
    shutil.copy(Path(sysconfig.get_path("scripts")) / "iolens", bin)
    ask = [bin / "iolens", "run", "-q", "--kernel", "-o", tmp_path / "log.darshan", "true"]
    environment = {**os.environ, "IOLENS_PRELOAD": str(iolens.preload_path())}

    def said() -> str:
        (tmp_path / "log.darshan").unlink(missing_ok=True)
        return subprocess.run(ask, env=environment, capture_output=True, text=True, check=True).stderr

    assert "iolens-kernel is not installed (a clone with clang and libbpf-dev builds it): " in said()
    kernel.mkdir(parents=True)
    (kernel / "iolens-kernel").write_text("#!/bin/sh\necho this machine has no eBPF\n")
    (kernel / "iolens-kernel").chmod(0o755)
    assert "run: --kernel: this machine has no eBPF: " in said()


def test_extras_are_installed_by_a_command_for_this_installation(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No index has iolens: a name as iolens[fleet] would find nothing."""
    from iolens import extras

    pip = f"{sys.executable} -m pip install"
    required = [
        "all>=1",
        "new>=1,<2; extra == 'fleet'",
        "old; python_version >= '9.1' and extra == \"fleet\"",
    ]
    monkeypatch.setattr(extras, "requires", lambda name: required)
    assert extras.install_command("fleet") == f"{pip} 'new>=1,<2'"
    monkeypatch.setattr(extras, "__file__", str(tmp_path / "iolens" / "extras.py"))
    assert extras.install_command("fleet") == f"{pip} --target {tmp_path.resolve()} 'new>=1,<2'"
    required.pop(1)
    assert str(extras.lacks("a lake", "deltalake", "fleet")) == "a lake needs deltalake: Python 9.1 or later"
    monkeypatch.setattr(extras, "_there", lambda requirement: False)
    required += ["early; python_version < '9.1'", "pyelftools<1", "late; python_version < '3.9'"]
    assert (
        extras.module_command("elftools.dwarf")
        == f"{pip} --target {tmp_path.resolve()} 'all>=1' early 'pyelftools<1'"
    )
    assert extras.module_command("other.part") == f"{pip} --target {tmp_path.resolve()} other"
    monkeypatch.undo()
    named = set()
    for source in (root / "python" / "iolens").rglob("*.py"):
        text = source.read_text()
        assert "pip install 'iolens" not in text, source
        named |= set(re.findall(r"""raise lacks\(.*"(\w+)"\)""", text))
    assert named == {"fleet", "mcp", "notebook", "pdf", "portal", "postgres", "spark"}
    assert all(extras.install_command(name) for name in named), "each is in pyproject.toml"


@pytest.mark.parametrize("kind", ["environment", "user"])
def test_where_debian_s_pip_refuses_the_folder_is_named(
    kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from iolens import extras

    own, users = tmp_path / "own", tmp_path / "users"
    here = own if kind == "environment" else users
    monkeypatch.setattr(extras, "__file__", str(here / "iolens" / "extras.py"))
    monkeypatch.setattr(extras, "requires", lambda name: ["new; extra == 'fleet'"])
    monkeypatch.setattr(
        extras.sysconfig,
        "get_path",
        lambda name, scheme="": str(users if scheme else tmp_path if name == "stdlib" else own),
    )
    usual = f"{sys.executable} -m pip install {'' if kind == 'environment' else '--user '}new"
    refused = f"{sys.executable} -m pip install --target {here.resolve()} new"
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    assert extras.install_command("fleet") == usual, "an environment is the user's"
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert extras.install_command("fleet") == refused
    (tmp_path / "EXTERNALLY-MANAGED").unlink()
    assert extras.install_command("fleet") == usual


def test_debian_s_packages_are_completed_by_apt_or_by_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their folder is dpkg's: pip shall not write there."""
    from iolens import extras

    monkeypatch.setattr(extras, "_is_debian_s", lambda: True)
    assert extras.module_command("click") == "apt install --reinstall iolens-analysis"
    assert str(extras.lacks("a lake", "deltalake", "fleet")) == (
        "a lake needs deltalake: Debian's packages of iolens lack it, its wheel does not: "
        "python3 -m venv ENV && ENV/bin/pip install 'WHEEL[fleet]'"
    )


def test_a_clone_s_build_folder_takes_the_python_of_the_clone(tmp_path: Path) -> None:
    """Whatever python3 is the first of PATH; before ./bootstrap build, the command is named."""
    clone = tmp_path / "clone"
    (clone / "build" / "cli").mkdir(parents=True)
    (clone / "build" / "runtime").mkdir()
    (clone / "build" / "runtime" / "libiolens.so").touch()
    shutil.copy(Path(sysconfig.get_path("scripts")) / "iolens", clone / "build" / "cli")
    other = tmp_path / "other"
    other.mkdir()
    python = other / "python3"
    python.write_text('#!/bin/sh\nexec /usr/bin/python3 -I -S "$@"\n')
    python.chmod(0o755)

    def said(code: int, path: Path = other) -> str:
        environment = {"PATH": str(path), "LANG": "C.UTF-8"}
        command = [clone / "build" / "cli" / "iolens", "findings", "--help"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code
        return done.stderr if code else done.stdout

    incomplete = (
        "iolens: findings needs its Python package, which is not complete here (No module named 'iolens'): "
    )
    wheel = f"python3 -m venv ENV && ENV/bin/pip install iolens-{iolens.__version__}-*.whl\n"
    assert said(2) == f"{incomplete}/usr/bin/{wheel}"
    (clone / "bootstrap").touch()
    assert said(2) == f"{incomplete}{clone.resolve()}/bootstrap build\n"
    assert said(2, tmp_path) == (
        "iolens: findings needs Python: cannot run python3 (No such file or directory): "
        f"{clone.resolve()}/bootstrap build, or set IOLENS_PYTHON to an interpreter that has iolens\n"
    )
    (clone / ".venv").symlink_to(sys.prefix)
    assert said(0).startswith("Usage: iolens findings")


def test_what_is_missing_is_named_with_the_command_that_brings_it(bare: Path) -> None:
    bin = bare.parents[2] / "bin"

    def said() -> str:
        done = subprocess.run([bin / "iolens", "sql", "x", "y"], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1
        return done.stderr

    assert said().endswith(f"No module named 'click'): {bin}/python3 -m pip install click\n")
    shutil.copytree(Path(sysconfig.get_path("purelib")) / "click", bare / "click")
    shutil.copytree(Path(sysconfig.get_path("purelib")) / "rich", bare / "rich")
    assert said() == f"iolens: sql needs duckdb: {bin}/python3 -m pip install duckdb\n"
    shutil.rmtree(bare / "iolens" / "cli")
    wheel = f"iolens-{iolens.__version__}-*.whl"
    assert said().endswith(
        f"No module named 'iolens.cli'): {bin}/python3 -m pip install --force-reinstall {wheel}\n"
    )
    assert subprocess.run([bin / "iolens", "--version"], check=False).returncode == 0
