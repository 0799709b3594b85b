-- title: A job's MPI-IO calls and what they cost
-- topic: time
-- layout: table
-- definition: counts are sums over ranks. Columns that end in _time are seconds of the run (time_basis); for a shared
--   file the slowest rank's, divided in the proportions of the sums. The overhead of an access is taken to be the time
--   of moving 256 KiB: indep_read_cost_time is the overhead of independent reads. Two rows per log: shared = false for
--   everything, true for files used by more than one rank.
-- unit: calls, bytes, seconds
-- needs: mpiio
-- caveats: Logs do not record sizes by kind of call: a file's mean size stands for all of its accesses.
-- source: iolens
WITH used AS (
    SELECT log, id FROM mpiio GROUP BY log, id HAVING bool_or(rank < 0) OR count(DISTINCT rank) > 1
), weighted AS (
    SELECT mpiio.*, used.id IS NOT NULL AS of_many,
        greatest(indep_reads, 0) AS ir, greatest(indep_writes, 0) AS iw,
        greatest(coll_reads, 0) + greatest(split_reads, 0) AS cr, greatest(coll_writes, 0) + greatest(split_writes, 0) AS cw,
        greatest(nb_reads, 0) AS nr, greatest(nb_writes, 0) AS nw,
        CASE WHEN rank >= 0 THEN 1
            WHEN slowest_rank_time > 0 THEN coalesce(slowest_rank_time / nullif(read_time + write_time + meta_time, 0), 0)
            ELSE 1 / nprocs END AS wall
    FROM mpiio JOIN job USING (log) LEFT JOIN used USING (log, id)
), ranked AS (
    SELECT log, scope.shared, rank, tree, count(*) AS files,
        sum(ir) AS indep_reads, sum(iw) AS indep_writes, sum(cr) AS coll_reads, sum(cw) AS coll_writes,
        sum(nr) AS nb_reads, sum(nw) AS nb_writes, sum(greatest(syncs, 0)) AS syncs,
        sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written,
        any_value(scale) * sum(wall * read_time) AS read_time, any_value(scale) * sum(wall * write_time) AS write_time,
        any_value(scale) * sum(wall * meta_time) AS meta_time,
        any_value(scale) * sum(wall * read_time * ir * 262144 / nullif(262144 * (ir + cr + nr) + bytes_read, 0)) AS indep_read_cost_time,
        any_value(scale) * sum(wall * write_time * iw * 262144 / nullif(262144 * (iw + cw + nw) + bytes_written, 0)) AS indep_write_cost_time
    FROM weighted JOIN metric.time_basis USING (log) CROSS JOIN (SELECT unnest([false, true]) AS shared) AS scope
    WHERE interface = 'mpiio' AND (NOT scope.shared OR of_many)
    GROUP BY ALL
)
SELECT * FROM (
    SELECT log, shared, sum(COLUMNS(
        ['files', 'indep_reads', 'indep_writes', 'coll_reads', 'coll_writes', 'nb_reads', 'nb_writes', 'syncs', 'bytes_read', 'bytes_written']
    ))::BIGINT FROM ranked GROUP BY log, shared
) JOIN (
    SELECT log, shared, sum(COLUMNS('^.*_time$')) FROM (
        SELECT log, shared, sum(COLUMNS('^.*_time$')) FROM ranked WHERE rank < 0 OR tree GROUP BY log, shared
        UNION ALL
        SELECT log, shared, max(COLUMNS('^.*_time$')) FROM ranked WHERE rank >= 0 AND NOT tree GROUP BY log, shared
    ) GROUP BY log, shared
) USING (log, shared)
ORDER BY log, shared
