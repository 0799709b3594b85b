"""Handles that threads open and close at once, what is no handle or pointer, and how shared files are recorded."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
import shown
from mpis import FAMILIES, MPI, MPIS

PROGRAMS = Path(__file__).resolve().parent / "programs"
DEBIANS = [pytest.param(MPIS[name], id=name) for name in FAMILIES]

# 4 threads, each opens, writes and closes files of its own. Under Open MPI 4, which hangs when threads open
# files at once, one thread opens at a time.
CLOSING = """
#include <pthread.h>
#include "must.h"

enum { THREADS = 4, FILES = 100 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *argument)
{
	char name[64];
	for (int i = 0; i < FILES; i++) {
		MPI_File own;
		snprintf(name, sizeof name, "own.%d.%ld.%d", rank, (long)argument, i);
		pthread_mutex_lock(&lock);
		MUST(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &own));
		pthread_mutex_unlock(&lock);
		MUST(MPI_File_write_at(own, 0, name, 10, MPI_CHAR, MPI_STATUS_IGNORE));
		MUST(MPI_File_close(&own));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	int level;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	MPI_Finalize();
	return 0;
}
"""

# One call with something that is none, after errors were made codes; says the class of the code.
NOTHING = """
#include "must.h"

int main(int argc, char **argv)
{
	int which = atoi(argv[1]), code = 0, class = 0, done = 7, index = 0;
	char data[8] = "";
	MPI_Request request = MPI_REQUEST_NULL;
	MPI_File none = MPI_FILE_NULL;
	start(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	open_shared("shared", MPI_INFO_NULL);
	/* Something is under way, so that Wait and Test calls are looked at. */
	MPI_Request pending;
	MUST(MPI_File_iwrite_at(file, 0, data, 8, MPI_CHAR, &pending));
	switch (which) {
	case 0: code = MPI_File_close(NULL); break;
	case 1: code = MPI_File_close(&none); break;
	case 2: code = MPI_File_open(MPI_COMM_SELF, "own", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, NULL); break;
	case 3: code = MPI_File_open(MPI_COMM_SELF, NULL, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &none); break;
	case 4: code = MPI_File_open(MPI_COMM_NULL, "own", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &none); break;
	case 5: code = MPI_File_write_at(none, 0, data, 1, MPI_CHAR, MPI_STATUS_IGNORE); break;
	case 6: code = MPI_File_write_at(file, 0, data, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE); break;
	case 7: code = MPI_File_write_at(file, 0, data, -1, MPI_CHAR, MPI_STATUS_IGNORE); break;
	case 8: code = MPI_File_iwrite_at(file, 0, data, 1, MPI_CHAR, NULL); break;
	case 9: code = MPI_Wait(NULL, MPI_STATUS_IGNORE); break;
	case 10: code = MPI_Waitall(1, NULL, MPI_STATUSES_IGNORE); break;
	case 11: code = MPI_Waitall(-1, &request, MPI_STATUSES_IGNORE); break;
	case 12: code = MPI_Waitsome(1, &pending, NULL, NULL, MPI_STATUSES_IGNORE); break;
	case 13: code = MPI_Testsome(1, &pending, &done, NULL, MPI_STATUSES_IGNORE); break;
	case 14: code = MPI_Test(&pending, NULL, MPI_STATUS_IGNORE); break;
	case 15: code = MPI_Waitany(1, &pending, NULL, MPI_STATUS_IGNORE); break;
	case 16: code = MPI_Request_free(NULL); break;
	case 17: code = MPI_File_set_view(none, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL); break;
	case 18: code = MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, NULL, MPI_INFO_NULL); break;
	case 19: code = MPI_File_read_all_end(file, NULL, MPI_STATUS_IGNORE); break;
	case 20: code = MPI_File_delete(NULL, MPI_INFO_NULL); break;
	case 21: code = MPI_File_sync(none); break;
	case 22: code = MPI_Waitany(0, NULL, &index, MPI_STATUS_IGNORE); break;
	}
	MPI_Error_class(code, &class);
	printf("%d\\n", class);
	fflush(stdout);
	_exit(0);
}
"""

CALLS = 23


@dataclass
class Place:
    """Where programs are built and run."""

    iolens: Path
    directory: Path
    cwd: Path

    def build(self, mpi: MPI, source: str) -> Path:
        mpi.require()
        text, program = self.directory / "source.c", self.directory / "program"
        text.write_text("#include <unistd.h>\n" + source)
        made = [mpi.compiler(".c"), "-O1", "-w", f"-I{PROGRAMS}", "-o", program, text, "-lpthread"]
        subprocess.run(made, check=True)
        return program

    def observe(
        self, mpi: MPI, ranks: int, *program: str | Path, **environment: str
    ) -> dict[tuple[str, str, int], shown.Row]:
        """The records of a job's log."""
        log = self.directory / "log.darshan"
        command = [self.iolens, "run", "--quiet", "-o", log, "--", *mpi.launcher(ranks), *program]
        settings = {**os.environ, **mpi.environment, **environment}
        subprocess.run(command, cwd=self.cwd, env=settings, check=True, timeout=120)
        text = [self.iolens, "show", "--base", log]
        return shown.records(subprocess.run(text, capture_output=True, text=True, check=True).stdout)


