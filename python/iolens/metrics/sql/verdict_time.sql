-- title: Seconds that the verdict counts as I/O
-- topic: time
-- definition: io_time of headline, without waited, which is no I/O: ranks that wait for a late one (late_wait of
--   late_ranks), or, where io_time is an estimate, processes that wait for each other in named pipes (waited of
--   pipe_waits). With hdf5: what HDF5 itself wastes (as_io of hdf5_time).
-- unit: seconds
-- direction: lower
-- needs: any log
-- source: iolens
SELECT log, io_time - waited + hdf5 AS value, waited, hdf5 FROM (
    SELECT log, io_time,
        coalesce(CASE WHEN basis = 'records' THEN least(io_time, coalesce(pipes.waited, 0)) ELSE late_wait END, 0) AS waited,
        coalesce(as_io, 0) AS hdf5
    FROM (SELECT log FROM job) LEFT JOIN metric.headline USING (log)
    LEFT JOIN (SELECT log, late_wait FROM metric.late_ranks) AS l USING (log)
    LEFT JOIN (SELECT log, waited FROM metric.pipe_waits) AS pipes USING (log)
    LEFT JOIN (SELECT log, as_io FROM metric.hdf5_time) AS h USING (log)
) ORDER BY log
