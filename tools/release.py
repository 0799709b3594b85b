"""A release in one command: `make release VERSION=1.2.3` (docs/versioning.md says what the number means).

Checks, tests, writes the number and the date, builds the wheels and the source distribution into dist, commits, tags.
Nothing is committed unless all before it went well; nothing leaves this machine.
"""

from __future__ import annotations

import argparse
import datetime
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

NUMBER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
# Where the number stands; tests/deploy/test_recipes.py compares.
NUMBERED = {
    "meson.build": re.compile(r"^(  version: ')([^']*)(',)$", re.M),
    "deploy/spack/spack_repo/iolens/packages/iolens/package.py": re.compile(
        r'^(    version\(")([^"]*)("\))$', re.M
    ),
    "deploy/conda/recipe.yaml": re.compile(r'^(  version: ")([^"]*)(")$', re.M),
}
OPEN = "## [Unreleased]\n"


class Refused(Exception):
    """Why there is no release."""


def say(*command: str) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        why = done.stderr.strip() or str(done.returncode)
        raise Refused(f"{' '.join(command)}: {why.splitlines()[-1]}")
    return done.stdout


def order(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def unreleased(changelog: str) -> str:
    """What stands below [Unreleased]."""
    _, heading, after = changelog.partition(OPEN)
    if not heading:
        raise Refused("CHANGELOG.md: no section [Unreleased]")
    return re.split(r"^## ", after, maxsplit=1, flags=re.M)[0].strip()


def check(version: str) -> None:
    """Whether this tree can be that release."""
    if not NUMBER.fullmatch(version):
        raise Refused(f"{version}: not a version: three numbers, for instance 1.2.3")
    if say("git", "status", "--porcelain"):
        raise Refused("the tree has changes that are not committed: commit or stash them")
    tags = [tag[1:] for tag in say("git", "tag", "--list", "v*").split() if NUMBER.fullmatch(tag[1:])]
    if version in tags:
        raise Refused(f"v{version} is there already")
    if tags and order(version) < max(map(order, tags)):
        raise Refused(f"{version} is below the latest release, {max(tags, key=order)}")
    if not unreleased(Path("CHANGELOG.md").read_text()):
        raise Refused("CHANGELOG.md: nothing below [Unreleased]: what is new for users?")


def write(version: str, date: str) -> None:
    for name, line in NUMBERED.items():
        text, found = line.subn(rf"\g<1>{version}\g<3>", Path(name).read_text())
        if found != 1:
            raise Refused(f"{name}: no line with the version")
        Path(name).write_text(text)
    changelog = Path("CHANGELOG.md")
    changelog.write_text(
        changelog.read_text().replace(OPEN, f"{OPEN}\n## [{version}] - {date}\n", 1).replace("\n\n\n", "\n\n")
    )


def run(*command: str) -> Callable[[], None]:
    def step() -> None:
        if subprocess.run(command, check=False).returncode:
            raise Refused(f"{' '.join(command)} failed")

    return step


def steps(version: str, without: Sequence[str]) -> list[tuple[str, Callable[[], None]]]:
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    every = [
        ("tests", "all tests", run(".ci/run")),
        (
            "",
            f"{version} into meson.build and recipes, {version} - {date} into CHANGELOG.md",
            lambda: write(version, date),
        ),
        ("wheels", "wheels and source distribution into dist", run("make", "wheel", "sdist")),
        ("", "commit", run("git", "commit", "-qam", f"Release {version}")),
        ("", f"tag v{version}", run("git", "tag", "-a", f"v{version}", "-m", f"iolens {version}")),
    ]
    return [(text, step) for name, text, step in every if name not in without]


def main() -> int:
    parser = argparse.ArgumentParser(prog="make release", description=__doc__)
    parser.add_argument("version", help="three numbers: 1.2.3")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done")
    parser.add_argument("--without", action="append", default=[], choices=["tests", "wheels"])
    chosen = parser.parse_args()
    try:
        check(chosen.version)
        try:
            for text, step in steps(chosen.version, chosen.without):
                print(f"== {text}", flush=True)
                if not chosen.dry_run:
                    step()
        except Refused:
            say("git", "checkout", "--", *NUMBERED, "CHANGELOG.md")
            raise
    except Refused as refused:
        print(f"release: {refused}", file=sys.stderr)
        return 1
    if not chosen.dry_run:
        print(f"released here: git push origin HEAD v{chosen.version} makes it known")
    return 0


if __name__ == "__main__":
    sys.exit(main())