@pytest.fixture
def place(iolens: Path, preload: Path, tmp_path: Path) -> Place:
    (tmp_path / "cwd").mkdir()
    return Place(iolens, tmp_path, tmp_path / "cwd")


@pytest.mark.parametrize("mpi", DEBIANS)
def test_a_close_is_stamped_on_the_file_that_was_closed(place: Place, mpi: MPI) -> None:
    found = place.observe(mpi, 4, place.build(mpi, CLOSING))
    records = [r for (module, _, _), r in found.items() if module == "MPI-IO"]
    assert len(records) == 4 * 4 * 100
    assert not [r for r in records if float(r["MPIIO_F_CLOSE_START_TIMESTAMP"]) == 0]
    early = [
        r
        for r in records
        if float(r["MPIIO_F_CLOSE_START_TIMESTAMP"]) < float(r["MPIIO_F_WRITE_END_TIMESTAMP"])
    ]
    assert not early


@pytest.mark.parametrize("mpi", DEBIANS)
def test_what_is_no_handle_or_pointer_ends_as_without_iolens(place: Place, mpi: MPI) -> None:
    program = place.build(mpi, NOTHING)

    def ends(call: int, *before: str | Path) -> tuple[int, str]:
        cwd = place.cwd / f"{call}-{len(before)}"
        cwd.mkdir()
        done = subprocess.run(
            [*before, program, str(call)],
            cwd=cwd,
            env={**os.environ, **mpi.environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        return done.returncode if done.returncode >= 0 else 128 - done.returncode, done.stdout

    def both(call: int) -> tuple[tuple[int, str], tuple[int, str]]:
        log = place.directory / f"{call}.darshan"
        return ends(call), ends(call, place.iolens, "run", "--quiet", "-o", log, "--")

    with ThreadPoolExecutor(4) as several:  # Open MPI sleeps for most of the time that it takes to start
        found = list(several.map(both, range(CALLS)))
    differ = [(call, pair) for call, pair in enumerate(found) if pair[0] != pair[1]]
    assert not differ


OPENING = """
#include "must.h"

int main(int argc, char **argv)
{
	start(&argc, &argv);
	open_shared(argv[1], MPI_INFO_NULL);
	MUST(MPI_File_write_at(file, rank, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE));
	MUST(MPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
"""


@pytest.mark.parametrize(
    ("name", "io", "stripped"),
    [("mpich", "", True), ("openmpi", "", False), ("openmpi", "romio321", True)],
)
def test_a_prefix_counts_as_the_mpi_that_runs_takes_it(
    place: Place, name: str, io: str, stripped: bool
) -> None:
    """Also where there is a file of the other name."""
    for leftover in ("ufs:shared", "shared"):
        (place.cwd / leftover).touch()
    program = place.build(MPIS[name], OPENING)
    found = place.observe(MPIS[name], 2, program, "ufs:shared", **({"OMPI_MCA_io": io} if io else {}))
    names = {file for (module, file, _) in found if module == "MPI-IO"}
    assert names == {str(place.cwd / ("shared" if stripped else "ufs:shared"))}


@pytest.mark.parametrize("mpi", DEBIANS)
def test_a_shared_file_has_the_mode_that_it_was_created_with(place: Place, mpi: MPI) -> None:
    record = place.observe(mpi, 4, place.build(mpi, OPENING), "shared")[
        "POSIX", str(place.cwd / "shared"), -1
    ]
    assert int(record["POSIX_MODE"]) == (place.cwd / "shared").stat().st_mode & 0o7777


# Rank 0 writes four sizes once, all others one size once: that one is the commonest of all.
SIZES = """
#include "must.h"

int main(int argc, char **argv)
{
	char data[128] = "";
	start(&argc, &argv);
	open_shared("shared", MPI_INFO_NULL);
	if (rank == 0)
		for (int size = 101; size <= 104; size++)
			MUST(MPI_File_write_at(file, size * 1000, data, size, MPI_CHAR, MPI_STATUS_IGNORE));
	else
		MUST(MPI_File_write_at(file, rank * 200000, data, 32, MPI_CHAR, MPI_STATUS_IGNORE));
	MUST(MPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
"""


@pytest.mark.parametrize("mpi", DEBIANS)
def test_the_commonest_size_of_all_ranks_is_in_the_shared_record(place: Place, mpi: MPI) -> None:
    found = place.observe(mpi, 8, place.build(mpi, SIZES))
    record = found["MPI-IO", str(place.cwd / "shared"), -1]
    shown_sizes = [
        (int(record[f"MPIIO_ACCESS{i}_ACCESS"]), int(record[f"MPIIO_ACCESS{i}_COUNT"])) for i in range(1, 5)
    ]
    assert shown_sizes == [(32, 7), (104, 1), (103, 1), (102, 1)]
