"""Debian packages of this state for this Debian, into dist: `make deb` (docs/decisions/0040-debian-packages.md).

The source is the last commit's. What Debian has not comes from the Python package index before the build, which then
needs no network: Meson from the environment that runs this, and the wheels of deploy/debian/requirements.txt.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tarfile
import tempfile
from email.utils import formatdate
from functools import partial
from pathlib import Path

import command

RULES = "deploy/debian"
# There is no mailbox and no list of bugs in Debian's archive: a site that builds the packages puts its own address in.
UNSUITED = "bogus-mail-host,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs"

run = partial(command.run, "deb")


def version() -> str:
    found = re.search(r"^  version: '([^']*)',$", Path("meson.build").read_text(), re.MULTILINE)
    if not found:
        command.fail("deb", "meson.build: no line with the version")
    return found[1]


def unpack(folder: Path) -> Path:
    """The last commit, with the packages' rules in their place."""
    archive, source = folder / "source.tar", folder / "iolens"
    run("git", "archive", "-o", archive, "HEAD")
    with tarfile.open(archive) as packed:
        packed.extractall(source)
    archive.unlink()
    shutil.copytree(source / RULES, source / "debian")
    return source


def changelog(debian: Path, number: str, epoch: str) -> None:
    (debian / "changelog").write_text(
        f"iolens ({number}) unstable; urgency=medium\n\n  * What is new: /usr/share/doc/iolens/changelog.gz\n\n"
        f" -- iolens maintainers <iolens@localhost>  {formatdate(int(epoch))}\n"
    )


def wheels(source: Path, python: str) -> None:
    """Those of the interpreter that the package is for, by the hashes that stand beside their versions."""
    form = run(python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
    pip = [sys.executable, "-m", "pip", "download", "-q", "--only-binary=:all:", "--python-version", form]
    listed = source / "debian" / "requirements.txt"
    run(*pip, "--require-hashes", "-r", listed, "-d", source / "debian" / "wheels")


def main() -> None:
    parser = argparse.ArgumentParser(prog="make deb", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--revision", default="1", help="what follows the version and a dash (1)")
    parser.add_argument("--to", type=Path, default=Path("dist"), help="where the packages go (dist)")
    given = parser.parse_args()
    given.to.mkdir(parents=True, exist_ok=True)
    epoch = command.epoch()
    with tempfile.TemporaryDirectory(prefix="iolens-deb-") as place:
        source = unpack(Path(place))
        changelog(source / "debian", f"{version()}-{given.revision}", epoch)
        wheels(source, "/usr/bin/python3")
        abi = Path(".venv/mpi/mpich5/include").resolve()
        build = ["dpkg-buildpackage", "-b", "-us", "-uc", "-d"]
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin:/usr/sbin:/sbin"
        run(
            *build,
            cwd=source,
            PATH=path,
            IOLENS_PYTHON=sys.executable,
            IOLENS_MPI_ABI=str(abi) if abi.is_dir() else "",
            SOURCE_DATE_EPOCH=epoch,
        )
        for package in sorted(Path(place).glob("*.deb")):
            if "-dbgsym_" not in package.name:
                print(shutil.copy(package, given.to / package.name))
        (changes,) = Path(place).glob("*.changes")
        shutil.copy(changes, given.to)
        print(run("lintian", "--fail-on", "error", "--suppress-tags", UNSUITED, changes), end="")


if __name__ == "__main__":
    main()
