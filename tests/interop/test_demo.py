"""The demo: HMMER's reading, as its own files and strace tell it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import straced
from observed import Observed

EXAMPLES = Path("/usr/share/doc/hmmer/examples")

pytestmark = pytest.mark.skipif(
    not (shutil.which("hmmscan") and EXAMPLES.is_dir()), reason="HMMER and its examples are not installed"
)


@pytest.fixture(scope="module")
def demo(
    root: Path, iolens: Path, preload: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """What it prints, and its directory."""
    place = tmp_path_factory.mktemp("demo")
    no_screen = dict.fromkeys(("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"), "")
    env = {**os.environ, **no_screen, "IOLENS": str(iolens), "IOLENS_PYTHON": sys.executable}
    done = subprocess.run(
        [root / "demo" / "hmmer.sh", place],
        env=env,
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout, place


def log(demo: tuple[str, Path], iolens: Path, name: str) -> Observed:
    return Observed(subprocess.CompletedProcess([], 0), demo[1] / f"{name}.darshan", iolens)


def count(path: Path, mark: str) -> int:
    return sum(line.startswith(mark) for line in path.read_text().splitlines())


def test_it_shows_the_summary_and_the_files_of_both(demo: tuple[str, Path]) -> None:
    text, place = demo
    assert text.count("\niolens: hmm") == 2
    assert text.count("  re-read    class  file\n") == 2
    assert text.count("  all files\n") == 2
    assert f"  {place}/profiles.hmm.h3f\n" in text
    assert max(map(len, text.partition("== Both")[0].splitlines())) <= 100 + len(str(place))


def test_it_ends_in_a_comparison_and_a_page(demo: tuple[str, Path]) -> None:
    text, place = demo
    both = text.partition("== Both")[2]
    assert re.search(r"read calls +[\d,]+ +[\d,]+ +-9\d\.\d %", both)
    assert f"\n{place}/scan.html\niolens: {place}/scan.html: not opened: there is no screen here" in both
    assert "hmmscan" in (place / "scan.html").read_text()


def test_its_numbers_are_those_of_the_files(demo: tuple[str, Path], iolens: Path) -> None:
    _, place = demo
    sequences, profiles = count(place / "sequences.fa", ">"), count(place / "profiles.hmm", "NAME")
    size = {path.name: path.stat().st_size for path in place.iterdir()}
    scan, search = log(demo, iolens, "scan"), log(demo, iolens, "search")

    def total(seen: Observed, counter: str, name: str) -> int:
        return seen.total("STDIO", counter, str(place / name))

    assert sequences > 300 and profiles == 9
    # hmmscan: the sequences once, the filters of all profiles for each, and an open for each.
    assert total(scan, "BYTES_READ", "sequences.fa") == size["sequences.fa"]
    read = total(scan, "BYTES_READ", "profiles.hmm.h3f")
    assert sequences <= read / size["profiles.hmm.h3f"] <= sequences + 1
    assert total(scan, "OPENS", "profiles.hmm.h3f") == sequences + 1
    # hmmsearch: the profiles once, the sequences for each of them.
    assert total(search, "BYTES_READ", "sequences.fa") == profiles * size["sequences.fa"]
    assert total(search, "SEEKS", "sequences.fa") == profiles - 1
    assert total(scan, "BYTES_WRITTEN", "scan.out") == size["scan.out"]
    assert total(search, "BYTES_WRITTEN", "search.out") == size["search.out"]


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
@pytest.mark.parametrize("program", ["hmmscan", "hmmsearch"])
def test_its_numbers_are_the_kernels(
    demo: tuple[str, Path], iolens: Path, tmp_path: Path, program: str
) -> None:
    """Streams: what was written is equal, what was read is what the program got and libc's read-ahead."""
    _, place = demo
    command = [program, "--noali", "-o", tmp_path / "out", place / "profiles.hmm", place / "sequences.fa"]
    line = [iolens, "run", "-q", "-o", tmp_path / "a.darshan", "--", *command]
    (tmp_path / "traces").mkdir()
    code, moved = straced.trace(line, tmp_path / "traces", cwd=tmp_path)
    assert code == 0
    seen = Observed(subprocess.CompletedProcess([], 0), tmp_path / "a.darshan", iolens)
    kernel: Mapping[tuple[str, str], int] = straced.by_path(moved)
    assert (
        seen.total("STDIO", "BYTES_WRITTEN", str(tmp_path / "out"))
        == kernel[str(tmp_path / "out"), "written"]
    )
    files = [name for name in seen.files("STDIO") if name.startswith(str(place))]
    assert files
    for name in files:
        got = seen.total("STDIO", "BYTES_READ", name)
        assert got <= kernel[name, "read"]
        if name.endswith("sequences.fa"):
            assert got == kernel[name, "read"]
    unseen = int(seen.sections["process"][0]["unseen_read"])
    ahead = sum(kernel[name, "read"] - seen.total("STDIO", "BYTES_READ", name) for name in files)
    assert 0 <= unseen - ahead < 8192  # libc reads some files of its own
