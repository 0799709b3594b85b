-- title: MPI communication by kind of call
-- topic: time
-- layout: table
-- definition: time: seconds in all MPI communication calls, for the average process; slowest, fastest: for the
--   processes with the most and the least. share = time / run time. waiting: seconds for other ranks before collective
--   calls, for the average process, if measured (--mpi-communication=sync); not part of time. uncounted_time: the part
--   of time in calls without a counter in Darshan's record (neighborhood collectives, starts of persistent requests,
--   MPI 4), for the average process; uncounted_calls and uncounted_bytes: sums over all processes.
-- unit: seconds, part of 1, calls, bytes
-- direction: lower
-- needs: apmpi
-- caveats: In Darshan's logs, time includes calls inside MPI-IO and waiting for files, and excludes calls without
--   counters.
-- source: iolens
WITH beside AS (
    SELECT log, sum(count) AS calls, sum(bytes) AS bytes, sum(time) AS time FROM communication GROUP BY log
)
SELECT log, sum(total_comm_time) / nprocs AS time, max(total_comm_time) AS slowest, min(total_comm_time) AS fastest,
    sum(total_comm_time) / nprocs / any_value(run_time) AS share,
    coalesce(sum(total_comm_sync_time), 0) / nprocs AS waiting, coalesce(any_value(beside.time), 0) / nprocs AS uncounted_time,
    coalesce(any_value(beside.calls), 0)::BIGINT AS uncounted_calls, coalesce(any_value(beside.bytes), 0)::BIGINT AS uncounted_bytes
FROM apmpi JOIN job USING (log) LEFT JOIN beside USING (log)
WHERE total_comm_time IS NOT NULL
GROUP BY log, nprocs
ORDER BY log
