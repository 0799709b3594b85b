-- title: Calls on files that wait for a processor
-- topic: time
-- layout: table
-- definition: a row for each process. began: when the job did, or where the process's previous program ended. in_io:
--   the part of its io_time in which it was ready to run and others used the processor. A process with one thread is
--   in its calls for at most as long as it sleeps or runs in the kernel: its life without its time in user mode and
--   without processor_wait. in_io is what io_time has beyond that. It is 0 for processes that sleep for longer than
--   they run in the kernel, whose waits follow sleeps for storage, and for those with several threads (but for idle
--   ones: processor_threads), where one may sleep while another one waits. queued, of the whole job: the part of headline's io_time that in_io is of
--   the io_time of all processes (of an MPI job's longest rank), if it is $waited_for of the run or more.
-- unit: seconds
-- needs: process
-- caveats: A lower bound, but for waits before iolens ran in the process.
-- source: iolens; processor time: getrusage(2); waits for a processor: schedstat
-- threshold waited_for = 10 %: of the run, from which waits for a processor are not in I/O
WITH known AS (
    SELECT *, lag(ended) OVER of_process AS ended_before, lag("end") OVER of_process AS end_before
    FROM process WHERE user_time >= 0 AND ended <> 'missing' WINDOW of_process AS (PARTITION BY log, pid ORDER BY "start")
), loaded AS (
    SELECT *, CASE WHEN ended_before = 'exec' THEN end_before ELSE "start" END AS after_image FROM known
), lives AS (
    SELECT *, CASE WHEN row_number() OVER (PARTITION BY log ORDER BY after_image) = 1 THEN least(0, after_image) ELSE after_image END AS began
    FROM loaded
), waited AS (
    SELECT *, CASE WHEN processor_threads = 1 AND "end" - began - user_time - processor_wait <= 2 * system_time
        THEN greatest(0, least(io_time, processor_wait, io_time - greatest(0, "end" - began - user_time - processor_wait))) ELSE 0 END AS in_io
    FROM lives
), by_rank AS (
    SELECT log, rank, max(mpi) AS mpi, sum(in_io) AS in_io, sum(io_time) AS io_time FROM waited GROUP BY log, rank
), part AS (
    SELECT log, CASE WHEN max(mpi) <> '' THEN arg_max(in_io / nullif(io_time, 0), io_time) FILTER (mpi <> '') ELSE sum(in_io) / nullif(sum(io_time), 0) END AS part
    FROM by_rank GROUP BY log
)
SELECT log, rank, pid, "start", began, in_io, CASE WHEN part * h.io_time >= $waited_for * run_time THEN part * h.io_time ELSE 0 END AS queued
FROM waited JOIN part USING (log) JOIN (SELECT log, run_time, io_time FROM metric.headline) AS h USING (log)
ORDER BY log, rank, "start"
