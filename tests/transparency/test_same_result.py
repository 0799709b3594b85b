"""With and without `iolens run`: the same output, files, exit code."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from observed import Observe
from workloads import WORKLOADS, command_in, missing

# Times, and what depends on them; the kernel's and git's own names.
VARYING = {".git/index", ".git/logs/HEAD", ".git/logs/refs/heads/main", ".git/logs/refs/remotes/origin/HEAD"}


def left(place: Path) -> dict[str, tuple[int, object]]:
    """Every file below: its mode, and its content."""
    found: dict[str, tuple[int, object]] = {}
    for path in sorted(place.rglob("*")):
        name, mode = str(path.relative_to(place)), path.lstat().st_mode
        content: object = None
        if stat.S_ISLNK(mode):
            content = path.readlink()
        elif stat.S_ISREG(mode) and not any(name.endswith(end) for end in VARYING):
            content = path.read_bytes()
        found[name] = mode, content
    return found


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_same_result(observe: Observe, tmp_path: Path, name: str) -> None:
    workload = WORKLOADS[name]
    if missing(workload):
        pytest.skip(f"not installed: {', '.join(missing(workload))}")
    # The same path for both, because it may get into what they leave.
    place = tmp_path / "place"
    results = []
    for observed in (False, True):
        place.mkdir()
        command = command_in(workload, place)
        env = {"HOME": str(tmp_path)}
        if observed:
            done = observe(command, cwd=place, env=env).done
        else:
            settings = {"capture_output": True, "stdin": subprocess.DEVNULL}
            done = subprocess.run(command, check=False, cwd=place, env={**os.environ, **env}, **settings)
        results.append((done.returncode, done.stdout, done.stderr, left(place)))
        place.rename(tmp_path / f"place {observed}")
    plain, seen = results
    assert plain[0] == seen[0] == workload.code
    assert plain[1:3] == seen[1:3]
    assert plain[3].keys() == seen[3].keys()
    assert [file for file in plain[3] if plain[3][file] != seen[3][file]] == []
