-- title: Findings with their jobs
-- definition: one row per finding of $severity or worse: what notices are made of.
-- parameter severity (medium): the least severe
-- column rule (): iolens explain RULE explains it
-- column title (): of the rule
-- column severity (): high, medium, low, info or good
-- column message (): one sentence, with numbers
-- column user (): who ran it
-- column application (): the program
-- column log (): its number in the lake
-- column path (): of the log
-- column job_id (): the scheduler's number
-- column time_lost (seconds): wall-clock that it accounts for
-- column share (percent): of the run time
-- column start (): UTC
-- column run_time (seconds): wall-clock
-- column nprocs (count): processes
-- column cluster (): where it ran
SELECT f.rule, f.title, f.severity, f.message, j."user", j.application, j.log, j.path, j.job_id, f.time_lost, f.share,
    j."start", j.run_time, j.nprocs, coalesce(j.cluster, '') AS cluster
FROM finding AS f JOIN job AS j USING (log)
WHERE list_position(['high', 'medium', 'low', 'info', 'good'], f.severity)
    <= list_position(['high', 'medium', 'low', 'info', 'good'], $severity)
ORDER BY j.log, f.rule
