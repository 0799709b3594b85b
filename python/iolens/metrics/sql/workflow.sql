-- title: All logs as one: a workflow, the steps of a job, an ensemble
-- topic: job
-- layout: table
-- definition: busy = seconds during which at least one of the jobs ran; span = first start to last end; concurrency =
--   sum of run times / busy; bytes and io_seconds = sums of headline; files by name. One row, log = null.
-- unit: seconds, bytes
-- needs: useful with more than one log
-- caveats: The span of jobs that are days apart is no run time. The clocks of different machines may differ.
-- source: iolens
WITH moved AS (
    SELECT sum(bytes_read)::BIGINT AS bytes_read, sum(bytes_written)::BIGINT AS bytes_written, sum(io_time) AS io_seconds
    FROM metric.headline
), named AS (
    SELECT count(DISTINCT coalesce(name, id::VARCHAR)) AS files FROM own_file LEFT JOIN name_of USING (log, id)
), time AS (
    SELECT count(*) AS intervals, sum(jobs)::BIGINT AS jobs, sum(seconds) AS busy, sum(job_seconds) AS job_seconds,
        max("end") - min("start") AS span
    FROM metric.intervals
), shape AS (
    SELECT sum(nprocs)::BIGINT AS processes, count(DISTINCT uid) AS users FROM job
)
SELECT NULL::INTEGER AS log, jobs, intervals, busy, span, span - busy AS idle,
    job_seconds / nullif(busy, 0) AS concurrency, processes, users, files, bytes_read, bytes_written, io_seconds
FROM time, moved, named, shape
