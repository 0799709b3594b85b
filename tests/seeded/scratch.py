"""A copy of the work tree with an environment and a build of its own, into which faults are put."""

from __future__ import annotations

import filecmp
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import places
from faults import Fault

__all__ = ["CampaignError", "Scratch"]

LARGEST_SCRIPT = 1 << 20  # bytes of a file of the environment that may name its folder


class CampaignError(Exception):
    """Nothing that a test has found: the campaign cannot go on, or not with this fault."""


def _git(tree: Path, *arguments: str | Path) -> str:
    done = subprocess.run(["git", "-C", tree, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CampaignError(f"git {' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return done.stdout


def _files(tree: Path) -> set[str]:
    """What git tracks or would add."""
    listed = _git(tree, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    return {name for name in listed if name and (tree / name).is_file()}


class Scratch:
    """The copy; kept between campaigns, so that each builds what has changed since."""

    def __init__(self, root: Path, tree: Path) -> None:
        self.root, self.tree = root, tree

    @property
    def environment(self) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith("IOLENS_")}
        own["PATH"] = f"{self.tree / '.venv' / 'bin'}:{own.get('PATH', '')}"
        return {**own, "IOLENS_CORPUS": str(places.CORPUS), "IOLENS_ORACLE": str(places.ORACLE)}

    def make(self) -> None:
        if not (self.tree / ".git").exists():
            _git(self.root, "clone", "-q", self.root, self.tree)
        _git(self.tree, "fetch", "-q", self.root, "HEAD")
        _git(self.tree, "reset", "-q", "FETCH_HEAD")
        self._copy_files()
        if not self._has_environment():
            self._copy_environment()

    def _copy_files(self) -> None:
        wanted = _files(self.root)
        for name in _files(self.tree) - wanted:
            (self.tree / name).unlink()
        for name in sorted(wanted):
            source, target = self.root / name, self.tree / name
            if target.is_file() and filecmp.cmp(source, target, shallow=False):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)

    def _has_environment(self) -> bool:
        """Is the copy whole, and were the same packages installed into the original?"""
        mine = self.tree / ".venv"
        lists = (self.root / ".venv").glob("have-*")
        return (mine / "home").exists() and all(
            (mine / one.name).exists() and filecmp.cmp(one, mine / one.name, shallow=False) for one in lists
        )

    def _copy_environment(self) -> None:
        """Scripts of a virtual environment hold its path."""
        if not (self.root / ".venv" / "have-test").exists():
            raise CampaignError("the packages of the tests are not installed: run ./bootstrap lint")
        copy = self.tree / ".venv"
        shutil.rmtree(copy, ignore_errors=True)
        subprocess.run(["cp", "-a", "--reflink=auto", self.root / ".venv", copy], check=True)
        (copy / "home").unlink()
        before, after = (str(place / ".venv").encode() for place in (self.root, self.tree))
        for path in copy.rglob("*"):
            if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST_SCRIPT:
                continue
            text = path.read_bytes()
            if before in text and b"\0" not in text:
                path.write_bytes(text.replace(before, after))
        (copy / "home").write_text(f"{self.tree}\n")  # last: without it the copy is not whole

    def build(self, output: Path) -> None:
        """Raises CampaignError: a fault that does not build is none that a test could find."""
        with output.open("wb") as out:
            done = subprocess.run(
                ["./bootstrap", "build"],
                cwd=self.tree,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if done.returncode:
            raise CampaignError(f"it does not build: see {output}")

    @contextmanager
    def holding(self, fault: Fault) -> Iterator[None]:
        """The fault is in the copy, until the block ends. Raises CampaignError where its text is not there once."""
        problem = fault.problem(self.tree)
        if problem:
            raise CampaignError(problem)
        path = self.tree / fault.file
        sound = path.read_text(encoding="utf-8")
        path.write_text(sound.replace(fault.old, fault.new), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(sound, encoding="utf-8")
