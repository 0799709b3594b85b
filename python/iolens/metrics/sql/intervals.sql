-- title: When the jobs ran, with overlapping ones as one interval
-- topic: job
-- layout: table
-- definition: the union of the times from start to start + run time over all logs. log = the first log of an interval,
--   jobs = how many ran in it, start and end in seconds since 1970.
-- unit: seconds
-- needs: a run time; a log without one counts as an instant
-- caveats: The clocks of different machines may differ.
-- source: iolens
WITH job_span AS (
    SELECT log, epoch("start") AS begins, epoch("start") + coalesce(run_time, 0) AS ends FROM job
), marked AS (
    SELECT *, begins > max(ends) OVER (ORDER BY begins, log ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS apart
    FROM job_span
), numbered AS (
    SELECT *, count(*) FILTER (apart) OVER (ORDER BY begins, log ROWS UNBOUNDED PRECEDING) AS island FROM marked
)
SELECT arg_min(log, (begins, log)) AS log, count(*) AS jobs, min(begins) AS "start", max(ends) AS "end",
    max(ends) - min(begins) AS seconds, sum(ends - begins) AS job_seconds
FROM numbered GROUP BY island ORDER BY "start"
