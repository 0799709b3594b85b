-- title: When each rank first and last read and wrote
-- topic: time
-- layout: table
-- definition: per rank the first start and the last end of reads and of writes, files of one rank (independent) and
--   shared files apart. rank -1: all ranks together, where the log does not tell them apart. Seconds since the job's start.
-- unit: seconds
-- needs: any interface
-- source: darshan-job-summary
WITH part AS (
    SELECT log, rank, rank < 0 OR shared AS shared, r.read_start, r.read_end, r.write_start, r.write_end
    FROM own_record AS r LEFT JOIN (SELECT log, interface, id, shared FROM file_of WHERE shared) AS f USING (log, interface, id)
), span AS (
    SELECT log, CASE WHEN coalesce(shared, false) THEN 'shared' ELSE 'independent' END AS access, 'read' AS direction, rank,
        min(nullif(read_start, 0)) AS first, max(nullif(read_end, 0)) AS last
    FROM part GROUP BY ALL
    UNION ALL
    SELECT log, CASE WHEN coalesce(shared, false) THEN 'shared' ELSE 'independent' END, 'write', rank,
        min(nullif(write_start, 0)), max(nullif(write_end, 0))
    FROM part GROUP BY ALL
)
SELECT log, access, direction, rank, first, last FROM span
WHERE first IS NOT NULL AND last IS NOT NULL
ORDER BY log, access, direction, rank
