-- title: Jobs that are looked for
-- definition: jobs by a part of the command line, application or user, or by number.
-- parameter text (): part of the command line, application or user; or the job's number
-- parameter found (0): 1: only jobs with findings of severity high or medium
SELECT * FROM fleet.jobs
WHERE ($text = '' OR contains(lower(exe), lower($text)) OR contains(lower(application), lower($text))
        OR contains(lower("user"), lower($text)) OR CAST(job_id AS VARCHAR) = $text)
    AND ($found = 0 OR findings > 0)
