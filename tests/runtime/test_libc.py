"""
Every function of this libc is wrapped, or libc.toml says why not; the page on what is unseen says the same.
TESTS_LIBC=/folder/with/libc.so.6 asks about another libc than the one that runs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from observed import Observe

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "guide" / "seen-and-unseen.md"
TABLE = tomllib.loads((HERE / "libc.toml").read_text())
# Since glibc 2.34 all are in libc.so.6.
LIBRARIES = ("libc.so.6", "libpthread.so.0", "librt.so.1", "libutil.so.1")


def functions(library: Path | str) -> dict[str, str]:
    """Address by name of what it exports to programs."""
    done = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True)
    rows = (line.split() for line in done.stdout.splitlines() if "GLIBC_PRIVATE" not in line)
    return {name.split("@")[0]: at for at, kind, name in rows if kind in "TWi"}


@pytest.fixture(scope="module")
def libc() -> dict[str, str]:
    loaded = (
        f"{os.environ['TESTS_LIBC']}/libc.so.6"
        if "TESTS_LIBC" in os.environ
        else Path("/proc/self/maps").read_text()
    )
    (folder,) = {Path(path).parent for path in re.findall(r"(/\S+/libc\.so\.6)$", loaded, re.MULTILINE)}
    found: dict[str, str] = {}
    for name in LIBRARIES:
        if (folder / name).exists():
            found.update({f: f"{name} {at} {folder / name}" for f, at in functions(folder / name).items()})
    return found


# Up to this version of glibc patterns stand for functions; a function that came later must be named.
READ = (2, 36)


def came(libc: dict[str, str]) -> dict[str, tuple[int, ...]]:
    """The version of glibc that each function came with."""
    found: dict[str, tuple[int, ...]] = {}
    for name in {told.split()[2] for told in libc.values()}:
        done = subprocess.run(
            ["nm", "-D", "--defined-only", name], check=True, capture_output=True, text=True
        )
        for symbol, version in re.findall(r" (\S+?)@@?GLIBC_(2[.\d]+)$", done.stdout, re.MULTILINE):
            number = tuple(map(int, version.split(".")))
            found[symbol] = min(number, found.get(symbol, number))
    return found


def reasons(name: str, since: tuple[int, ...] = (2,)) -> list[str]:
    return [
        reason
        for reason, row in TABLE.items()
        if any(re.fullmatch(pattern, name) for pattern in row.get("later", "").split())
        or (since[:2] <= READ and any(re.fullmatch(pattern, name) for pattern in row["patterns"].split()))
    ]


def test_every_function_is_wrapped_or_has_its_reason(libc: dict[str, str], preload: Path) -> None:
    wrapped = functions(preload)
    assert len(libc) > 1500
    since = came(libc)
    assert since["strlen"] == (2, 2, 5) and since["arc4random"] == (2, 36)
    assert sorted(name for name in libc if name not in wrapped and not reasons(name, since[name])) == []


def test_a_later_function_needs_a_row_of_its_own() -> None:
    """No pattern takes it in, however harmless its name looks."""
    assert (reasons("strnew", (2, 17)), reasons("strnew", (2, 99))) == (["computes"], [])
    assert reasons("strlcpy", (2, 38)) == ["computes"]
    assert reasons("stdc_leading_zeros_ull", (2, 39)) == ["computes"]
    assert reasons("stdc_load8", (2, 99)) == []


def test_other_names_of_a_wrapped_function_are_wrapped(libc: dict[str, str], preload: Path) -> None:
    wrapped = functions(preload)
    names = defaultdict(set)
    for name, at in libc.items():
        names[at].add(name)
    missing = {
        name
        for same in names.values()
        for name in same - wrapped.keys()
        if same & wrapped.keys() and reasons(name) != ["other_name"]
    }
    # A child of vfork and clone is noted, a wait is not: their other names do no I/O.
    assert missing <= {"__clone", "__vfork", "__wait", "__waitpid"}


def test_the_page_says_what_is_unseen() -> None:
    page = " ".join(PAGE.read_text().split())
    assert [row["shown"] for row in TABLE.values() if row.get("shown", "") not in page] == []


# What glibc has from 2.43 on, here in a library of its own; the call bypasses the wrapper of syscall().
OPENAT2 = r"""
#include <errno.h>
#include <stddef.h>
int openat2(int dir, const char *path, const void *how, size_t size)
{
	long result = dir;
	register size_t fourth __asm__("r10") = size;
	__asm__ volatile("syscall" : "=a"(result) : "a"(437L), "D"(result), "S"(path), "d"(how), "r"(fourth)
		: "rcx", "r11", "memory");
	if (result < 0)
		errno = (int)-result;
	return result < 0 ? -1 : (int)result;
}
"""

BY_OPENAT2 = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>
int openat2(int dir, const char *path, const struct open_how *how, size_t size);
static int use(int dir, const char *path, unsigned long long flags, unsigned long long resolve, int times)
{
	struct open_how how = {.flags = flags, .mode = flags & O_CREAT ? 0640 : 0, .resolve = resolve};
	int fd = openat2(dir, path, &how, sizeof how);
	for (int i = 0; i < times; i++)
		if (write(fd, "0123456789", 10) != 10)
			return -1;
	return fd < 0 ? -1 : close(fd);
}
int main(void)
{
	mkdir("root", 0700);
	int dir = open("root", O_RDONLY | O_DIRECTORY);
	return use(AT_FDCWD, "made", O_WRONLY | O_CREAT, 0, 3) || use(AT_FDCWD, "made", O_WRONLY | O_APPEND, 0, 1) ||
		use(dir, "below", O_WRONLY | O_CREAT, RESOLVE_BENEATH, 2) ||
		use(dir, "/inside", O_WRONLY | O_CREAT, RESOLVE_IN_ROOT, 5) ||
		use(dir, "/made", O_WRONLY, RESOLVE_IN_ROOT, 0) != -1 || openat2(AT_FDCWD, "x", (void *)1, 24) != -1;
}
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the library's call is x86-64's")
def test_openat2_of_libc_opens_files(observe: Observe, tmp_path: Path) -> None:
    """Below a root of its own, an absolute path is the file there, and none of the machine."""
    for name, text in (("libnewer.c", OPENAT2), ("program.c", BY_OPENAT2)):
        (tmp_path / name).write_text(text)
    library = ["cc", "-shared", "-fPIC", "-o", "libnewer.so", "libnewer.c"]
    subprocess.run(library, cwd=tmp_path, check=True)
    program = ["cc", "-o", "program", "program.c", "./libnewer.so"]
    subprocess.run(program, cwd=tmp_path, check=True)
    seen = observe(["./program"], cwd=tmp_path)
    assert seen.done.returncode == 0
    files = {"made": (2, 40, 0o640), "root/below": (1, 20, 0o640), "root/inside": (1, 50, 0)}
    assert seen.files("POSIX") == {f"{tmp_path}/{name}" for name in ("root", *files)}
    for name, (opens, written, mode) in files.items():
        record = seen.records["POSIX", f"{tmp_path}/{name}", 0]
        assert (record["POSIX_OPENS"], record["POSIX_BYTES_WRITTEN"]) == (str(opens), str(written))
        assert record["POSIX_MODE"] == str(mode)
    assert seen.records["POSIX", f"{tmp_path}/made", 0]["POSIX_MAX_BYTE_WRITTEN"] == "39"
    (row,) = [r for r in seen.sections["operation"] if (r["interface"], r["name"]) == ("posix", "open")]
    assert (int(row["count"]), int(row["errors"])) == (7, 2)
    assert not [row for row in seen.sections["operation"] if row["name"] == "raw_open"]
