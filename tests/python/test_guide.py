"""The guide's examples run as they are written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

for _name in ("pyarrow", "polars", "duckdb"):
    pytest.importorskip(_name, reason=f"{_name} is not installed")


def test_the_examples(
    root: Path,
    tmp_path: Path,
    small_log: bytes,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "logs" / "day").mkdir(parents=True)
    for place in ("job.darshan", "logs/a.darshan", "logs/day/b.darshan"):
        (tmp_path / place).write_bytes(small_log)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in re.findall(
        r"```python\n(.*?)```", (root / "docs" / "guide" / "python.md").read_text(), re.S
    ):
        exec(block, names)
    printed = capsys.readouterr().out
    assert (
        "/bin/program --with arguments 8" in printed and "bytes_read bytes bytes_read Bytes read." in printed
    )
    assert "/scratch/a" in printed and "bytes read: 10000" in printed
    assert len(names["jobs"]) == 2 and len(names["posix"]) == 10  # type: ignore[arg-type]
