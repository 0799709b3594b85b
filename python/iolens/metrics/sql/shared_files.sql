-- title: Shared files, the slowest first
-- topic: ranks and layers
-- layout: table
-- definition: per file and interface the fastest and the slowest rank with the bytes and seconds of each, and standard
--   deviations over ranks. Records of all ranks hold these; where ranks have records of their own they are computed over
--   the ranks that used the file. At most 20 per log.
-- unit: ranks, bytes, seconds
-- needs: posix, mpiio, stdio, h5d, pnetcdf_var, dfs or daos
-- caveats: A rank that only opened the file is among the fastest.
-- source: darshan-job-summary
WITH part AS (
    SELECT r.* FROM record AS r
    SEMI JOIN (SELECT log, interface, id FROM file_of WHERE shared AND NOT all_ranks) AS f USING (log, interface, id)
    WHERE r.rank >= 0
), by_rank AS (
    SELECT log, interface, id, rank, sum(io_time) AS time, sum(coalesce(bytes_read, 0) + coalesce(bytes_written, 0)) AS bytes
    FROM part GROUP BY ALL
), found AS (
    SELECT log, interface, id, nprocs AS ranks,
        fastest_rank, fastest_bytes, fastest_time, slowest_rank, slowest_bytes, slowest_time,
        sqrt(variance_time) AS sd_time, sqrt(variance_bytes) AS sd_bytes
    FROM record JOIN job USING (log)
    WHERE rank < 0 AND slowest_rank >= 0
    UNION ALL
    SELECT log, interface, id, count(*), arg_min(rank, (time, rank)), arg_min(bytes, (time, rank))::BIGINT, min(time),
        arg_max(rank, (time, -rank)), arg_max(bytes, (time, -rank))::BIGINT, max(time), stddev_pop(time), stddev_pop(bytes)
    FROM by_rank GROUP BY log, interface, id
), top AS (
    SELECT * FROM found QUALIFY row_number() OVER (PARTITION BY log ORDER BY slowest_time DESC, interface, id) <= 20
)
SELECT top.log, coalesce(name, '<unnamed ' || id || '>') AS name, * EXCLUDE (log, id, name)
FROM top LEFT JOIN name_of USING (log, id)
ORDER BY top.log, slowest_time DESC, interface, name
