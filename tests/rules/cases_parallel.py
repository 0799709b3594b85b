"""Cases of rules about ranks, servers and libraries, and about logs: as in cases.py."""

from __future__ import annotations

from typing import Any

from cases import Case, many, process
from jobs import GiB, Job, KiB, MiB


def nodes(job: Job, count: int) -> Job:
    """The ranks on so many nodes."""
    return job.section("process", *(process(r, host=f"n{r % count}") for r in range(job.nprocs)))


def aggregating(nprocs: int, aggregators: int, count: int) -> Job:
    """A job with so many aggregators on so many nodes; its log was written by four, which says nothing of it."""
    job = Job(nprocs=nprocs, metadata=b"lib_ver=3.4.7\nh=romio_no_indep_rw=true;cb_nodes=4\n")
    job.mpiio("/scratch/a", write={MiB: 100}, kind="coll", write_time=80.0)
    for rank in range(aggregators):
        job.posix("/scratch/a", rank, write={4 * MiB: 25}, write_time=80.0 / aggregators)
    return nodes(job, count)


def placed(slow: float, size: int = 100 * MiB) -> Job:
    """A file per rank, one on each of eight targets; the last target takes so many times as long."""
    job = Job()
    for rank in range(8):
        name = f"/scratch/f{rank}"
        job.posix(name, rank, write={size: 1}, write_time=10.0 * (slow if rank == 7 else 1))
        job.lustre(name, MiB, [rank], rank)
    return job


def uneven(most: int) -> Job:
    """Four targets, of which the last holds so many files of 100 MiB, the others one."""
    job = Job()
    for number, ost in enumerate([0, 1, 2] + [3] * most):
        job.posix(f"/scratch/f{number}", number % 8, write={MiB: 100}, write_time=1.0)
        job.lustre(f"/scratch/f{number}", MiB, [ost], number % 8)
    return job


def striped(osts: list[int]) -> Job:
    """A hundred small files on these targets each."""
    job = many(Job(), 100, write={KiB: 1}, meta_time=0.8)
    for i in range(100):
        job.lustre(f"/scratch/f{i}", MiB, osts)
    return job


def hdf5(job: Job, name: str = "/scratch/x.h5", parallel: int = 1) -> dict[str, int]:
    """A file that a dataset belongs to."""
    job.add("h5f", name, opens=8, use_mpiio=parallel, meta_time=0.8)
    return {"file_rec_id": job.name(name)}


def dataset(parallel: int = 1, **values: object) -> Job:
    job = Job()
    return job.add("h5d", "/scratch/x.h5:/a", **hdf5(job, parallel=parallel), **values)


SHARING: dict[str, Case] = {
    "no_collective_writes": (
        Job().mpiio("/scratch/a", write={400: 80_000}, write_time=400.0),
        "80,000 independent MPI-IO writes to 1 shared file, 400 B each on average, 0 collective ones; their "
        "overhead is 49.9 s of 50 s of writing",
        Job().mpiio("/scratch/a", write={400: 80_000}, write_time=400.0, kind="coll"),
    ),
    "no_collective_reads": (
        Job().mpiio("/scratch/a", read={400: 80_000}, read_time=400.0),
        "80,000 independent MPI-IO reads of 1 shared file, 400 B each on average, 0 collective ones; their "
        "overhead is 49.9 s of 50 s of reading",
        Job().mpiio("/scratch/a", 0, read={400: 80_000}, read_time=40.0),
    ),
    "collective_writes": (
        Job().mpiio("/scratch/a", write={MiB: 8}, kind="coll", indep_writes=2),
        "80 % of the MPI-IO writes are collective (8)",
        Job().mpiio("/scratch/a", write={MiB: 8}, kind="coll", indep_writes=20),
    ),
    "collective_reads": (
        Job().mpiio("/scratch/a", read={MiB: 8}, kind="coll", indep_reads=2),
        "80 % of the MPI-IO reads are collective (8)",
        Job().mpiio("/scratch/a", read={MiB: 8}, kind="coll", indep_reads=20),
    ),
    "collective_buffering_works": (
        Job().mpiio("/scratch/a", write={KiB: 8192}, kind="coll").posix("/scratch/a", write={4 * MiB: 2}),
        "8,192 collective writes, 1 KiB on average, become 2 of 4 MiB",
        Job().mpiio("/scratch/a", write={KiB: 8192}, kind="coll").posix("/scratch/a", write={KiB: 8192}),
    ),
    "blocking_writes": (
        Job().mpiio("/scratch/a", write={MiB: 8}, write_time=80.0),
        "8 blocking MPI-IO writes and no other: the program waits 10 s",
        Job().mpiio("/scratch/a", write={MiB: 8}, write_time=80.0, nb_writes=1),
    ),
    "blocking_reads": (
        Job().mpiio("/scratch/a", read={MiB: 8}, read_time=80.0),
        "8 blocking MPI-IO reads and no other: the program waits 10 s",
        Job().mpiio("/scratch/a", read={MiB: 8}, read_time=80.0, nb_reads=1),
    ),
    "no_mpiio": (
        Job().posix("/scratch/a", write={KiB: 8192}, write_time=80.0),
        "Up to 8 ranks use 1 file together (8 MiB) without MPI-IO",
        Job().posix("/scratch/a", write={KiB: 8192}).mpiio("/scratch/a", write={KiB: 8192}),
    ),
}

