"""The names of each MPI here against ours: what does I/O or completes it is wrapped, nothing else is offered."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from mpis import MPI, MPIS

# What must be seen of an MPI, under both of its names.
SEEN = re.compile(
    r"P?MPI_(File_(open|close|set_view|set_size|preallocate|sync|delete|seek\w*|i?(read|write)\w*)"
    r"|(Wait|Test)(|all|any|some)|Request_free|Init|Init_thread|Session_init|Session_finalize|Abort|Finalize)"
)
# What an MPI before 4 has not got, and we answer for it.
STANDS_IN = re.compile(r"P?MPI_(Session_(init|finalize)|File_i?(read|write)\w*_c)")


@cache
def names(library: Path) -> set[str]:
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True
    )
    symbols = {line.split()[-1].split("@")[0] for line in listed.stdout.splitlines()}
    return {symbol for symbol in symbols if re.match(r"P?MPI_[A-Z]+[a-z]", symbol)}


@pytest.mark.parametrize("mpi", MPIS.values(), ids=list(MPIS))
def test_every_name_is_wrapped_or_left_alone(preload: Path, mpi: MPI) -> None:
    ours, theirs = names(preload), names(mpi.library())
    assert len(ours) > 150
    assert {name for name in theirs if SEEN.fullmatch(name)} - ours == set()
    assert {name for name in ours - theirs if not STANDS_IN.fullmatch(name)} == set()
    assert {name for name in ours if not SEEN.fullmatch(name)} == set()
