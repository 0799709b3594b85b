-- title: What the rules found in a job
-- definition: findings of every log of the scheduler's job $id, the most severe first.
-- parameter id (0): the scheduler's number
-- column log (): its number in the lake
-- column severity (): high, medium, low, info or good
-- column rule (): iolens explain RULE explains it
-- column time_lost (seconds): wall-clock that it accounts for
-- column share (percent): of the run time
-- column message (): one sentence, with numbers
SELECT log, severity, rule, time_lost, share, message
FROM finding WHERE log IN (SELECT log FROM job WHERE job_id = CAST($id AS BIGINT))
ORDER BY CASE severity WHEN 'high' THEN 0 WHEN 'medium' THEN 1 WHEN 'low' THEN 2 WHEN 'info' THEN 3 ELSE 4 END,
    time_lost DESC NULLS LAST, rule, log
