"""What ranks have counted and not yet added to a record when MPI_Finalize comes is in the log."""

from __future__ import annotations

import pytest
from mpi_job import Job

SHARED, OWN, SIZE = 4321, 3333, 100  # as programs/runs.c


@pytest.mark.parametrize("way", ["alone", "session"])
@pytest.mark.parametrize("meeting", ["", "messages-apart"])
@pytest.mark.parametrize("times", ["exact", "always-sampled"])
def test_files_that_stay_open_are_counted_to_the_last_access(
    job: Job, times: str, meeting: str, way: str
) -> None:
    start = job.alone if way == "alone" else job.session
    ended = start(job.command(2, "runs"), IOLENS_TIMES=times, IOLENS_FINALIZE=meeting)
    assert (ended.code, ended.notes) == (0, []), ended.err
    own = {(f"own.{rank}", rank): OWN + rank for rank in range(2)}
    for name, common in (
        ("WRITES", 2 * SHARED),
        ("ACCESS1_COUNT", 2 * SHARED),
        ("STRIDE1_COUNT", 2 * SHARED - 2),
    ):
        wanted = {("shared", -1): common}
        wanted |= {
            file: {"WRITES": n, "ACCESS1_COUNT": 2 * n, "STRIDE1_COUNT": 0}[name] for file, n in own.items()
        }
        assert job.counters(name) == wanted
    assert job.counters("BYTES_READ") == {("shared", -1): 0} | {file: n * SIZE for file, n in own.items()}
    last = {file: n * SIZE - 1 for file, n in own.items()}
    assert job.counters("MAX_BYTE_WRITTEN") == {("shared", -1): 2 * SHARED * SIZE - 1} | last
    assert job.counters("SEQ_WRITES") == {
        ("shared", -1): 2 * SHARED - 1,  # the very first byte of the file is behind nothing
        **{file: n - 1 for file, n in own.items()},
    }
