"""Installs below a prefix by Meson, and removes exactly that again: `make install`, `make uninstall`.

A list with checksums stands next to the installed files, so removal needs no build folder: a file that has changed
since stays, and so does a directory with other files in it. An upgrade removes files that the new version lacks.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import sys
from functools import partial
from pathlib import Path

import command

LIST = "share/iolens/installed"
BUILD = Path("build-install")
ENTRY = re.compile(r"(file|link|folder) (\S+) (/.*)")

fail = partial(command.fail, "install")
run = partial(command.run, "install")


def checksum(path: Path) -> str:
    if path.is_symlink():
        return hashlib.sha256(str(path.readlink()).encode()).hexdigest()
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_list(listed: Path) -> dict[str, tuple[str, str]]:
    """Path, without DESTDIR -> kind and checksum."""
    if not listed.exists():
        return {}
    rows = [ENTRY.fullmatch(line) for line in listed.read_text().splitlines()]
    if None in rows:
        fail(f"{listed}: line {rows.index(None) + 1} is none of a list of installed files: it was changed")
    return {row[3]: (row[1], row[2]) for row in rows if row}


def compile_for(build: Path, prefix: Path, meson: str) -> None:
    settings = [f"--prefix={prefix}", "-Dtests=false"]
    # Meson keeps folders that followed from another prefix.
    if build.exists() and f"prefix={prefix}\n" not in (build / "for").read_text():
        shutil.rmtree(build)
    if build.exists():
        run(meson, "setup", "--reconfigure", build)
    else:
        run(meson, "setup", *settings, build)
        (build / "for").write_text(f"prefix={prefix}\n")
    run(meson, "compile", "-C", build)


def install(build: Path, prefix: Path, destdir: str, compiled: bool) -> None:
    meson = str(Path(sys.executable).parent / "meson")
    if not compiled:
        compile_for(build, prefix, meson)
    root = Path(f"{destdir}{prefix}")
    listed = root / LIST
    old = read_list(listed)
    run(meson, "install", "-C", build, "--no-rebuild", *(["--destdir", destdir] if destdir else []))
    new: dict[str, tuple[str, str]] = {path: row for path, row in old.items() if row[0] == "folder"}
    made = [
        line
        for line in (build / "meson-logs" / "install-log.txt").read_text().splitlines()
        if line[:1] == "/"
    ]
    for line in made:
        path, place = Path(line), line[len(destdir) :]
        if not place:  # DESTDIR itself
            continue
        if path.is_dir() and not path.is_symlink():
            new[place] = ("folder", "-")
        else:
            new[place] = ("link" if path.is_symlink() else "file", checksum(path))
    remove({path: row for path, row in old.items() if path not in new}, destdir)
    if not listed.parent.exists():
        listed.parent.mkdir(parents=True)
        new[str(prefix / LIST).rpartition("/")[0]] = ("folder", "-")
    listed.write_text("".join(f"{kind} {digest} {path}\n" for path, (kind, digest) in sorted(new.items())))
    print(
        f"installed below {root}: {sum(kind != 'folder' for kind, _ in new.values())} files, listed in {listed}"
    )


def remove_compiled(source: Path) -> None:
    """What Python has made of it, and the folder of that."""
    cache = source.parent / "__pycache__"
    for made in cache.glob(f"{source.stem}.*.pyc"):
        made.unlink()
    if cache.is_dir() and not any(cache.iterdir()):
        cache.rmdir()


def remove(rows: dict[str, tuple[str, str]], destdir: str) -> tuple[int, list[str]]:
    """How many files went, and what stays."""
    gone, kept = 0, []
    for place in sorted(rows, reverse=True):
        kind, known = rows[place]
        path = Path(f"{destdir}{place}")
        if kind == "folder":
            if path.is_dir() and not path.is_symlink() and not any(path.iterdir()):
                path.rmdir()
            elif path.exists():
                kept.append(f"{path}: not empty")
        elif path.is_symlink() or path.is_file():
            if path.is_symlink() != (kind == "link") or checksum(path) != known:
                kept.append(f"{path}: changed since")
                continue
            path.unlink()
            gone += 1
            if path.suffix == ".py":
                remove_compiled(path)
    return gone, kept


def uninstall(prefix: Path, destdir: str) -> None:
    listed = Path(f"{destdir}{prefix}") / LIST
    rows = read_list(listed)
    if not rows:
        fail(f"{listed}: not there: nothing was installed by make install below {prefix}, or give PREFIX")
    listed.unlink()
    gone, kept = remove(rows, destdir)
    print(f"{gone} files removed from {destdir}{prefix}")
    for line in kept:
        print(f"left: {line}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="make install", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--prefix", type=Path, default=Path("/usr/local"))
    parser.add_argument("--destdir", default="", help="a folder that stands for / while packages are made")
    parser.add_argument("--build", type=Path, help="a build that is there; else it is made in build-install")
    parser.add_argument("--uninstall", action="store_true")
    given = parser.parse_args()
    if not given.prefix.is_absolute():
        fail(f"{given.prefix}: a prefix begins with /")
    try:
        if given.uninstall:
            uninstall(given.prefix, given.destdir)
        else:
            install(given.build or BUILD, given.prefix, given.destdir, given.build is not None)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}: is it root's?")


if __name__ == "__main__":
    main()
