"""`make release`: what it refuses, and what it leaves, in a clone."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest


def git(place: Path, *words: str) -> str:
    who = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    return subprocess.run(["git", *who, *words], cwd=place, check=True, capture_output=True, text=True).stdout


RECIPES = ("deploy/spack/spack_repo/iolens/packages/iolens/package.py", "deploy/conda/recipe.yaml")


@pytest.fixture
def clone(root: Path, tmp_path: Path) -> Path:
    if not (root / ".git").exists():
        pytest.skip("no repository")
    place = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--no-tags", root, place], check=True, capture_output=True)
    for name in ("tools/release.py", "CHANGELOG.md", "meson.build", *RECIPES):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes((root / name).read_bytes())
    git(place, "add", "-A")
    git(place, "config", "user.name", "T")
    git(place, "config", "user.email", "t@example.org")
    git(place, "commit", "-q", "--allow-empty", "-am", "as it is")
    return place


def release(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "tools/release.py", *words]
    return subprocess.run(command, cwd=place, check=False, capture_output=True, text=True)


def test_a_dry_run_says_every_step(clone: Path) -> None:
    done = release(clone, "--dry-run", "9.9.9")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[1] for line in done.stdout.splitlines()] == [
        "all",
        "9.9.9",
        "wheels",
        "commit",
        "tag",
    ]
    assert git(clone, "status", "--porcelain") == "" and git(clone, "tag") == ""


def test_a_release(clone: Path) -> None:
    done = release(clone, "--without", "tests", "--without", "wheels", "9.9.9")
    assert (done.returncode, done.stderr) == (0, "")
    assert "version: '9.9.9'," in (clone / "meson.build").read_text()
    assert ['"9.9.9"' in (clone / name).read_text() for name in RECIPES] == [True, True]
    assert re.search(
        r"## \[Unreleased\]\n\n## \[9\.9\.9\] - \d{4}-\d\d-\d\d\n\n### ", (clone / "CHANGELOG.md").read_text()
    )
    assert git(clone, "log", "-1", "--format=%s") == "Release 9.9.9\n"
    assert git(clone, "describe", "--exact-match") == "v9.9.9\n"
    assert git(clone, "status", "--porcelain") == ""
    # The next one has nothing to tell, this one is there, and an older number comes too late.
    for version, why in (
        ("9.9.10", "nothing below [Unreleased]"),
        ("9.9.9", "v9.9.9 is there already"),
        ("9.9.8", "below the latest release, 9.9.9"),
    ):
        refused = release(clone, version)
        assert refused.returncode == 1 and why in refused.stderr, refused.stderr


@pytest.mark.parametrize("version", ["1.2", "v1.2.3", "1.2.3rc1", "01.2.3", ""])
def test_what_is_no_version(clone: Path, version: str) -> None:
    refused = release(clone, version)
    assert refused.returncode == 1 and "not a version" in refused.stderr


def test_a_tree_with_changes(clone: Path) -> None:
    (clone / "README.md").write_text("changed")
    refused = release(clone, "9.9.9")
    assert refused.returncode == 1 and "not committed" in refused.stderr
    assert "9.9.9" not in (clone / "meson.build").read_text()