BALANCE: dict[str, Case] = {
    "serial_io": (
        Job()
        .posix("/scratch/a", 0, write={MiB: 1000}, write_time=40.0)
        .posix("/scratch/b", 1, write={KiB: 1}),
        "Rank 0 of 8 moves 1000 MiB, 100 % of all data, in 40 s",
        Job().posix("/scratch/a", write={MiB: 1000}, write_time=40.0),
    ),
    "stragglers": (
        Job().posix("/scratch/a", write={MiB: 800}, write_time=80.0, slowest_rank_time=30.0, slowest_rank=5),
        "In 1 shared file the slowest rank takes longer than the others: rank 5 30 s, the mean of the others is 7.14 s",
        Job().posix("/scratch/a", write={MiB: 800}, write_time=80.0, slowest_rank_time=11.0),
    ),
    "shared_data_imbalance": (
        Job().posix(
            *("/scratch/a",),
            write={MiB: 800},
            write_time=80.0,
            slowest_rank_time=30.0,
            slowest_rank_bytes=300 * MiB,
        ),
        "In 1 shared file ranks move from 100 MiB to 300 MiB",
        # Aggregators alone write: through MPI-IO all ranks move the same.
        Job()
        .posix(
            "/scratch/a",
            write={MiB: 800},
            write_time=80.0,
            slowest_rank_bytes=800 * MiB,
            fastest_rank_bytes=0,
        )
        .mpiio("/scratch/a", write={MiB: 800}, write_time=90.0, kind="coll"),
    ),
    "write_imbalance": (
        Job()
        .posix("/scratch/a", 3, write={MiB: 800}, write_time=40.0)
        .posix("/scratch/b", 1, write={MiB: 80}, write_time=8.0),
        "Rank 3 writes 800 MiB to files of its own, the mean of all 8 ranks is 110 MiB (2 write at all)",
        many(Job(), 8, write={MiB: 100}, write_time=5.0),
    ),
    "read_imbalance": (
        Job()
        .posix("/scratch/a", 3, read={MiB: 800}, read_time=40.0)
        .posix("/scratch/b", 1, read={MiB: 80}, read_time=8.0),
        "Rank 3 reads 800 MiB from files of its own, the mean of all 8 ranks is 110 MiB (2 read at all)",
        many(Job(), 8, read={MiB: 100}, read_time=5.0),
    ),
}

