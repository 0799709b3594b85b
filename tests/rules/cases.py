"""For each rule a job in which it fires, with a part of what it says, and one in which it must not.

Jobs: 8 ranks, 100 s, unless said otherwise. The second job of a pair is the first one's near miss, or a false result
of another tool.
"""

from __future__ import annotations

from typing import Any

from jobs import GiB, Job, KiB, MiB

Case = tuple[Job, str, Job]


def process(rank: int, **values: Any) -> dict[str, Any]:
    """A row of the process table."""
    return {
        **{
            "rank": rank,
            "pid": 100 + rank,
            "parent": 1,
            "host": "n1",
            "exe": "/bin/program",
            "start": 0.0,
            "end": 90.0,
        },
        **{"ended": "exit", "signal": 0, "io_time": 1.0, "mpi": "MPICH", "seen_read": 0, "seen_written": 0},
        **{"unseen_read": 0, "unseen_written": 0, **values},
    }


def operation(name: str, count: int, time: float, errors: int = 0, rank: int = 0) -> dict[str, Any]:
    """A row of the table of operations."""
    common = {"rank": rank, "interface": "posix", "name": name}
    return {**common, "count": count, "errors": errors, "bytes": 0, "time": time}


def locks(file: str, rank: int, wait: float) -> dict[str, Any]:
    """A row of the table of locks."""
    counts = {"shared": 0, "exclusive": 10, "released": 10, "refused": 1}
    return {"rank": rank, "file": file, **counts, "wait_time": wait, "longest": wait / 2}


def pipes(*waits: tuple[float, float]) -> Job:
    """Opens that wait from then to then, each of another file, while one file is opened at once."""
    job = Job(nprocs=1, run_time=200).posix(
        "/scratch/input", 0, read={100: 1}, meta_time=0.01, open_end_timestamp=50.0
    )
    for n, (began, ended) in enumerate(waits):
        times = {"open_start_timestamp": began, "open_end_timestamp": ended, "meta_time": ended - began}
        job.posix(f"/scratch/pipe{n}", 0, read={6: 1}, **times)
    return job


def many(job: Job, count: int, name: str = "/scratch/f", **values: Any) -> Job:
    """So many files, dealt out to the ranks."""
    for i in range(count):
        job.posix(f"{name}{i}", i % job.nprocs, **values)
    return job


def split(job: Job, name: str, ranks: int, **values: Any) -> Job:
    """A file with a record of each of so many ranks."""
    for rank in range(ranks):
        job.posix(name, rank, **values)
    return job


def waiting_loop(next_batch: float) -> Job:
    """A training loop of 80 s that waits so long, and two workers: half of their time goes into reads."""
    job = Job(nprocs=3).section(
        "process", *(process(rank, pid=10 + rank, parent=10 if rank else 1) for rank in range(3))
    )
    rows = [(0, "start", 1, 1.0, 4.0, 5.0), (0, "first batch", 1, 3.0, 5.0, 8.0)]
    rows += [(0, "next batch", 99, next_batch, 8.0, 84.0)]
    rows += [(rank, "fetch", 50, 75.0, 7.0, 83.0) for rank in (1, 2)]
    for rank, kind, count, time, first, last in rows:
        times = {"time": time, "first": first, "last": last, "read_time": time / 2 if rank else 0.0}
        rest = {"write_time": 0.0, "meta_time": 0.0, "processor_time": time / 5 if rank else 0.0}
        job.section("phases", {"rank": rank, "phase": f"loader: {kind}", "count": count, **times, **rest})
    first_wait = {"rank": 0, "phase": "loader: first batch", "count": 1, "start": 5.0, "end": 8.0}
    job.section("steps", first_wait)
    for rank in (1, 2):
        job.posix(f"/scratch/{rank}", rank, read={MiB: 1000}, read_time=37.5)
    return job


