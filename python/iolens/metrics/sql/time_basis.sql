-- title: How seconds of ranks become seconds of the run
-- topic: time
-- layout: table
-- definition: tree = the ranks are the processes of a tree, which may run one after another, not MPI's.
--   In a tree the seconds of all ranks are added and scaled by io_time / their sum; in an MPI job the slowest rank counts, of each shared file
--   the slowest in it, scaled by run time / their sum if that is more than the run time.
-- unit: factor
-- needs: any interface's records
-- caveats: A tree's I/O that overlaps is scaled down evenly, whoever waited for it.
-- source: iolens
WITH tree AS (
    SELECT log, count(*) FILTER (coalesce(mpi, '') <> '') = 0 AS tree, sum(io_time) AS process_time
    FROM process GROUP BY log
), slowest AS (
    SELECT log, interface, max(time_by_slowest) AS time_by_slowest FROM metric.perf GROUP BY ALL
)
SELECT log, interface, coalesce(tree, false) AS tree,
    CASE WHEN tree THEN coalesce(least(1, io_time / nullif(process_time, 0)), 1)
    ELSE coalesce(least(1, run_time / nullif(time_by_slowest, 0)), 1) END AS scale
FROM metric.headline CROSS JOIN (SELECT unnest(['posix', 'mpiio', 'stdio']) AS interface)
LEFT JOIN tree USING (log) LEFT JOIN slowest USING (log, interface)
ORDER BY log, interface
