"""Processes that together get no more memory than so much: a cgroup, where the machine lets one make it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def memory_group(limit: int) -> Iterator[Path]:
    """The file that a process writes its id to, to be in the group; skips where there can be none."""
    group, name = Path("/sys/fs/cgroup/memory") / f"iolens-test-{os.getpid()}", "memory.limit_in_bytes"
    if not group.parent.is_dir():
        group, name = Path("/sys/fs/cgroup") / group.name, "memory.max"
    try:
        group.mkdir()
        (group / name).write_text(str(limit))
    except OSError as error:
        with contextlib.suppress(OSError):
            group.rmdir()
        pytest.skip(f"no memory cgroup here: {error}")
    members = group / "cgroup.procs"
    try:
        yield members
    finally:
        while members.read_text():  # killed, and not gone yet
            time.sleep(0.01)
        group.rmdir()
