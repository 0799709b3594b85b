-- title: Projects and applications, compared with the days before
-- definition: one row per project and application: the $days days up to $until (empty: the last day with jobs), and as
--   many days before them. project: what the scheduler charged, empty where no accounting says it. time_lost of a job is
--   that of its costliest finding.
-- parameter days (7): of each of the two periods
-- parameter rows (20): how many
-- parameter user (): only jobs of this user
-- parameter application (): only jobs of this application
-- parameter cluster (): only jobs of this cluster
-- parameter until (): the last day (UTC)
-- column application (): the program
-- column account (): the project
-- column jobs (count): with a log
-- column jobs_before (count): in the days before
-- column core_hours (factor): processes times hours
-- column core_hours_before (factor): in the days before
-- column io_time (seconds): wall-clock in I/O
-- column io_time_before (seconds): in the days before
-- column time_lost (seconds): wall-clock that findings account for
-- column time_lost_before (seconds): in the days before
WITH ending AS (
    SELECT CAST(coalesce(TRY_CAST($until AS DATE), CAST(max("start") AS DATE)) AS TIMESTAMP) + INTERVAL 1 DAY AS stop
    FROM job
), placed AS (
    SELECT m.*, ceil((epoch(stop) - epoch("start")) / (86400 * $days)) AS period
    FROM fleet.measured AS m CROSS JOIN ending
    WHERE ($user = '' OR "user" = $user) AND ($application = '' OR application = $application)
        AND ($cluster = '' OR cluster = $cluster)
), recent AS (
    SELECT * FROM placed WHERE period IN (1, 2)
), charged AS (
    SELECT r.log, max(a.account) AS account FROM recent AS r JOIN accounting AS a USING (job_id)
    WHERE a."user" = r."user" AND coalesce(r.cluster = a.cluster, TRUE)
        AND r."start" >= a."start" - INTERVAL 10 MINUTE
        AND coalesce(r."start" <= a."end" + INTERVAL 10 MINUTE, TRUE)
    GROUP BY r.log
), summed AS (
    SELECT application, coalesce(account, '') AS account, count(*) FILTER (period = 1) AS jobs,
        count(*) FILTER (period = 2) AS jobs_before,
        coalesce(sum(run_time * nprocs) FILTER (period = 1) / 3600, 0) AS core_hours,
        coalesce(sum(run_time * nprocs) FILTER (period = 2) / 3600, 0) AS core_hours_before,
        coalesce(sum(io_time) FILTER (period = 1), 0) AS io_time,
        coalesce(sum(io_time) FILTER (period = 2), 0) AS io_time_before,
        coalesce(sum(time_lost) FILTER (period = 1), 0) AS time_lost,
        coalesce(sum(time_lost) FILTER (period = 2), 0) AS time_lost_before
    FROM recent LEFT JOIN charged USING (log) GROUP BY coalesce(account, ''), application
)
SELECT * FROM summed
ORDER BY time_lost DESC, io_time DESC, account, application LIMIT CAST($rows AS BIGINT)
