"""A file of a lake that is damaged: each command says which, in one line, and exits 3."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from here import run_here
from small_lake import small_lake

pytest.importorskip("deltalake")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_lake(tmp_path_factory)


@pytest.mark.parametrize(
    "words", [("compact",), ("top", "users"), ("retention", "--jobs", "2026-11-03"), ("screen",)]
)
def test_a_damaged_file_is_named(words: tuple[str, ...], whole: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(whole, lake)
    for table in ("job", "metric"):
        for file in (lake / table).rglob("day=*/*.parquet"):
            file.write_bytes(file.read_bytes()[:100])
    done = run_here("fleet", *words, "--lake", lake)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("iolens: a file of the lake cannot be read: ") and ".parquet" in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
