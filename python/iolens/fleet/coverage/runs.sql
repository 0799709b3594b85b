-- title: Runs of jobs as the scheduler accounted for them, with the logs that they left
-- definition: A log belongs to the run of its user with its job's number that it began in, within $slack seconds of its start
--   and end; of several (a number that was used again, a job that was requeued) to the one that began last before it. A user
--   that this machine knows by number alone is any user. A run that was accounted for several times counts as it was told
--   last. Runs that have not ended are left out.
-- parameters: slack = 600
WITH told AS (
    SELECT *, row_number() OVER () AS run FROM (
        FROM accounting QUALIFY row_number() OVER (
            PARTITION BY cluster, job_id, array_task, "start" ORDER BY told DESC, "end" DESC NULLS LAST
        ) = 1
    ) WHERE "end" IS NOT NULL
), left_by AS (
    SELECT log, run FROM (
        SELECT log, job_id, "start" AS began, cluster AS its_cluster, "user" AS its_user FROM job
    ) AS l
    JOIN told AS r USING (job_id)
    WHERE began BETWEEN r."start" - to_seconds($slack) AND r."end" + to_seconds($slack)
        AND coalesce(its_cluster = r.cluster, true)
        AND coalesce(its_user = r."user" OR regexp_full_match(its_user, '[0-9]*'), true)
    QUALIFY row_number() OVER (
        PARTITION BY log ORDER BY began + to_seconds($slack) < r."start", r."start" > began, abs(epoch(began - r."start")), run
    ) = 1
), counted AS (SELECT run, count(*) AS logs FROM left_by GROUP BY run)
SELECT t.*, t."start"::DATE AS on_day, coalesce(logs, 0) AS logs FROM told AS t LEFT JOIN counted USING (run)
