-- title: Jobs
-- definition: jobs of job_search: $rows after the first $skip, in order of $by; unknown values last.
-- parameter by (start): what they are sorted by: start, job_id, user, application, cluster, nprocs, run_time, io_time,
--   bytes_read, bytes_written, time_lost, findings
-- parameter down (1): 1: the largest, or the last, first
-- parameter rows (50): how many
-- parameter skip (0): how many come before
-- column log (): its number in the lake
-- column job_id (): the scheduler's number
-- column user (): who ran it
-- column application (): the program
-- column cluster (): where it ran
-- column nprocs (count): processes
-- column start (): UTC
-- column run_time (seconds): wall-clock
-- column io_time (seconds): wall-clock in I/O
-- column verdict_time (seconds): of these and of HDF5's, what the verdict counts as I/O
-- column bytes_read (bytes): by the program
-- column bytes_written (bytes): by the program
-- column time_lost (seconds): of the costliest finding of severity high or medium
-- column findings (count): of severity high or medium
-- column exe (): the command line
WITH keyed AS (
    SELECT *, CASE $by WHEN 'start' THEN epoch("start") WHEN 'job_id' THEN job_id WHEN 'nprocs' THEN nprocs
            WHEN 'run_time' THEN run_time WHEN 'io_time' THEN io_time WHEN 'bytes_read' THEN bytes_read
            WHEN 'bytes_written' THEN bytes_written WHEN 'time_lost' THEN time_lost WHEN 'findings' THEN findings END
            * CASE WHEN $down = 1 THEN -1 ELSE 1 END AS place,
        CASE $by WHEN 'user' THEN "user" WHEN 'application' THEN application WHEN 'cluster' THEN cluster END AS word
    FROM fleet.job_search
)
SELECT log, job_id, "user", application, cluster, nprocs, "start", run_time, io_time, verdict_time, bytes_read,
    bytes_written, time_lost, findings, exe
FROM keyed ORDER BY place NULLS LAST, CASE WHEN $down = 1 THEN word END DESC NULLS LAST,
    CASE WHEN $down <> 1 THEN word END NULLS LAST, log
LIMIT CAST($rows AS BIGINT) OFFSET CAST($skip AS BIGINT)
