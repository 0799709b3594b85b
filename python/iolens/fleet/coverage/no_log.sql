-- title: Jobs that started under iolens and left no log, by how they ended
-- definition: started: runs that accounting says were observed, or that left a log; no_log: of these, those without one.
-- source: Snyder et al. 2016: 30 % of the jobs with Darshan, 45 % of their core hours
SELECT state, count(*) AS started, count(*) FILTER (logs = 0) AS no_log,
    coalesce(sum(core_seconds), 0) / 3600 AS core_hours,
    coalesce(sum(core_seconds) FILTER (logs = 0), 0) / 3600 AS core_hours_no_log
FROM accounted_run WHERE (observed OR logs > 0) AND $where GROUP BY state ORDER BY no_log DESC, state
