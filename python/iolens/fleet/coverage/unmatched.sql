-- title: Logs that belong to no run of the accounting's days
-- definition: unknown: no run has the job's number; elsewhen: one has, but the log began neither in it nor near it, by so many
--   seconds on average: a number used again, or times read in a wrong zone.
WITH period AS (
    SELECT min("start") - to_seconds($slack) AS first, max("end") + to_seconds($slack) AS last FROM accounted_run
), outside AS (
    SELECT l.log, l.job_id, l."start" FROM job AS l, period
    WHERE l."start" BETWEEN first AND last AND NOT EXISTS (
        SELECT 1 FROM accounted_run AS r
        WHERE r.job_id = l.job_id
            AND l."start" BETWEEN r."start" - to_seconds($slack) AND r."end" + to_seconds($slack)
    )
)
SELECT count(*) FILTER (known IS NULL) AS unknown, count(*) FILTER (known IS NOT NULL) AS elsewhen,
    median(known) AS seconds_off
FROM (
    SELECT o.log, min_by(epoch(o."start" - r."start"), abs(epoch(o."start" - r."start"))) AS known
    FROM outside AS o LEFT JOIN accounted_run AS r USING (job_id) GROUP BY o.log
)