LAYOUT: dict[str, Case] = {
    "slow_servers": (
        placed(slow=4.0),
        "On 1 of 8 storage targets (OST 7), a byte takes up to 4.0 times as long as on the median one; the job waits",
        placed(slow=1.4),
    ),
    "unbalanced_servers": (
        uneven(most=9),
        "OST 3 holds 900 MiB of this job's data, the mean of 4 targets is 300 MiB",
        uneven(most=1),
    ),
    "single_stripe": (
        Job().posix("/scratch/a", write={MiB: 4096}, write_time=320.0).lustre("/scratch/a", MiB, [3]),
        "1 shared file (4 GiB, up to 8 ranks) on one storage target each; with four targets this would take "
        "about 30 s less",
        Job().posix("/scratch/a", write={MiB: 4096}, write_time=320.0).lustre("/scratch/a", MiB, [3, 4]),
    ),
    "stripe_mismatch": (
        Job().posix("/scratch/a", write={1_500_000: 800}, write_time=80.0).lustre("/scratch/a", MiB, [3, 4]),
        "1 shared file with accesses of mostly 1.4 MiB and stripes of 1 MiB; this costs about 2 s",
        Job().posix("/scratch/a", write={2 * MiB: 800}, write_time=80.0).lustre("/scratch/a", MiB, [3, 4]),
    ),
    "wide_small_files": (
        striped([1, 2]),
        "100 files of 1 KiB on average have 2.0 stripes each, and need one",
        striped([1]),
    ),
    "home_directory": (
        Job(nprocs=16).posix("/home/u/a", write={MiB: 1600}, write_time=160.0),
        "16 ranks move 1.6 GiB in 1 file on /home (nfs); half of the time there is 5 s",
        Job(nprocs=16).posix("/scratch/u/a", write={MiB: 1600}, write_time=160.0),
    ),
    "temporary_files": (
        many(Job(), 100, "/scratch/tmp/x", write={MiB: 1}, write_time=0.8),
        "100 temporary files with 100 MiB of traffic on /scratch; this takes 10 s",
        many(Job(), 100, "/tmp/x", write={MiB: 1}, write_time=0.8),
    ),
}


def cpus(count: int) -> dict[str, Any]:
    """A row of the platform: all hosts have as many processors."""
    return {"host": "", "name": "cpus_online", "value": "", "number": float(count), "unit": "cpu"}


