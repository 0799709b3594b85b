-- title: Processes that wait for locks on files
-- topic: files
-- layout: table
-- definition: waited is the time of all processes in calls for locks (fcntl, flock, lockf), less what free locks take
--   ($free each, $free_shared if several processes lock the file). lock_wait: of the run, what is no I/O: the time in
--   I/O (headline), less that of all processes without their waits (of an MPI job's longest rank), at most its metadata
--   time, if it is $waited_for of the run or more. A wait while the process with the lock is in I/O thus stays I/O.
--   file: where most of it is; processes: that lock this file.
-- unit: seconds
-- direction: lower
-- needs: locks
-- caveats: Of threads that wait while others of the process are in I/O, at most the metadata time counts as waiting.
-- source: iolens
-- threshold waited_for = 20 %: of the run, from which waits for locks are not in I/O
-- threshold free = 0.1 ms: a lock that no other process holds, on a busy machine
-- threshold free_shared = 0.01 ms: the same where several processes lock the file, so that short waits count
WITH waiting AS (
    SELECT log, rank, file, greatest(0, wait_time - (shared + exclusive)
        * CASE WHEN min(rank) OVER of_file < max(rank) OVER of_file THEN $free_shared ELSE $free END) AS waited
    FROM locks WINDOW of_file AS (PARTITION BY log, file)
), by_rank AS (
    SELECT log, rank, sum(waited) AS waited FROM waiting GROUP BY log, rank
), by_file AS (
    SELECT log, file, sum(waited) AS waited, count(DISTINCT rank)::BIGINT AS processes FROM waiting GROUP BY log, file
), most AS (
    SELECT log, arg_max(file, (waited, file)) AS file, arg_max(processes, (waited, file)) AS processes, sum(waited) AS waited
    FROM by_file GROUP BY log
), left_over AS (
    SELECT log, CASE WHEN max(mpi) <> '' THEN max(rest) FILTER (mpi <> '') ELSE sum(rest) END AS rest FROM (
        SELECT log, max(mpi) AS mpi, sum(io_time) - least(coalesce(any_value(waited), 0), sum(meta_time)) AS rest
        FROM process LEFT JOIN by_rank USING (log, rank) GROUP BY log, rank
    ) GROUP BY log
)
SELECT log, file, processes, waited, CASE WHEN beyond >= $waited_for * run_time THEN beyond ELSE 0 END AS lock_wait FROM (
    SELECT log, file, processes, waited, run_time, greatest(0, least(io_time - rest, meta_time)) AS beyond
    FROM most JOIN left_over USING (log) JOIN metric.headline USING (log)
) ORDER BY log
