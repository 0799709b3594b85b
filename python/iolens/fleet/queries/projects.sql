-- title: Projects by what the scheduler charged, and what of it has logs
-- definition: sums over the accounting, by account: every run that has ended, in its latest state.
-- parameter rows (50): how many
-- column account (): the project
-- column users (count): whose jobs were charged to it
-- column jobs (count): that ended
-- column core_hours (factor): cores times hours
-- column logged_jobs (count): of these, with a log
-- column logged (percent): of the jobs have a log
WITH run AS (
    FROM accounting WHERE "end" IS NOT NULL QUALIFY row_number() OVER (
        PARTITION BY cluster, job_id, array_task, "start" ORDER BY told DESC, "end" DESC NULLS LAST) = 1
), seen AS (SELECT DISTINCT job_id, "user" FROM job)
SELECT coalesce(account, '') AS account, count(DISTINCT run."user") AS users, count(*) AS jobs,
    sum(core_seconds) / 3600 AS core_hours, count(seen.job_id) AS logged_jobs, count(seen.job_id) / count(*) AS logged
FROM run LEFT JOIN seen ON seen.job_id = run.job_id AND seen."user" = run."user"
GROUP BY account ORDER BY core_hours DESC NULLS LAST, account LIMIT CAST($rows AS BIGINT)