LIBRARY: dict[str, Case] = {
    "data_sieving": (
        Job()
        .mpiio("/scratch/a", write={KiB: 8192}, write_time=88.0)
        .posix("/scratch/a", read={MiB: 40}, write={MiB: 48}, write_time=88.0),
        "80 MiB more than the 8 MiB that the program requested pass between MPI-IO and the file system "
        "(11 times as much); this takes 10 s",
        Job().mpiio("/scratch/a", write={KiB: 8192}).posix("/scratch/a", write={MiB: 8}, write_time=88.0),
    ),
    "mpiio_overhead": (
        Job()
        .mpiio("/scratch/a", write={MiB: 80}, write_time=320.0, kind="coll")
        .posix("/scratch/a", write={MiB: 80}, write_time=80.0),
        "Reading and writing by MPI-IO takes 40 s, of which 10 s are in the file system; 75 % are locks",
        Job()
        .mpiio("/scratch/a", write={MiB: 80}, write_time=120.0, kind="coll")
        .posix("/scratch/a", write={MiB: 80}, write_time=80.0),
    ),
    "ranks_outnumber_cores": (
        Job(nprocs=4).section("process", *(process(n) for n in range(4))).section("platform", cpus(2)),
        "4 ranks share 2 cores of a node: ranks that wait for others",
        Job(nprocs=4).section("process", *(process(n) for n in range(4))).section("platform", cpus(4)),
    ),
    "late_rank": (
        # Rank 3 comes 20 s after the others, which wait in MPI_File_open.
        Job(run_time=100).mpiio(
            "/scratch/a",
            meta_time=141.0,
            slowest_rank_time=20.1,
            fastest_rank=3,
            fastest_rank_time=0.3,
            kind="coll",
        ),
        "For rank 3, which comes late to 1 file, 7 ranks had to wait 19.8 s in MPI-IO; the file system took little",
        # One rank is slow, the others are not.
        Job(run_time=100).mpiio(
            "/scratch/a",
            meta_time=22.2,
            slowest_rank_time=20.1,
            fastest_rank=3,
            fastest_rank_time=0.3,
            kind="coll",
        ),
    ),
    "one_aggregator": (
        Job(nprocs=64)
        .mpiio(
            "/scratch/a", write={MiB: 1024}, kind="coll", write_time=64 * 60.0, slowest_rank_bytes=16 * MiB
        )
        .posix(
            "/scratch/a",
            write={4 * MiB: 256},
            write_time=40.0,
            slowest_rank_bytes=GiB,
            slowest_rank_time=40.0,
        ),
        "Rank 0 alone reads and writes 1 file (1 GiB) for 64 ranks that call collectively; with four aggregators",
        # Sixteen aggregators.
        Job(nprocs=64)
        .mpiio(
            "/scratch/a", write={MiB: 1024}, kind="coll", write_time=64 * 60.0, slowest_rank_bytes=16 * MiB
        )
        .posix(
            "/scratch/a",
            write={4 * MiB: 256},
            write_time=640.0,
            slowest_rank_bytes=64 * MiB,
            slowest_rank_time=40.0,
        ),
    ),
    "few_aggregators": (
        aggregating(8, 2, 4),
        "Only 2 ranks of 8 make the file accesses of all collective calls, but the job has 4 nodes",
        aggregating(8, 4, 4),
    ),
    "many_aggregators": (
        aggregating(8, 8, 4),
        "8 ranks make the file accesses of all collective calls, but the job has only 4 nodes",
        aggregating(8, 4, 4),
    ),
    "aggregators_match": (
        aggregating(8, 4, 4),
        "4 ranks make the file accesses of all collective calls, one on each of 4 nodes",
        aggregating(8, 2, 4),
    ),
    "hdf5_independent": (
        dataset(writes=8000, bytes_written=8000 * 400, write_time=80.0),
        "8,000 independent accesses to 1 dataset of parallel HDF5 files, 400 B each; their overhead is 9.98 s",
        dataset(writes=8000, bytes_written=8000 * 400, write_time=80.0, use_mpiio_collective=1),
    ),
    "hdf5_metadata": (
        Job().add("h5f", "/scratch/x.h5", opens=800, meta_time=80.0),
        "Opening, closing and flushing 1 HDF5 object (800 opens) takes 10 s, 100 % of the time in HDF5",
        Job().add("h5f", "/scratch/x.h5", opens=8, meta_time=8.0),
    ),
    "hdf5_small_chunks": (
        dataset(
            bytes_written=80 * MiB, writes=80, write_time=80.0, chunk_size=[0, 0, 0, 16, 64], datatype_size=8
        ),
        "80 MiB in 1 dataset pass through chunks of 8 KiB, 10,240 of them; the "
        "overhead of that many accesses is 9.7 s",
        dataset(
            bytes_written=80 * MiB,
            writes=80,
            write_time=80.0,
            chunk_size=[0, 0, 0, 256, 1024],
            datatype_size=8,
        ),
    ),
    "hdf5_fill_values": (
        dataset(parallel=0, opens=8, writes=8, bytes_written=800 * MiB, write_time=80.0).posix(
            "/scratch/x.h5", write={MiB: 1600}, write_time=160.0
        ),
        "800 MiB of fill values are written to 1 HDF5 file, on top of 800 MiB of data; this takes 10 s",
        # A chunk that is read back and written again for each part of it is none.
        dataset(parallel=0, opens=8, writes=8, bytes_written=800 * MiB, write_time=160.0).posix(
            "/scratch/x.h5", write={MiB: 1600}, write_time=160.0, bytes_read=800 * MiB
        ),
    ),
    "hdf5_library_time": (
        dataset(parallel=0, reads=8000, bytes_read=8000 * MiB, read_time=240.0).posix(
            "/scratch/x.h5", read={MiB: 800}, read_time=40.0, max_byte_read=80 * MiB - 1
        ),
        "30 s goes into 8,000 accesses to datasets, 1 MiB each, of which 5 s are in the file system: 25 s go into",
        dataset(parallel=0, reads=8000, bytes_read=8000 * MiB, read_time=240.0).posix(
            "/scratch/x.h5", read={MiB: 8000}, read_time=200.0
        ),
    ),
    "hdf5_many_selections": (
        dataset(parallel=0, writes=80_000, bytes_written=80_000 * KiB, write_time=80.0, point_selects=80_000),
        "80,000 accesses with a selection each (80,000 irregular ones) to 1 dataset, 1 KiB each; "
        "their overhead is 9.85 s",
        dataset(parallel=0, writes=80_000, bytes_written=80_000 * KiB, write_time=80.0),
    ),
    "hdf5_flushes": (
        Job().add("h5f", "/scratch/x.h5", opens=8, flushes=8000, meta_time=80.0),
        "8,000 flushes of 1 HDF5 object; this takes about 9.98 s",
        Job().add("h5f", "/scratch/x.h5", opens=8, flushes=80, meta_time=80.0),
    ),
    "pnetcdf_independent": (
        Job().add(
            "pnetcdf_var", "/scratch/x.nc:a", indep_writes=8000, bytes_written=8000 * 400, write_time=80.0
        ),
        "8,000 independent accesses to 1 variable of PnetCDF files, 400 B each; their overhead is 9.98 s",
        Job().add(
            "pnetcdf_var", "/scratch/x.nc:a", coll_writes=8000, bytes_written=8000 * 400, write_time=80.0
        ),
    ),
    "pnetcdf_waits": (
        Job().add("pnetcdf_file", "/scratch/x.nc", indep_waits=800, coll_waits=8, wait_time=80.0),
        "800 independent and 8 collective waits for PnetCDF requests take 10 s",
        Job().add("pnetcdf_file", "/scratch/x.nc", coll_waits=800, wait_time=80.0),
    ),
}


