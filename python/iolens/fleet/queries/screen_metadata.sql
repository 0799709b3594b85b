-- title: Jobs that spend their I/O time in metadata
-- definition: metadata time / all I/O time (metric metadata_ratio) of $ratio or more, more than $seconds of it per
--   process, and $ranks processes or more: table 4 of the NERSC screening study.
-- parameter ratio (0.25): of metadata time to read, write and metadata time
-- parameter seconds (30): in metadata calls, per process
-- parameter ranks (192): processes
-- parameter since (): started on this day or later (UTC)
-- parameter until (): started on this day or before
-- column log (): its number in the lake
-- column job_id (): the scheduler's number
-- column user (): who ran it
-- column application (): the program
-- column nprocs (count): processes
-- column start (): UTC
-- column run_time (seconds): wall-clock
-- column value (percent): part of the I/O time that is metadata
-- column per_process (seconds): in metadata calls
SELECT log, job_id, "user", application, nprocs, "start", run_time, value, metadata_time / nprocs AS per_process
FROM job JOIN (
    SELECT log, max("value") FILTER (name = 'metadata_ratio') AS value,
        max("value") FILTER (name = 'metadata_time') AS metadata_time
    FROM metric WHERE name IN ('metadata_ratio', 'metadata_time') GROUP BY log
) AS m USING (log)
WHERE m.value >= $ratio AND metadata_time / nprocs > $seconds AND nprocs >= $ranks
    AND ($since = '' OR job."start" >= TRY_CAST($since AS DATE))
    AND ($until = '' OR job."start" < TRY_CAST($until AS DATE) + INTERVAL 1 DAY)
ORDER BY m.value DESC, log
