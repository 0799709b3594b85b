"""Where an MPI puts its own code in the place of libc's functions, the program's calls are counted all the same."""

from __future__ import annotations

import pytest
import shown
from mpi_job import Job
from mpis import every_mpi


@every_mpi
@pytest.mark.parametrize("way", ["session", "alone"])
def test_mapped_files_and_flushed_output(job: Job, way: str) -> None:
    ended = getattr(job, way)(job.command(2, "mapped"))
    assert ended.code == 0, ended.err
    mapped = {key: n for key, n in job.counters("MMAPS").items() if n}
    assert mapped == {("mapped.0", 0): 2, ("mapped.1", 1): 2}
    done = shown.sections(job.show())["operation"]
    flushes = sum(int(row["count"]) for row in done if (row["interface"], row["name"]) == ("stdio", "flush"))
    assert flushes >= 2  # some MPIs flush, too