def folded() -> Job:
    row = {"rank": 0, "opens": 5000, "files": 4000, "budget": 1 << 20, "sufficient_budget": 8 << 20}
    job = Job().section("process", process(0)).section("folded", row)
    return job.section(
        "folded_directory", {"rank": 0, "directory": "/scratch", "opens": 5000, "surplus": 4000}
    )


DATA: dict[str, Case] = {
    "partial_log": (
        Job(partial=["posix"]).posix("/scratch/a", 0),
        "Records are missing in posix: numbers are lower bounds",
        Job().posix("/scratch/a", 0),
    ),
    "levels_disagree": (
        Job().mpiio("/scratch/a", write={MiB: 100}).posix("/scratch/a", write={KiB: 1}),
        "MPI-IO moved 100 MiB in 1 file of which POSIX shows 1 KiB",
        Job().mpiio("/scratch/a", write={MiB: 100}).posix("/scratch/a", write={MiB: 100}),
    ),
    "folded_files": (
        folded(),
        "5,000 uses (open, stat) of about 4,000 files are in records named <other files> or <other program files>; "
        "8 MiB per process",
        Job().section("process", process(0)),
    ),
    "unexplained_io": (
        Job(run_time=5)
        .posix("/scratch/a", 0, read={MiB: 10})
        .section(
            "process", process(0, unseen_read=90 * MiB, unexplained_read=20 * MiB, unexplained_written=0)
        ),
        "20 MiB of the bytes that the kernel counted are unexplained; 10 MiB are explained",
        Job()
        .posix("/scratch/a", 0, read={MiB: 10})
        .section("process", process(0, unseen_read=90 * MiB, unexplained_read=0, unexplained_written=0)),
    ),
    "unobserved_programs": (
        Job()
        .section("process", process(0))
        .section("unobserved", {"rank": 0, "program": "/bin/busybox", "reason": "static", "count": 2}),
        "2 program starts without observation: /bin/busybox",
        Job().section("process", process(0)),
    ),
    "unrecorded_interfaces": (
        Job()
        .section("process", process(0))
        .section(
            "unrecorded",
            {"rank": 0, "interface": "HDF5", "program": "/home/u/a.out", "reason": "linked_in"},
            {"rank": 1, "interface": "HDF5", "program": "/home/u/a.out", "reason": "linked_in"},
        ),
        "HDF5 is linked into /home/u/a.out: its calls are not recorded; relink with the shared library (h5cc -shlib).",
        Job().section("process", process(0)),
    ),
    "ended_early": (
        Job().section("process", process(0, signal=9, ended="signal"), process(1)),
        "Of 2 process images 1 ended by signal 9.",
        Job().section("process", process(0), process(1)),
    ),
    "memory_maps": (
        Job().posix("/scratch/a", 0, mmaps=40),
        "40 maps of files",
        Job().posix("/scratch/a", 0, mmaps=4),
    ),
}
