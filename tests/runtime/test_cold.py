"""The first job on a node: what programs are made of comes from storage, and the summary says so."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from observed import Observe

DROP = Path("/proc/sys/vm/drop_caches")

pytestmark = pytest.mark.skipif(not os.access(DROP, os.W_OK), reason="only root empties the page cache")


@pytest.fixture
def cold(observe: Observe, tmp_path: Path) -> Any:
    def run(*command: Any) -> tuple[str, int]:
        """The summary as one line, and what the first process read from storage."""
        os.sync()
        DROP.write_text("3")
        seen = observe(command, cwd=tmp_path, options=())
        assert seen.done.returncode == 0
        read = int(seen.sections["process"][0]["storage_read"])
        if read < 1 << 20:
            pytest.skip("programs are in memory here")
        return " ".join(seen.done.stderr.decode().split()), read

    return run


def blamed(text: str) -> str:
    """What the verdict says. On a busy node, a process that was loaded waited for processors as well."""
    verdict = text.partition(" verdict ")[2]
    for wrong in ("not known", "timer", "of what moved"):
        assert wrong not in text
    return verdict


def test_a_short_program(cold: Any) -> None:
    """Most of it is loaded before iolens runs in it."""
    text, read = cold("/usr/bin/git", "--version")
    assert re.search(
        r" paged in \d\S* MiB of programs, libraries and mapped files from storage, about ", text
    )
    assert read < 64 << 20
    assert "page faults, about" in blamed(text) or "the program waited while others used it" in text


def test_python_with_packages(cold: Any, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"x" * 100)
    text, read = cold(sys.executable, "-c", "import duckdb; open('data', 'rb').read()")
    blamed(text)
    assert re.search(r" paged in [\d.]+ MiB of programs, libraries and mapped files", text)
    found = re.search(
        r" start-up before its first data the program spent ([\d.]+) (\w+) of [\d.]+ \w+: ", text
    )
    assert found and read > 10 << 20
    assert re.search(r"[\d.]+ MiB of programs and libraries from storage", text)
