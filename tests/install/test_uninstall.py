"""`make uninstall` removes exactly what `make install` has put there, whatever has happened in between."""

from __future__ import annotations

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import places
import pytest

Facts = dict[str, tuple[int, str]]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """With something of others in the same folders."""
    if not (places.BUILD / "build.ninja").exists():
        pytest.skip("no build directory: ./bootstrap build")
    for name in ("bin/other", "lib/other/module.py", "share/man/man1/other.1"):
        path = tmp_path / "root" / prefix().lstrip("/") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("other")
    return tmp_path / "root"


def prefix() -> str:
    options = json.loads((places.BUILD / "meson-info" / "intro-buildoptions.json").read_text())
    (found,) = [option["value"] for option in options if option["name"] == "prefix"]
    return str(found)


def version() -> str:
    project = json.loads((places.BUILD / "meson-info" / "intro-projectinfo.json").read_text())
    return str(project["version"])


def tool(place: Path, *words: str) -> str:
    command = [sys.executable, "tools/install.py", "--prefix", prefix(), "--destdir", str(place), *words]
    done = subprocess.run(command, cwd=places.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def install(place: Path) -> str:
    return tool(place, "--build", str(places.BUILD))


def facts(place: Path) -> Facts:
    return {
        str(path.relative_to(place)): (
            path.lstat().st_mode,
            path.read_text("latin-1") if path.is_file() else "",
        )
        for path in place.rglob("*")
    }


def test_nothing_is_left_and_nothing_else_is_gone(place: Path) -> None:
    before = facts(place)
    install(place)
    (command,) = (path for path in place.rglob("iolens") if path.parent.name == "bin")
    assert subprocess.run([command, "--version"], check=False, capture_output=True).returncode == 0
    package = next(place.rglob("iolens/cli/command.py"))
    subprocess.run([sys.executable, "-m", "py_compile", package], check=True)
    assert list(package.parent.glob("__pycache__/command.*.pyc"))
    install(place)
    said = tool(place, "--uninstall")
    assert facts(place) == before and "left:" not in said


def test_what_a_site_has_changed_or_added_stays(place: Path) -> None:
    install(place)
    (command,) = (path for path in place.rglob("iolens") if path.parent.name == "bin")
    command.write_text("#!/bin/sh\n")
    added = next(place.rglob("iolens/cli")) / "site.py"
    added.write_text("")
    said = tool(place, "--uninstall").splitlines()
    assert command.read_text() == "#!/bin/sh\n" and added.exists()
    assert f"left: {command}: changed since" in said and f"left: {added.parent}: not empty" in said
    assert not list(place.rglob("libiolens.so"))


def test_an_upgrade_removes_what_the_new_version_has_no_more(place: Path) -> None:
    before = facts(place)
    install(place)
    listed = place / prefix().lstrip("/") / "share/iolens/installed"
    old = next(place.rglob("iolens/cli")) / "gone.py"
    old.write_text("old\n")
    digest = sha256(b"old\n").hexdigest()
    listed.write_text(listed.read_text() + f"file {digest} /{old.relative_to(place)}\n")
    install(place)
    assert not old.exists() and "gone.py" not in listed.read_text()
    tool(place, "--uninstall")
    assert facts(place) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--uninstall", "--prefix", "/no/such"],
            "install: /no/such/share/iolens/installed: not there: nothing was",
        ),
        (["--prefix", "here"], "install: here: a prefix begins with /"),
    ],
)
def test_wrong_use_is_a_line(words: list[str], said: str) -> None:
    command = [sys.executable, "tools/install.py", *words]
    done = subprocess.run(command, cwd=places.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.startswith(said) and done.stderr.count("\n") == 1


def test_the_package_knows_what_it_needs(place: Path) -> None:
    """Where no pip was: commands name the package that they lack."""
    install(place)
    (parent,) = (path.parent for path in place.rglob("iolens-*.dist-info"))
    code = (
        f"import sys; sys.path.insert(0, {str(parent)!r}); from importlib.metadata import version\n"
        "from iolens.extras import install_command; print(version('iolens'), install_command('notebook'))"
    )
    ask = ["/usr/bin/python3", "-I", "-S", "-c", code]
    said = subprocess.run(ask, capture_output=True, text=True, check=True).stdout
    pip = f"/usr/bin/python3 -m pip install --target {parent.resolve()} 'ipykernel>=6.29,<8'"
    assert said == f"{version()} {pip}\n"
