"""Where ranks opened files: calls of one place are one, wherever the ranks have the program."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import shown
from mpi_job import Job
from mpis import FAMILIES, MPI, MPIS
from sites import files, opened, source_line

SOURCE = Path(__file__).resolve().parent / "programs" / "sites.c"


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("way", ["alone", "session"])
def test_ranks_that_come_from_the_same_call_are_one_row(
    job_of: Callable[[MPI], Job], tmp_path: Path, name: str, way: str
) -> None:
    job = job_of(MPIS[name])
    program = tmp_path / "program"
    subprocess.run([job.which.compiler(".c"), "-g", "-O1", SOURCE, "-o", program], check=True)
    ended = getattr(job, way)([*job.which.launcher(3), str(program)])
    assert ended.code == 0, ended.err
    text = job.show()
    want = {f"own{rank}": {"creator:creator"} for rank in range(3)}
    want["shared"] = {"creator:creator", "reader:reader"}
    assert files(text, "posix", want) == want
    assert files(text, "mpiio", ["together"]) == {"together": {"main:mpi"}}
    (below,) = opened(text)["posix", "together"]
    assert below.startswith(("libmpi", "mca_", "libmca"))  # opened by the MPI
    ranks = {
        source_line(row["module"], int(row["offset"])): int(row["ranks"])
        for row in shown.sections(text)["sites"]
        if row["interface"] == "posix" and row["module"] == str(program) and int(row["file"])
    }
    assert ranks == {"creator:creator": 1, "reader:reader": 2}
