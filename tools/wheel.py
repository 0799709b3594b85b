"""Wheels for every Linux of one C library, from whatever Linux this is: `make wheel` (docs/decisions/0028-wheels.md).

Zig brings headers and stubs of old glibcs, so that nothing that is linked asks for a newer function. zlib, libbz2
and libdeflate are built from this distribution's sources, static and hidden. auditwheel has the last word.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import stat
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from functools import partial
from pathlib import Path
from typing import NamedTuple

import command

MACHINE = platform.machine()
PYTHON = "cp39"  # python/ext has the limited API of 3.9
TARGETS = {
    # what pip calls them: what zig calls them
    f"manylinux_2_17_{MACHINE}": f"{MACHINE}-linux-gnu.2.17",
}


class Archive(NamedTuple):
    """A static library: the source package that it is in, its units, its headers."""

    package: str
    units: str
    headers: str


ARCHIVES = {
    "libz.a": Archive(
        "zlib",
        "adler32 compress crc32 deflate inffast inflate inftrees trees uncompr zutil",
        "zlib.h zconf.h",
    ),
    "libdeflate.a": Archive(
        "libdeflate",
        "lib/adler32 lib/deflate_compress lib/utils lib/zlib_compress lib/arm/cpu_features lib/x86/cpu_features",
        "libdeflate.h",
    ),
    "libbz2.a": Archive("bzip2", "blocksort huffman crctable randtable compress decompress bzlib", "bzlib.h"),
}
HIDDEN = "-O2 -g -fPIC -fvisibility=hidden -DHAVE_UNISTD_H -w".split()

# A machine without an MPI's header builds no back end for it, and says so in passing.
INSIDE = """
iolens/lib/libiolens.so
iolens/lib/libiolens-communication.so
iolens/lib/libiolens-ranges.so
iolens/lib/libiolens-mpi-mpich.so
iolens/lib/libiolens-mpi-openmpi.so
iolens/lib/libiolens-mpi-abi.so
iolens/log/_native.abi3.so
scripts/iolens
""".split()


fail = partial(command.fail, "wheel")
run = partial(command.run, "wheel")


def fetch(folder: Path) -> None:
    """Source packages by apt, which checks them; this machine's own lists stay as they are."""
    if not shutil.which("apt-get"):
        fail(
            "no apt-get here: put the releases of zlib, bzip2 and libdeflate into a folder and name it with --sources"
        )
    for name in ("apt", "lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    for file in [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]:
        if file.suffix in {".list", ".sources"} and file.exists():
            text = re.sub(r"^(Types: )?deb\b(?!-)", r"\1deb-src", file.read_text(), flags=re.MULTILINE)
            (folder / "apt" / file.name).write_text(text)
    places = {
        "Etc::SourceList": "/dev/null",
        "Etc::SourceParts": folder / "apt",
        "State::Lists": folder / "lists",
        "Cache": folder / "cache",
    }
    options = ["-oAPT::Sandbox::User=", *(f"-oDir::{name}={place}" for name, place in places.items())]
    run("apt-get", "-qq", *options, "update")
    packages = [archive.package for archive in ARCHIVES.values()]
    run("apt-get", "-qq", *options, "source", "--download-only", *packages, cwd=folder)


def unpack(sources: Path, package: str, to: Path) -> Path:
    releases = [
        f for f in sources.glob(f"{package}[-_]*.tar.*") if not re.search(r"\.debian\.|\.asc$", f.name)
    ]
    if len(releases) != 1:
        fail(f"{sources} has {len(releases)} releases of {package}, not one")
    with tarfile.open(releases[0]) as archive:
        archive.extractall(to / package)
    return next((to / package).iterdir())


def tool(path: Path, *words: str) -> str:
    """One word for what is several: Meson and pip take no command with options everywhere."""
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -m ziglang {" ".join(words)} "$@"\n')
    path.chmod(0o755)
    return str(path)


def prefix(zig: str, sources: Path, folder: Path) -> dict[str, str]:
    """The compiler of one target and the libraries that wheels hold; as variables for the build."""
    cc, ar = tool(folder / "cc", "cc", "-target", zig), tool(folder / "ar", "ar")
    for place in ("include", "lib"):
        (folder / place).mkdir()
    for name, archive in ARCHIVES.items():
        source = unpack(sources, archive.package, folder)
        objects = [folder / f"{archive.package}-{unit.replace('/', '-')}.o" for unit in archive.units.split()]
        for unit, made in zip(archive.units.split(), objects):
            run(cc, *HIDDEN, f"-I{source}", "-c", source / f"{unit}.c", "-o", made)
        run(ar, "rcs", folder / "lib" / name, *objects)
        for header in archive.headers.split():
            shutil.copy(source / header, folder / "include")
    # Debian's Python.h includes a pyconfig.h below /usr/include, where this machine's libc has its headers, too.
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    if (Path("/usr/include") / multiarch).is_dir():
        (folder / "include" / multiarch).mkdir(exist_ok=True)
        for python in (Path("/usr/include") / multiarch).glob("python3*"):
            (folder / "include" / multiarch / python.name).symlink_to(python)
    flags = f"-I{folder}/include -Wno-macro-redefined -Wno-gnu-variable-sized-type-not-at-end"
    return {"CC": cc, "AR": ar, "CFLAGS": flags, "LDFLAGS": "-s"}


def build(name: str, sources: Path, folder: Path, to: Path) -> Path:
    variables = prefix(TARGETS[name], sources, folder)
    # libbpf is this machine's alone: a wheel has no iolens-kernel.
    options = [f"-Dcompressors={folder}/lib", "-Dkernel=disabled"]
    settings = [*(f"-Csetup-args={option}" for option in options), f"-Cbuild-dir={folder}/build"]
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", str(folder)]
    run(*pip, *settings, ".", cwd=None, **variables)
    python = [sys.executable, "-m"]
    run(*python, "wheel", "tags", "--python-tag", PYTHON, "--remove", *folder.glob("*.whl"))
    run(*python, "auditwheel", "repair", "--plat", name, "--only-plat", "-w", to, *folder.glob("*.whl"))
    return next(to.glob(f"*{name}.whl"))


def settle(wheel: Path) -> None:
    """Modes as they would be under any umask: those of a checkout are its owner's."""
    with zipfile.ZipFile(wheel) as archive:
        members = [(member, archive.read(member)) for member in archive.infolist()]
    with zipfile.ZipFile(wheel, "w") as archive:
        for member, content in members:
            kind = stat.S_IFDIR if member.is_dir() else stat.S_IFREG
            runs = member.is_dir() or member.external_attr >> 16 & stat.S_IXUSR
            member.external_attr = (kind | (0o755 if runs else 0o644)) << 16
            archive.writestr(member, content)


def check(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    missing = [wanted for wanted in INSIDE if not any(name.endswith(wanted) for name in names)]
    if missing:
        fail(
            f"{wheel.name} has no {', '.join(missing)}: is there an mpi.h of MPICH, of Open MPI, an mpi_abi.h?"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; all of them")
    parser.add_argument(
        "--sources", type=Path, help="a folder with the releases of zlib, bzip2 and libdeflate"
    )
    parser.add_argument("--to", type=Path, default=Path("dist"), help="where the wheels go (dist)")
    given = parser.parse_args()
    given.to.mkdir(parents=True, exist_ok=True)
    # The same sources give the same bytes: times in the archive are the commit's, where there is one.
    if epoch := command.epoch():
        os.environ["SOURCE_DATE_EPOCH"] = epoch
    with tempfile.TemporaryDirectory(prefix="iolens-wheel-") as place:
        sources = given.sources or Path(place) / "sources"
        if not given.sources:
            sources.mkdir()
            fetch(sources)
        for name in given.targets or TARGETS:
            if name not in TARGETS:
                fail(f"no target {name}: there is {', '.join(TARGETS)}")
            folder = Path(place) / name
            folder.mkdir()
            wheel = build(name, sources, folder, given.to)
            settle(wheel)
            check(wheel)
            print(wheel)


if __name__ == "__main__":
    main()