def checkpointing_loop(longest: float) -> Job:
    """A training loop of 80 s that stands still 4 times; the last time so long."""
    job = Job(nprocs=1).section("process", process(0))
    common = {"rank": 0, "first": 4.0, "last": 84.0, "read_time": 0.0, "meta_time": 0.0, "bytes_written": 0}
    rows: list[dict[str, Any]] = [
        {"phase": "loader: next batch", "count": 100, "time": 1.0, "longest": 0.01},
        {
            "phase": "loader: checkpoint",
            "count": 4,
            "time": 3 + longest,
            "longest": longest,
            "write_time": 2.0,
        },
        {"phase": "loader: checkpoint/sync", "count": 4, "time": 0.5 * longest, "write_time": 0.5 * longest},
    ]
    rows[1] |= {"processor_time": 3.0, "bytes_written": 8 * GiB}
    for row in rows:
        job.section("phases", {"write_time": 0.0, "longest": 0.0, "processor_time": -1.0, **common, **row})
    return job.posix("/scratch/state", 0, write={MiB: 8192}, write_time=2.0 + 0.5 * longest)


SUMMARY: dict[str, Case] = {
    "checkpoint_stalls": (
        checkpointing_loop(9.0),
        "The training loop stood still 15 % of its time for 4 checkpoints (12 s; the longest took 9 s): 6 % forcing "
        "it to storage (fsync), 4 % serializing, 3 % waiting for something else, 2 % writing. 8 GiB were written, "
        "at 1.2 GiB/s while it wrote.",
        checkpointing_loop(0.5),
    ),
    "loader_waits": (
        waiting_loop(28.0),
        "The training loop waited 40 % of its time for data (32 s): 18 % reading /scratch (lustre), "
        "11 % waiting for something else, 7 % on the processor (decoding, augmentation), "
        "4 % starting and ending workers. With 4 workers instead of 2 it would have waited 8 to ",
        waiting_loop(-0.5),
    ),
    "io_is_small": (
        Job().posix("/scratch/a", 0, read={MiB: 10}, read_time=4.0),
        "4.0 % of the run time goes into I/O (4 s of 100 s)",
        Job().posix("/scratch/a", 0, read={MiB: 10}, read_time=6.0),
    ),
    "io_is_large": (
        Job().posix("/scratch/a", 0, read={MiB: 10}, read_time=30.0, meta_time=10.0),
        "40 % of the run time goes into I/O (40 s of 100 s): reading 30 %, writing 0.0 %, metadata 10 %",
        Job().posix("/scratch/a", 0, read={MiB: 10}, read_time=20.0),
    ),
    "no_io": (Job().posix("/scratch/a", 0), "No byte", Job().posix("/scratch/a", 0, read={1: 1})),
    "mostly_writes": (
        Job().posix("/scratch/a", write={MiB: 12}, read={MiB: 8}).posix("/env/module.pyc", read={MiB: 40}),
        "12 MiB written in 12 writes, 8 MiB read in 8 reads",
        Job().posix("/scratch/a", write={MiB: 10}, read={MiB: 10}),
    ),
    "mostly_reads": (
        Job().posix("/scratch/a", write={MiB: 8}, read={MiB: 12}),
        "12 MiB read in 12 reads, 8 MiB written in 8 writes",
        # An import's reads are Python's own.
        Job().posix("/scratch/a", write={MiB: 10}, read={MiB: 10}).posix("/env/module.pyc", read={MiB: 40}),
    ),
    "console_output": (
        Job().add("stdio", "<STDOUT>", 0, writes=200_000, bytes_written=8_000_000, write_time=5.0),
        "7.6 MiB in 200,000 writes to standard output and error; this takes 5 s",
        Job().add("stdio", "/scratch/log", 0, writes=200_000, bytes_written=8_000_000, write_time=5.0),
    ),
    "screen_redundant_reads": (
        Job().posix("/scratch/a", read={GiB: 2000}, max_byte_read=GiB - 1),
        "2 TiB read beyond the size of 1 file",
        Job().posix("/scratch/a", read={GiB: 1000}, max_byte_read=GiB - 1),
    ),
    "screen_metadata": (
        Job(nprocs=192).posix("/scratch/a", meta_time=192 * 31.0, write={MiB: 8}, write_time=192 * 60.0),
        "34 % of the time in POSIX calls is metadata, 31 s per rank",
        # As in a log of 65,536 ranks: 99.3 % metadata, half a second per rank.
        Job(nprocs=65536).posix("/scratch/a", meta_time=35282.0, write={MiB: 8}, write_time=264.0),
    ),
    "screen_small_writes": (
        Job().posix("/scratch/a", write={MiB - 1: 1_200_000}),
        "1,200,000 writes smaller than 1 MiB to files that more than one rank uses, none collective (notice)",
        Job().posix("/scratch/a", write={MiB: 200_000_000}),
    ),
}

