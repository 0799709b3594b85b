-- title: Jobs that read data more than once
-- definition: more than $bytes read beyond the size of the job's files (metric redundant_reads): table 3 of the NERSC
--   screening study. Jobs of which only totals are known are left out.
-- parameter bytes (1099511627776): redundant read threshold
-- parameter since (): started on this day or later (UTC)
-- parameter until (): started on this day or before
-- column log (): its number in the lake
-- column job_id (): the scheduler's number
-- column user (): who ran it
-- column application (): the program
-- column nprocs (count): processes
-- column start (): UTC
-- column run_time (seconds): wall-clock
-- column value (bytes): bytes read more than once, at least
SELECT log, job_id, "user", application, nprocs, "start", run_time, CAST(value AS BIGINT) AS value
FROM job JOIN metric AS m USING (log)
WHERE m.name = 'redundant_reads' AND m.value > $bytes AND job.format <> 'totals'
    AND ($since = '' OR job."start" >= TRY_CAST($since AS DATE))
    AND ($until = '' OR job."start" < TRY_CAST($until AS DATE) + INTERVAL 1 DAY)
ORDER BY m.value DESC, log
