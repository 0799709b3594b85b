-- title: Ranks that read and write on behalf of all in collective MPI-IO
-- topic: ranks and layers
-- layout: table
-- definition: ranks that moved, at POSIX, at least a hundredth of what the busiest rank moved, in files whose MPI-IO
--   calls are mostly collective (nine out of ten). From per-rank records; where ranks share a record, from the heat
--   map if such files account for nine tenths of all bytes, otherwise no row. nodes: of the ranks; hosts: of the
--   aggregators (both from the process table, null without one).
-- unit: count
-- needs: mpiio, posix
-- source: iolens
WITH used AS (
    SELECT log, id FROM mpiio GROUP BY log, id
    HAVING sum(greatest(coll_reads, 0) + greatest(coll_writes, 0) + greatest(split_reads, 0) + greatest(split_writes, 0))
        > 9 * sum(greatest(indep_reads, 0) + greatest(indep_writes, 0) + greatest(nb_reads, 0) + greatest(nb_writes, 0))
), part AS (
    SELECT log, rank, bytes_read + bytes_written AS bytes, (log, id) IN (SELECT (log, id) FROM used) AS counts FROM posix
), moved AS (
    SELECT log, sum(bytes) AS everything, sum(bytes) FILTER (counts) AS bytes, coalesce(sum(bytes) FILTER (counts AND rank < 0), 0) AS shared
    FROM part GROUP BY log
), of_rank AS (
    SELECT log, rank, sum(part.bytes) AS bytes FROM part JOIN moved USING (log) WHERE counts AND shared = 0 GROUP BY log, rank
    UNION ALL
    SELECT log, rank, sum(bytes_read + bytes_written) FROM heatmap JOIN moved USING (log)
    WHERE interface = 'posix' AND shared > 0 AND bytes >= 0.9 * everything GROUP BY log, rank
), busy AS (
    SELECT log, rank FROM of_rank WHERE bytes > 0 QUALIFY bytes >= 0.01 * max(bytes) OVER (PARTITION BY log)
), place AS (
    SELECT log, rank, any_value(host) AS host FROM process WHERE rank >= 0 GROUP BY log, rank
)
SELECT log, count(*) AS aggregators, any_value(nodes) AS nodes,
    CASE WHEN count(host) = count(*) THEN count(DISTINCT host) END AS hosts
FROM busy LEFT JOIN place USING (log, rank)
LEFT JOIN (SELECT log, count(DISTINCT host) AS nodes FROM place GROUP BY log) USING (log)
GROUP BY log ORDER BY log