SIZE: dict[str, Case] = {
    "small_reads": (
        Job().posix("/scratch/a", 0, read={64 * KiB: 4000}, read_time=30.0),
        "4,000 of 4,000 reads (100 %) are smaller than 1 MiB, 64 KiB on average over all reads; their overhead is 24 s",
        Job().posix("/scratch/a", 0, read={MiB: 4000}, read_time=30.0),
    ),
    "small_writes": (
        Job().posix("/scratch/a", 0, write={64 * KiB: 4000}, write_time=30.0),
        "4,000 of 4,000 writes (100 %) are smaller than 1 MiB, 64 KiB on average over all writes; "
        "their overhead is 24 s",
        Job().posix("/scratch/a", 0, write={MiB: 100_968, 100: 33}, write_time=30.0),
    ),
    "small_shared_reads": (
        Job().posix("/scratch/a", read={64 * KiB: 4000}, read_time=240.0),
        "4,000 of 4,000 reads (100 %) of files that all ranks share are smaller than 1 MiB; their overhead is 24 s",
        Job().posix("/scratch/a", 0, read={64 * KiB: 4000}, read_time=30.0),
    ),
    "small_shared_writes": (
        Job().posix("/scratch/a", write={64 * KiB: 4000}, write_time=240.0),
        "4,000 of 4,000 writes (100 %) to files that all ranks share are smaller than 1 MiB; their overhead is 24 s",
        # As of collective buffering: blocks of exactly 1 MiB.
        Job().posix("/scratch/a", write={MiB: 41_600, 100: 32}, write_time=240.0),
    ),
    "tiny_writes": (
        Job().posix("/scratch/a", 0, write={100: 50_000}, write_time=10.0),
        "50,000 of 50,000 writes (100 %) have at most 1 KiB; their overhead is 10 s",
        Job().posix("/scratch/a", 0, write={4 * KiB: 50_000}, write_time=10.0),
    ),
    "tiny_reads": (
        Job().posix("/scratch/a", 0, read={100: 50_000}, read_time=10.0),
        "50,000 of 50,000 reads (100 %) have at most 1 KiB; their overhead is 10 s",
        Job().posix("/scratch/a", 0, read={4 * KiB: 50_000}, read_time=10.0),
    ),
    "small_random_reads": (
        Job().posix("/scratch/a", 0, read={32 * KiB: 10_000}, read_time=45.0, seq_reads=4000, consec_reads=0),
        "100 % of 10,000 reads, 32 KiB on average, jump around in 1 file; such reads take 40 s",
        Job().posix("/scratch/a", 0, read={32 * KiB: 10_000}, read_time=45.0, seq_reads=9000),
    ),
    "stdio_share": (
        Job()
        .add("stdio", "/scratch/out", 0, writes=100_000, bytes_written=400_000_000, write_time=20.0)
        .posix("/scratch/a", write={MiB: 100}),
        "381.5 MiB (79 % of all data) goes through stdio in 100,000 calls; buffering costs about 18.5 s",
        Job()
        .add("stdio", "/scratch/out", 0, writes=100_000, bytes_written=10_000_000, write_time=20.0)
        .posix("/scratch/a", write={MiB: 100}),
    ),
    "small_stdio": (
        # Most of the time is conversion to text.
        Job().add(
            "stdio", "/scratch/out", 0, writes=100_000_000, bytes_written=1_600_000_000, write_time=40.0
        ),
        "100 million stdio calls move 16 B each; their overhead is 2.5 s",
        Job().add("stdio", "/scratch/out", 0, writes=1_000_000, bytes_written=512_000_000, write_time=20.0),
    ),
}

