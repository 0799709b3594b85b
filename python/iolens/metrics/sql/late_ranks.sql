-- title: Ranks that wait in MPI-IO for one that comes late
-- topic: ranks and layers
-- layout: table
-- definition: of files that all ranks share, where all ranks but the fastest spend about as long in MPI-IO as the slowest one (its
--   time's $alike on average), and that one at most $part of it: they wait for it. waited is what the slowest rank
--   spent more, without what the file system took of any rank (POSIX), over all such files whose wait is $share of the run or
--   more. late_wait: of it, what is no I/O: all, at most the time in I/O, if it is $waited_for of the run. late is the rank that comes late to the file with the longest wait. below: the file system's part is known of
--   all of them.
-- unit: seconds
-- direction: lower
-- needs: mpiio
-- caveats: Only where a record tells the slowest and the fastest rank: of files that all ranks used.
-- source: iolens
-- threshold part = 50 %: of the slowest rank's time in MPI-IO: ranks that come at about the same time differ by less
-- threshold alike = 70 %: of the slowest rank's time, the mean of all but the fastest: where few ranks are slow, these are the matter
-- threshold waited_for = 20 %: of the run, from which ranks that wait for a late one are not in I/O
-- threshold share = 5 %: of the run: below this there is little to gain
SELECT log, count(*) AS files, arg_max(late, waited) AS late, any_value(nprocs) - 1 AS others, sum(waited) AS waited, bool_and(below) AS below,
    CASE WHEN bool_and(below) AND sum(waited) >= $waited_for * any_value(run_time) THEN least(sum(waited), any_value(io_time)) ELSE 0 END AS late_wait
FROM (
    SELECT r.log, r.fastest_rank AS late, job.nprocs, job.run_time, h.io_time, slowest_time - fastest_time - coalesce(p.seconds, 0) AS waited,
        p.seconds IS NOT NULL AS below
    FROM record AS r JOIN job USING (log) JOIN metric.headline AS h USING (log)
    LEFT JOIN (SELECT log, id, max(io_time) AS seconds FROM record WHERE interface = 'posix' GROUP BY log, id) AS p ON p.log = r.log AND p.id = r.id
    WHERE r.interface = 'mpiio' AND r.rank < 0 AND job.nprocs > 1 AND fastest_time <= (1 - $part) * slowest_time
        AND total_time - fastest_time >= $alike * slowest_time * (job.nprocs - 1)
) WHERE waited > $share * run_time GROUP BY log ORDER BY log
