-- title: What the rules find in the fleet
-- definition: one row per user, application and finding. Their times overlap: do not add them.
-- parameter rule (): only this rule
-- parameter severity (medium): the least severe that is listed: high, medium, low, info, good
-- parameter new (0): 1: only what no job before $since had
-- parameter rows (20): how many
-- parameter user (): only jobs of this user
-- parameter application (): only jobs of this application
-- parameter cluster (): only jobs of this cluster
-- parameter since (): started on this day or later (UTC)
-- parameter until (): started on this day or before
-- column severity (): the worst: high, medium, low, info or good
-- column rule (): iolens explain RULE explains it
-- column user (): who ran it
-- column application (): the program
-- column jobs (count): in which it was found
-- column time_lost (seconds): in all of them
-- column worst (seconds): in the job that loses most
-- column first (): day of the first such job
-- column last (): day of the last such job
-- column job_id (): of the job that loses most, the first of several
-- column message (): what was found there
WITH chosen AS (
    SELECT f.*, j."user", j.application, j."start", j.job_id,
        list_position(['high', 'medium', 'low', 'info', 'good'], f.severity) AS level
    FROM finding AS f JOIN job AS j USING (log)
    WHERE ($rule = '' OR f.rule = $rule) AND ($user = '' OR j."user" = $user)
        AND ($application = '' OR j.application = $application) AND ($cluster = '' OR j.cluster = $cluster)
        AND ($since = '' OR j."start" >= TRY_CAST($since AS DATE))
        AND ($until = '' OR j."start" < TRY_CAST($until AS DATE) + INTERVAL 1 DAY)
), known AS (
    SELECT DISTINCT f.rule, j."user", j.application FROM finding AS f JOIN job AS j USING (log)
    WHERE $new = 1 AND j."start" < TRY_CAST($since AS DATE)
        AND list_position(['high', 'medium', 'low', 'info', 'good'], f.severity)
            <= list_position(['high', 'medium', 'low', 'info', 'good'], $severity)
), ranked AS (
    SELECT *, row_number() OVER (PARTITION BY rule, "user", application
        ORDER BY time_lost DESC NULLS LAST, "start", log) AS place
    FROM chosen ANTI JOIN known USING (rule, "user", application)
    WHERE level <= list_position(['high', 'medium', 'low', 'info', 'good'], $severity)
), found AS (
    SELECT rule, "user", application, min(level) AS level, count(*) AS jobs, sum(time_lost) AS time_lost,
        max(time_lost) AS worst, CAST(min("start") AS DATE) AS first, CAST(max("start") AS DATE) AS last,
        max(job_id) FILTER (place = 1) AS job_id, max(message) FILTER (place = 1) AS message
    FROM ranked GROUP BY rule, "user", application
)
SELECT list_extract(['high', 'medium', 'low', 'info', 'good'], level) AS severity, rule, "user", application, jobs,
    time_lost, worst, first, last, job_id, message
FROM found ORDER BY level, time_lost DESC NULLS LAST, rule, "user", application LIMIT CAST($rows AS BIGINT)