PATTERN: dict[str, Case] = {
    "random_reads": (
        Job().posix("/scratch/a", 0, read={MiB: 10_000}, read_time=50.0, seq_reads=5000, consec_reads=0),
        "9,999 of 10,000 reads (100 %) do not begin where the last one ended; 50 % jump backwards. "
        "The overhead of this random order is 10 s",
        Job().posix("/scratch/a", 0, read={MiB: 10_000}, read_time=50.0, seq_reads=9000),
    ),
    "random_writes": (
        Job().posix("/scratch/a", 0, write={MiB: 10_000}, write_time=50.0, seq_writes=5000, consec_writes=0),
        "9,999 of 10,000 writes (100 %) do not begin where the last one ended; 50 % jump backwards. "
        "The overhead of this random order is 10 s",
        # The first write after each open has no predecessor.
        Job().posix("/scratch/a", 0, write={MiB: 10_000}, write_time=50.0, seq_writes=5000, opens=5000),
    ),
    "backward_reads": (
        Job().posix("/scratch/a", 0, read={4 * KiB: 10_000}, read_time=45.0, seq_reads=0, consec_reads=0),
        "9,999 of 10,000 reads (100 %), 4 KiB on average, go backwards through their file; their overhead is 44.3 s",
        # In random order, half of them go forwards, over many distances.
        Job().posix(
            *("/scratch/a", 0),
            **{"read": {4 * KiB: 10_000}, "read_time": 45.0, "seq_reads": 5000, "consec_reads": 0},
            stride_count=[90, 80, 70, 60],
        ),
    ),
    "backward_writes": (
        Job().posix(
            *("/scratch/a", 0),
            **{"write": {4 * KiB: 10_000}, "write_time": 45.0, "seq_writes": 7500, "consec_writes": 0},
            **{"stride": [MiB, 0, 0, 0], "stride_count": [7500, 0, 0, 0]},
        ),
        "9,999 of 10,000 writes (100 %), 4 KiB on average, go back and forth in their file in equal steps; "
        "their overhead is 44.3 s",
        # By rows: no more than a tenth go backwards.
        Job().posix(
            *("/scratch/a", 0),
            **{"write": {4 * KiB: 10_000}, "write_time": 45.0, "seq_writes": 9000, "consec_writes": 0},
            **{"stride": [MiB, 0, 0, 0], "stride_count": [9000, 0, 0, 0]},
        ),
    ),
    "strided_reads": (
        Job().posix("/scratch/a", 0, read={64 * KiB: 4000}, read_time=30.0, consec_reads=0),
        "3,999 of 4,000 reads (100 %), 64 KiB on average, skip forwards in their file; their overhead is 24 s",
        Job().posix("/scratch/a", 0, read={64 * KiB: 4000}, read_time=30.0),
    ),
    "strided_writes": (
        Job().posix("/scratch/a", 0, write={64 * KiB: 4000}, write_time=30.0, consec_writes=0),
        "3,999 of 4,000 writes (100 %), 64 KiB on average, skip forwards in their file; their overhead is 24 s",
        # A file for each write: none has a predecessor.
        Job().posix(
            *("/scratch/a", 0),
            **{
                "write": {64 * KiB: 4000},
                "write_time": 30.0,
                "consec_writes": 0,
                "seq_writes": 0,
                "opens": 4000,
            },
        ),
    ),
    "reads_in_order": (
        Job().posix("/scratch/a", 0, read={MiB: 200}, seq_reads=180, consec_reads=100),
        "50 % of 200 reads begin where the last one ended, 9.5 % go backwards",
        Job().posix("/scratch/a", 0, read={MiB: 200}, seq_reads=100, consec_reads=100),
    ),
    "writes_in_order": (
        Job().posix("/scratch/a", 0, write={MiB: 200}, seq_writes=180, consec_writes=100),
        "50 % of 200 writes begin where the last one ended, 9.5 % go backwards",
        Job().posix("/scratch/a", 0, write={MiB: 200}, seq_writes=100, consec_writes=100),
    ),
    "redundant_reads": (
        Job().posix("/scratch/a", read={MiB: 100}, max_byte_read=50 * MiB - 1, read_time=80.0),
        "50 MiB of 100 MiB (50 %) are read a second time or more often, from 1 file; this takes 5 s",
        # Read once, in parts: bytes read are less than the highest offset.
        Job().posix("/scratch/a", read={MiB: 100}, max_byte_read=200 * MiB, read_time=80.0),
    ),
    "rescanned_file": (
        Job().posix("/scratch/db", 0, read={64 * KiB: 4000}, max_byte_read=5 * MiB - 1, read_time=40.0),
        "/scratch/db is read up to 50 times over by one process (in all 1 such file, 245 MiB more than they hold); "
        "this takes 39.2 s",
        Job().posix("/scratch/db", 0, read={64 * KiB: 4000}, max_byte_read=125 * MiB - 1, read_time=40.0),
    ),
    "read_by_every_rank": (
        Job().posix("/scratch/in", read={MiB: 800}, max_byte_read=100 * MiB - 1, read_time=80.0),
        "8 ranks read 1 file whole: 800 MiB of 100 MiB of data; this takes 8.75 s more than reading once",
        Job().posix("/scratch/in", read={MiB: 100}, max_byte_read=100 * MiB - 1, read_time=80.0),
    ),
    "rewritten_data": (
        Job().posix("/scratch/a", 0, write={MiB: 100}, max_byte_written=10 * MiB - 1, write_time=10.0),
        "90 MiB are written over what was written before, in 1 file of up to 10 times their size; this takes 9 s",
        Job().posix("/scratch/a", 0, write={MiB: 100}, write_time=10.0),
    ),
    "seek_heavy": (
        Job().posix("/scratch/a", 0, read={MiB: 20_000}, seeks=20_000, meta_time=4.0),
        "20,000 seeks, 1.0 for each read or write, take 4 s",
        Job().posix("/scratch/a", 0, read={MiB: 20_000}, seeks=9_000, meta_time=4.0),
    ),
    "read_write_switches": (
        Job().posix("/scratch/a", 0, read={MiB: 2000}, write={MiB: 2000}, rw_switches=4000, read_time=20.0),
        "4,000 times a file changes between reading and writing, 100 % of all accesses; this takes about 10 s",
        Job().posix(
            "/scratch/a", 0, read={MiB: 2000}, write={MiB: 2000}, rw_switches=4000, opens=3001, read_time=20.0
        ),
    ),
    "write_then_read": (
        Job().posix(
            *("/scratch/a", 0, {MiB: 100}, {MiB: 100}),
            **{
                "write_time": 5.0,
                "read_time": 10.0,
                "write_start_timestamp": 1.0,
                "read_end_timestamp": 50.0,
            },
        ),
        "100 MiB were read back from 1 file that the job had written; this takes 10 s",
        Job().posix(
            *("/scratch/a", 0, {MiB: 100}, {MiB: 100}),
            **{
                "write_time": 5.0,
                "read_time": 10.0,
                "write_start_timestamp": 60.0,
                "read_end_timestamp": 50.0,
            },
        ),
    ),
    "unaligned_accesses": (
        Job().posix("/scratch/a", write={MiB: 8000}, file_not_aligned=8000, write_time=80.0),
        "8,000 accesses (100 %) do not begin at a multiple of 1 MiB; this costs about 2 s",
        Job().posix("/scratch/a", write={MiB: 8000}, file_not_aligned=700, write_time=80.0),
    ),
    "unaligned_memory": (
        Job().posix("/scratch/a", write={MiB: 8000}, mem_not_aligned=8000),
        "8,000 accesses (100 %) in multiples of 512 bytes, as direct I/O has them, use a buffer that is not aligned",
        # No direct I/O has such sizes; of the others, few are not aligned.
        Job()
        .posix("/scratch/a", write={MiB: 4000, 1000: 4000}, mem_not_aligned=8000)
        .posix("/scratch/b", write={MiB: 8000}, mem_not_aligned=700),
    ),
}

