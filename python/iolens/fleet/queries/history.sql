-- title: The runs of an application
-- definition: one row per run, in order of time, with its place among its peers: the runs of the same application and
--   user with as many processes. rate: bytes read and written per second in I/O. *_place: the part of the peers with
--   less, 0 to 1; empty for a run without peers.
-- column log (): its number in the lake
-- column job_id (): the scheduler's number
-- column user (): who ran it
-- column nprocs (count): processes
-- column start (): UTC
-- column end (): UTC
-- column peers (count): runs with as many processes, this one included
-- column run_time (seconds): wall-clock
-- column run_time_place (percent): part of its peers that have less
-- column io_time (seconds): wall-clock in I/O
-- column io_time_place (percent): part of its peers that have less
-- column bytes_read (bytes): by the program
-- column bytes_written (bytes): by the program
-- column rate (rate): bytes per second in I/O
-- column rate_place (percent): part of its peers that have less
-- column metadata_time (seconds): over all processes
-- column metadata_time_place (percent): part of its peers that have less
-- column time_lost (seconds): of the costliest finding of severity high or medium
WITH run AS (
    SELECT *, (coalesce(bytes_read, 0) + coalesce(bytes_written, 0)) / nullif(io_time, 0) AS rate
    FROM fleet.jobs
)
SELECT log, job_id, "user", nprocs, "start", "end", count(*) OVER alike AS peers,
    run_time, CASE WHEN count(run_time) OVER alike > 1 AND run_time IS NOT NULL
        THEN percent_rank() OVER (PARTITION BY "user", application, nprocs, run_time IS NULL ORDER BY run_time) END
        AS run_time_place,
    io_time, CASE WHEN count(io_time) OVER alike > 1 AND io_time IS NOT NULL
        THEN percent_rank() OVER (PARTITION BY "user", application, nprocs, io_time IS NULL ORDER BY io_time) END
        AS io_time_place,
    bytes_read, bytes_written,
    rate, CASE WHEN count(rate) OVER alike > 1 AND rate IS NOT NULL
        THEN percent_rank() OVER (PARTITION BY "user", application, nprocs, rate IS NULL ORDER BY rate) END AS rate_place,
    metadata_time, CASE WHEN count(metadata_time) OVER alike > 1 AND metadata_time IS NOT NULL
        THEN percent_rank() OVER (PARTITION BY "user", application, nprocs, metadata_time IS NULL ORDER BY metadata_time)
        END AS metadata_time_place,
    time_lost
FROM run WINDOW alike AS (PARTITION BY "user", application, nprocs) ORDER BY "start", log
