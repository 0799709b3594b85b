"""Metrics per rank and over time, of an MPI program and of traces."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from iolens.metrics import Dataset
from observed import Observe

RANKS = 4

PROGRAM = r"""
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
static char block[1 << 20];
int main(int argc, char **argv)
{
	int rank, size;
	MPI_File f;
	char own[64];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_File_open(MPI_COMM_WORLD, "shared.dat", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
	for (int i = 0; i < 8; i++)
		MPI_File_write_at_all(f, (MPI_Offset)(i * size + rank) * 4096, block, 4096, MPI_BYTE, MPI_STATUS_IGNORE);
	for (int i = 0; i < 16; i++)
		MPI_File_write_at(f, 200000 + (MPI_Offset)(i * size + rank) * 100, block, 100, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_close(&f);
	snprintf(own, sizeof own, "own.%d", rank);
	int fd = open(own, O_CREAT | O_RDWR, 0644);
	for (int i = 0; i < 10 * (rank + 1); i++)
		if (write(fd, block, 1000) != 1000)
			return 1;
	close(fd);
	if (rank < 2) {
		fd = open("partly", O_CREAT | O_RDWR, 0644);
		if (pwrite(fd, block, 5000 * (rank + 1), rank * 10000) < 0)
			return 1;
		close(fd);
	}
	MPI_Finalize();
	return 0;
}
"""


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory, iolens: Path, preload: Path) -> Path:
    """Log of a job of four ranks."""
    if not shutil.which("mpicc.mpich"):
        pytest.skip("no mpicc.mpich")
    folder = tmp_path_factory.mktemp("job")
    (folder / "job.c").write_text(PROGRAM)
    subprocess.run(["mpicc.mpich", "-O1", "job.c", "-o", "job"], cwd=folder, check=True)
    Observe(iolens, folder)(["mpirun.mpich", "-n", str(RANKS), "./job"], cwd=folder)
    return folder / "observed-1.darshan"


def test_independent_and_collective_accesses_are_apart(job: Path) -> None:
    with Dataset(job) as data:
        rows = {
            (r["kind"], r["direction"], r["label"]): (r["count"], r["bytes"])
            for r in data.metric("access_sizes")
            if r["interface"] == "mpiio" and r["count"]
        }
        assert rows == {
            ("all", "write", "0-100"): (16 * RANKS, None),
            ("all", "write", "1K-10K"): (8 * RANKS, None),
            ("independent", "write", "0-100"): (16 * RANKS, 16 * RANKS * 100),
            ("collective", "write", "1K-10K"): (8 * RANKS, 8 * RANKS * 4096),
        }


def test_every_rank_is_known(job: Path) -> None:
    with Dataset(job) as data:
        mpiio = [r for r in data.metric("ranks") if r["interface"] == "mpiio"]
        assert [(r["rank"], r["bytes_written"], r["files"], r["basis"]) for r in mpiio] == [
            (rank, 8 * 4096 + 1600, 1, "total") for rank in range(RANKS)
        ]
        (headline,) = data.metric("headline")
        assert headline["bytes_written"] == RANKS * (8 * 4096 + 1600) + 1000 * 100 + 15000
        assert headline["basis"] == "process"
        union = {r["rank"]: r for r in data.metric("timeline_union")}
        assert set(union) == set(range(RANKS))
        assert headline["io_time"] == pytest.approx(max(r["busy"] for r in union.values()))


def test_spans_tell_shared_files_apart(job: Path) -> None:
    with Dataset(job) as data:
        spans = {(r["access"], r["direction"], r["rank"]): r for r in data.metric("spans")}
        assert ("shared", "write", -1) in spans  # shared.dat
        assert {rank for access, _, rank in spans if access == "independent"} == set(range(RANKS))
        assert {rank for access, _, rank in spans if access == "shared"} == {-1, 0, 1}  # and "partly"
        assert all(0 < r["first"] <= r["last"] for r in spans.values())


def test_partly_shared_files_are_among_the_shared(job: Path) -> None:
    with Dataset(job) as data:
        rows = {(Path(r["name"]).name, r["interface"]): r for r in data.metric("shared_files")}
        assert (rows["partly", "posix"]["ranks"], rows["shared.dat", "mpiio"]["ranks"]) == (2, RANKS)
        assert {rows["partly", "posix"][f"{w}_bytes"] for w in ("fastest", "slowest")} == {5000, 10000}
        assert rows["partly", "posix"]["sd_bytes"] == 2500


def test_bytes_of_the_heat_map_are_all_bytes(job: Path) -> None:
    with Dataset(job) as data:
        heat = data.rows("""
            SELECT interface, rank, sum(bytes_written)::BIGINT AS bytes FROM metric.heat GROUP BY ALL""")
        assert {(r["interface"], r["rank"]): r["bytes"] for r in heat if r["interface"] == "mpiio"} == {
            ("mpiio", rank): 8 * 4096 + 1600 for rank in range(RANKS)
        }
        (phase, *_) = data.metric("phases")
        assert phase["kind"] == "write"


def test_the_process_tree_begins_with_the_launcher(job: Path) -> None:
    with Dataset(job) as data:
        rows = data.metric("tree")
        assert (rows[0]["depth"], Path(rows[0]["exe"]).name) == (0, "mpiexec.hydra")
        ranks = [r for r in rows if r["rank"] >= 0]
        assert {r["rank"] for r in ranks} == set(range(RANKS))
        assert {r["depth"] for r in ranks} == {2}
        assert [r["position"] for r in rows] == list(range(1, len(rows) + 1))


def test_metadata_operations_are_timed(job: Path) -> None:
    with Dataset(job) as data:
        rows = {(r["interface"], r["operation"]): r for r in data.metric("metadata_operations")}
        assert rows["posix", "open"]["count"] >= 2 * RANKS + 2
        assert rows["posix", "open"]["time"] > 0
        assert rows["posix", "open"]["basis"] == "operation"


def test_heat_of_a_trace_is_spread_over_time(corpus: Path) -> None:
    """The same bins and bytes as PyDarshan's, within its rounding."""
    darshan = pytest.importorskip("darshan")
    from darshan.experimental.plots import heatmap_handling

    path = corpus / "logs" / "mpi-io-test-dxt.darshan"
    with Dataset(path) as data:
        rows = data.rows("""
            SELECT rank, sum(bytes_read + bytes_written)::BIGINT AS bytes FROM metric.heat
            WHERE interface = 'mpiio' GROUP BY rank ORDER BY rank""")
        assert [r["bytes"] for r in rows] == pytest.approx(
            [134217728] * 32, abs=100
        )  # of whole bytes per bin
        bins = data.rows(
            "SELECT max(bin) AS last, max(\"end\") AS e FROM metric.heat WHERE interface = 'mpiio'"
        )
        assert bins[0]["last"] <= 199
        ours = data.rows("""
            SELECT bin, sum(bytes_read + bytes_written) AS bytes FROM metric.heat WHERE interface = 'mpiio'
            GROUP BY bin ORDER BY bin""")
    report = darshan.DarshanReport(str(path))
    segments = heatmap_handling.get_aggregate_data(report=report, mod="DXT_MPIIO", ops=["read", "write"])
    run_time = report.metadata["job"]["run_time"]
    theirs = heatmap_handling.get_heatmap_df(agg_df=segments, xbins=200, nprocs=32, max_time=run_time)
    sums = theirs.sum(axis=0).to_numpy()
    for row in ours:
        assert row["bytes"] == pytest.approx(sums[row["bin"]], rel=1e-6, abs=64)


def test_overlap_of_traced_accesses(corpus: Path) -> None:
    with Dataset(corpus / "logs" / "mpi-io-test-dxt.darshan") as data:
        rows = data.metric("timeline_union")
        assert [r["rank"] for r in rows] == list(range(32)) and {r["basis"] for r in rows} == {"dxt"}
        assert all(r["overlap"] == pytest.approx(1.0, abs=1e-4) for r in rows)