METADATA: dict[str, Case] = {
    "metadata_time": (
        Job().posix("/scratch/a", 0, meta_time=40.0, write={MiB: 10}, write_time=10.0, opens=90),
        "40 s goes into metadata calls, 80 % of the time in POSIX calls: 90 open calls, 1 file",
        # A sum over many ranks is no time that anybody waits.
        Job(nprocs=65536, run_time=37517).posix(
            *("/scratch/a",), write={MiB: 41600}, meta_time=35282.0, write_time=264.0, slowest_rank_time=264.2
        ),
    ),
    "waits_in_file": (
        pipes((4, 99), (5, 99.3)),
        "Processes wait 189 s in 2 opens of 2 files, up to 95 s each",
        pipes((4, 76), (5, 99.3)),
    ),
    "open_close_storm": (
        many(Job(), 40, opens=250, read={100: 10}, meta_time=1.0),
        "10,000 opens of 40 files, for 4 B each; opening and closing takes 5 s",
        many(Job(), 40, opens=250, read={MiB: 25}, meta_time=1.0),
    ),
    "reopened_files": (
        Job().posix("/scratch/log", 0, opens=5000, write={100: 5000}, meta_time=10.0),
        "5,000 opens of 1 file, up to 5,000 of one file by one process; this takes 10 s",
        Job().posix("/scratch/log", opens=800, write={100: 5000}, meta_time=10.0),
    ),
    "database_commits": (
        Job()
        .posix(
            "/s/base.sqlite-journal",
            0,
            opens=500,
            fsyncs=500,
            write={512: 1000},
            write_time=6.0,
            meta_time=2.0,
        )
        .posix("/s/base.sqlite", 0, opens=1, fsyncs=500, write={4096: 1000}, write_time=4.0),
        "The journal of /s/base.sqlite is opened or forced to storage 1,000 times; commits take 12 s",
        Job().posix("/s/base.sqlite-journal", 0, opens=1, fsyncs=90, write={512: 1000}, write_time=6.0),
    ),
    "lock_waits": (
        Job()
        .posix("/s/base", 0, opens=1, meta_time=40.0)
        .section("locks", locks("/s/base", 0, 20.0), locks("/s/base", 1, 30.0), locks("/s/other", 1, 2.0)),
        "32 s goes into waiting for locks on 2 files, most for /s/base",
        Job().posix("/s/base", 0, opens=1, meta_time=1.0).section("locks", locks("/s/base", 0, 0.09)),
    ),
    "stat_storm": (
        Job().posix("/scratch/a", 0, stats=50_000, opens=10, meta_time=10.0),
        "50,000 lookups of files (stat, access), against 10 opens; this takes 10 s",
        Job().posix("/scratch/a", 0, stats=50_000, opens=30_000, meta_time=10.0),
    ),
    "failed_lookups": (
        Job()
        .section("process", process(0, io_time=10.0))
        .section("operation", operation("open", 4000, 8.0, errors=2000), operation("stat", 1000, 1.0)),
        "2,000 of 5,000 lookups of files (40 %) find nothing; this takes 2 s",
        Job()
        .section("process", process(0, io_time=10.0))
        .section("operation", operation("open", 4000, 8.0, errors=900), operation("stat", 1000, 1.0)),
    ),
    "python_imports": (
        split(Job(), "/home/u/env/module.py", 8, opens=100, stats=100, read={KiB: 100}, meta_time=5.0),
        "Python's modules are 1 file, opened 800 times and looked up 800 times; this takes 5 s",
        split(Job(), "/home/u/env/module.txt", 8, opens=100, stats=100, read={KiB: 100}, meta_time=5.0),
    ),
    "many_small_files": (
        many(Job(), 1200, read={10 * KiB: 1}, meta_time=0.02),
        "1,200 files move 10 KiB each; opening, closing and small accesses take 3 s",
        many(Job(), 1200, read={MiB: 1}, meta_time=0.02),
    ),
    "file_per_process": (
        many(Job(nprocs=256), 512, write={MiB: 100}, meta_time=1.0),
        "256 ranks write 512 files of their own, 2.0 each, of 100 MiB; metadata calls take 2 s",
        many(Job(nprocs=255), 512, write={MiB: 100}, meta_time=1.0),
    ),
    "opened_not_used": (
        many(Job(), 600, meta_time=0.08),
        "600 files are opened (600 times) without a read or a write; this takes 6 s",
        many(Job(), 600, meta_time=0.08, read={1: 1}),
    ),
    "sync_storm": (
        Job().posix("/scratch/a", 0, write={KiB: 500}, fsyncs=500, write_time=20.0),
        "Data is forced to storage 500 times (fsync), every 1 KiB; this takes 19.7 s",
        Job().posix("/scratch/a", 0, write={100 * MiB: 500}, fsyncs=500, write_time=20.0),
    ),
    "stdio_flushes": (
        Job().add("stdio", "/scratch/log", 0, writes=5000, flushes=5000, write_time=6.0, meta_time=4.0),
        "5,000 flushes for 5,000 writes to streams; this takes 10 s",
        Job().add("stdio", "/scratch/log", 0, writes=100_000, flushes=5000, write_time=6.0, meta_time=4.0),
    ),
    "directory_churn": (
        Job()
        .section("process", process(0, io_time=10.0))
        .section("operation", operation("unlink", 3000, 6.0), operation("mkdir", 500, 2.0)),
        "3,500 changes and listings of directories (3000 unlink, 500 mkdir) take 8 s",
        Job()
        .section("process", process(0, io_time=10.0))
        .section("operation", operation("unlink", 900, 6.0)),
    ),
}
