-- title: Seconds that the verdict counts as I/O
-- topic: time
-- definition: io_time of headline, without waited, which is no I/O: processes that wait for locks on files (lock_wait of
--   lock_waits) or for a processor (queued of processor_waits), ranks that wait for a late one (late_wait of
--   late_ranks), or, where io_time is an estimate, processes that wait for each other in named pipes (waited of
--   pipe_waits). locks, queued: of waited, for locks and for a processor. With hdf5: what HDF5 itself wastes (as_io of
--   hdf5_time).
-- unit: seconds
-- direction: lower
-- needs: any log
-- source: iolens
SELECT log, io_time - waited + hdf5 AS value, waited, locks, queued, hdf5 FROM (
    SELECT log, io_time,
        least(io_time, CASE WHEN basis = 'records' THEN coalesce(pipes.waited, 0) ELSE coalesce(late_wait, 0) + coalesce(lock_wait, 0) + coalesce(queued, 0) END) AS waited,
        coalesce(lock_wait, 0) AS locks, coalesce(queued, 0) AS queued,
        coalesce(as_io, 0) AS hdf5
    FROM (SELECT log FROM job) LEFT JOIN metric.headline USING (log)
    LEFT JOIN (SELECT log, late_wait FROM metric.late_ranks) AS l USING (log)
    LEFT JOIN (SELECT log, lock_wait FROM metric.lock_waits) AS k USING (log)
    LEFT JOIN (SELECT log, any_value(queued) AS queued FROM metric.processor_waits GROUP BY log) AS q USING (log)
    LEFT JOIN (SELECT log, waited FROM metric.pipe_waits) AS pipes USING (log)
    LEFT JOIN (SELECT log, as_io FROM metric.hdf5_time) AS h USING (log)
) ORDER BY log
