"""Every C test that the build knows (`meson test`) is one pytest test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from places import BUILD


def registered() -> list[Any]:
    table = BUILD / "meson-info" / "intro-tests.json"
    return json.loads(table.read_text()) if table.exists() else []


@pytest.mark.parametrize("test", registered(), ids=lambda test: test["name"])
def test_unit(test: dict[str, Any], build_dir: Path) -> None:
    done = subprocess.run(
        test["cmd"],
        check=False,
        cwd=test["workdir"] or build_dir,
        env={**os.environ, **test["env"]},
        timeout=test["timeout"] or None,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    sys.stdout.write(done.stdout)
    if done.returncode == 77:  # as for `meson test`
        pytest.skip(done.stdout.strip() or "skipped itself")
    assert done.returncode == 0
