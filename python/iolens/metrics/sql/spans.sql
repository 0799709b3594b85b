-- title: When each rank first and last read and wrote
-- topic: time
-- layout: table
-- definition: for each rank, the first start and the last end of reads and of writes, for files of one rank
--   (independent) and for shared files. rank -1: all ranks, where the log does not distinguish them. Seconds since the
--   start of the job.
-- unit: seconds
-- needs: any interface
-- source: darshan-job-summary
WITH shared AS (
    SELECT log, interface, id, true AS shared FROM file_of WHERE shared AND NOT all_ranks
), wide AS (
    SELECT log, rank < 0 OR coalesce(shared, false) AS shared, rank,
        min(nullif(r.read_start, 0)) AS read_start, max(nullif(r.read_end, 0)) AS read_end,
        min(nullif(r.write_start, 0)) AS write_start, max(nullif(r.write_end, 0)) AS write_end
    FROM own_record AS r LEFT JOIN shared USING (log, interface, id)
    GROUP BY ALL
), span AS (
    SELECT log, shared, 'read' AS direction, rank, read_start AS first, read_end AS last FROM wide
    UNION ALL
    SELECT log, shared, 'write', rank, write_start, write_end FROM wide
)
SELECT log, CASE WHEN shared THEN 'shared' ELSE 'independent' END AS access, direction, rank, first, last FROM span
WHERE first IS NOT NULL AND last IS NOT NULL
ORDER BY log, access, direction, rank
