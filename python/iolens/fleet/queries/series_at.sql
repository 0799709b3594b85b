-- title: The state of the file system while jobs ran
-- definition: the mean of each series (`--series`) over the hours in which a job ran, and its place among the same
--   application's other runs: the part of them with less.
-- column log (): its number in the lake
-- column series (): its name
-- column value (): mean over the job's hours
-- column place (): among the runs, 0 to 1; empty for one alone
WITH during AS (
    SELECT j.log, j."user", j.application, s.name AS series, avg(s.value) AS value
    FROM fleet.jobs AS j JOIN series AS s
        ON s.time >= date_trunc('hour', j."start")
        AND s.time < date_trunc('hour', coalesce(j."end", j."start")) + INTERVAL 1 HOUR
    GROUP BY j.log, j."user", j.application, s.name
)
SELECT log, series, value, CASE WHEN count(*) OVER (PARTITION BY "user", application, series) > 1
    THEN percent_rank() OVER (PARTITION BY "user", application, series ORDER BY value) END AS place
FROM during ORDER BY series, log
