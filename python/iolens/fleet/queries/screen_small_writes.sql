-- title: Jobs with very many small writes to shared files
-- definition: more than $writes writes below 1 MiB to files that several ranks use, by a job without collective writes
--   (metrics small_shared_writes and collective_writes): table 5 of the NERSC screening study, whose text has a
--   million where the table has a hundred million. Jobs of which only totals are known are left out.
-- parameter writes (100000000): small writes
-- parameter since (): started on this day or later (UTC)
-- parameter until (): started on this day or before
-- column log (): its number in the lake
-- column job_id (): the scheduler's number
-- column user (): who ran it
-- column application (): the program
-- column nprocs (count): processes
-- column start (): UTC
-- column run_time (seconds): wall-clock
-- column value (count): writes below 1 MiB to shared files
SELECT log, job_id, "user", application, nprocs, "start", run_time, CAST(value AS BIGINT) AS value
FROM job JOIN (
    SELECT log, max("value") FILTER (name = 'small_shared_writes') AS value,
        max("value") FILTER (name = 'collective_writes') AS collective
    FROM metric WHERE name IN ('small_shared_writes', 'collective_writes') GROUP BY log
) AS m USING (log)
WHERE m.value > $writes AND coalesce(collective, 0) = 0 AND job.format <> 'totals'
    AND ($since = '' OR job."start" >= TRY_CAST($since AS DATE))
    AND ($until = '' OR job."start" < TRY_CAST($until AS DATE) + INTERVAL 1 DAY)
ORDER BY m.value DESC, log
