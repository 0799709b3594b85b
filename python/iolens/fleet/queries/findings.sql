-- title: What the rules find in the fleet
-- definition: one row per user, application and rule, as notices are. Seconds of several rules may be the same: they do
--   not add up to what a user loses.
-- parameter rule (): only this rule; all, if it is empty
-- parameter severity (medium): the least severe that is listed
-- parameter rows (20): how many
-- parameter user (): only this user
-- parameter application (): only this application
-- parameter cluster (): only this cluster
-- column severity (): the worst: high, medium, low, info or good
-- column rule (): iolens explain RULE tells what it looks at
-- column user (): whose jobs
-- column application (): the program
-- column jobs (count): in which it was found
-- column time_lost (seconds): in all of them
-- column worst (seconds): in the job that loses most
-- column first (): day of the first such job
-- column last (): day of the last such job
-- column job_id (): of the job that loses most
-- column message (): what was found there
WITH ranked AS (
    SELECT f.*, list_position(['high', 'medium', 'low', 'info', 'good'], f.severity) AS level FROM finding AS f
), found AS (
    SELECT r.rule, j."user", j.application, min(r.level) AS level, count(*) AS jobs, sum(r.time_lost) AS time_lost,
        max(r.time_lost) AS worst, CAST(min(j."start") AS DATE) AS first, CAST(max(j."start") AS DATE) AS last,
        arg_max(j.job_id, coalesce(r.time_lost, 0)) AS job_id, arg_max(r.message, coalesce(r.time_lost, 0)) AS message
    FROM ranked AS r JOIN job AS j USING (log)
    WHERE ($rule = '' OR r.rule = $rule) AND ($user = '' OR j."user" = $user)
        AND ($application = '' OR j.application = $application) AND ($cluster = '' OR j.cluster = $cluster)
        AND r.level <= list_position(['high', 'medium', 'low', 'info', 'good'], $severity)
    GROUP BY r.rule, j."user", j.application
)
SELECT list_extract(['high', 'medium', 'low', 'info', 'good'], level) AS severity, rule, "user", application, jobs,
    time_lost, worst, first, last, job_id, message
FROM found ORDER BY level, time_lost DESC NULLS LAST, rule, "user", application LIMIT CAST($rows AS BIGINT)
