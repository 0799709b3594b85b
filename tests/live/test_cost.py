"""What is looked at does not notice: it executes what it executes without."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import threading
from pathlib import Path

import pytest


@pytest.mark.skipif(not shutil.which("valgrind"), reason="no valgrind")
def test_no_instruction_is_added(root: Path, iolens: Path, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("bench_top", root / "bench" / "top" / "run.py")
    assert spec is not None and spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    (tmp_path / "stores").mkdir()
    loop = root / "bench" / "top" / "loop.c"
    subprocess.run(["cc", "-O1", "-o", tmp_path / "loop", loop], check=True)
    alone = bench.instructions(tmp_path)
    metrics, over = tmp_path / "metrics", threading.Event()
    looks = []

    def watch() -> None:
        while not over.wait(0.05):
            looks.append(metrics.exists() and "iolens_live_writes_total" in metrics.read_text())

    watcher = threading.Thread(target=watch)
    watcher.start()
    with bench.looked_at(tmp_path, 0.1):
        seen = bench.instructions(tmp_path)
    over.set()
    watcher.join()
    assert any(looks)
    assert abs(seen - alone) < bench.CLOCK and alone > bench.FORWARDED
