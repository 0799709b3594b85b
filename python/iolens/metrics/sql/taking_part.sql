-- title: Processes that take part in a job's I/O
-- topic: job
-- layout: table
-- definition: what "per process" divides by in every metric and rule, unless stated: the ranks of an MPI job; in a
--   tree of processes, those with records of a file, or all where a record is of all. At least 1.
-- unit: processes
-- needs: any log
-- caveats: Other processes of a job (shells, launchers, /bin/true) have no record and do not count.
-- source: iolens
WITH tree AS (
    SELECT log FROM process GROUP BY log HAVING count(*) FILTER (coalesce(mpi, '') <> '') = 0
), present AS (
    SELECT log, count(DISTINCT rank) AS processes, bool_or(rank < 0) AS everyone FROM record GROUP BY log
)
SELECT job.log, greatest(1, CASE WHEN tree.log IS NULL OR everyone THEN nprocs ELSE coalesce(processes, 1) END)::BIGINT AS processes
FROM job LEFT JOIN tree USING (log) LEFT JOIN present USING (log)
ORDER BY job.log
