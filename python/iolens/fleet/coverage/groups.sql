-- title: Part of users, jobs and core hours with a log
-- definition: users: completed a job in the group; users_logged: of these, those with a log of any job in the group; jobs: runs
--   that started in the group, whatever their end; core_hours: of these. A group is a day, or what else is asked for.
-- source: NERSC, figures 7 and 8
WITH of_user AS (
    SELECT $key AS key, "user", bool_or(state = 'COMPLETED') AS active, bool_or(logs > 0) AS logged,
        count(*) AS jobs, count(*) FILTER (logs > 0) AS jobs_logged,
        sum(core_seconds) AS seconds, sum(core_seconds) FILTER (logs > 0) AS seconds_logged
    FROM accounted_run WHERE $where GROUP BY ALL
)
SELECT key, count(*) FILTER (active AND "user" IS NOT NULL) AS users,
    count(*) FILTER (active AND logged AND "user" IS NOT NULL) AS users_logged,
    sum(jobs)::BIGINT AS jobs, sum(jobs_logged)::BIGINT AS jobs_logged,
    coalesce(sum(seconds), 0) / 3600 AS core_hours, coalesce(sum(seconds_logged), 0) / 3600 AS core_hours_logged
FROM of_user GROUP BY key ORDER BY $order
