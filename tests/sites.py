"""Where a log says that files were opened, by the programs' debug information."""

from __future__ import annotations

import platform
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import shown

HEAD = """\
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMED(name) __attribute__((noinline)) static int name(const char *path)
"""
LOW = (1 << 40) - 1

# What says that a process has no threads: before it a forked child cannot know, and walks no list of the linker's.
KNOWS_THREADS = tuple(map(int, platform.libc_ver()[1].split("."))) >= (2, 32)


def source_line(module: str, offset: int) -> str:
    """function:what the line says behind LINE:, of the call that returns to the offset."""
    if not Path(module).is_file():
        return Path(module).name
    command = ["addr2line", "-f", "-e", module, hex(offset - 1)]
    function, place = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")[
        :2
    ]
    file, _, line = place.partition(":")
    if not Path(file).is_file():
        return f"{Path(module).name}:{function}"
    text = Path(file).read_text().splitlines()[int(re.match(r"\d+", line)[0]) - 1]
    named = re.search(r"LINE: (\w+)", text)
    return f"{function}:{named[1]}" if named else function


def opened(text: str) -> dict[tuple[str, str], set[str]]:
    """(interface, file) -> where it was opened; the empty text is unknown."""
    rows = shown.sections(text).get("sites", [])
    sites: dict[tuple[str, int], set[str]] = {}
    for row in rows:
        at = source_line(row["module"], int(row["offset"])) if row["module"] else ""
        sites.setdefault((row["interface"], int(row["file"])), set()).add(at)
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            module, _, record, _, _, name = line.split("\t")[:6]
            interface = module.replace("-", "").lower()
            usual = sites.get((interface, 0), {""})
            at = sites.get((interface, int(record) & LOW), usual)
            found[interface, Path(name).name] = at
    return found


def files(text: str, interface: str, names: Iterable[str]) -> dict[str, set[str]]:
    found = opened(text)
    return {name: found[interface, name] for name in names}


def build(folder: Path, name: str, source: str, *options: str, compiler: str = "cc") -> Path:
    """Source to a program or, by its name, a library; what is behind `LINE:` in it is a line's name."""
    path = folder / (name + ".c")
    path.write_text(HEAD + source)
    shared = ["-shared", "-fPIC"] if name.endswith(".so") else []
    flags = ["-g", "-O1", "-D_GNU_SOURCE", "-pthread", "-fno-optimize-sibling-calls", *shared]
    subprocess.run([compiler, *flags, *options, "-o", folder / name, path, "-ldl"], check=True)
    return folder / name
