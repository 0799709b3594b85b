"""Every function of this libc is wrapped, or libc.toml says why not; the page on what is unseen says the same."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

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
    loaded = Path("/proc/self/maps").read_text()
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
        if name in row.get("later", "").split()
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
