-- title: Shared files, slowest first
-- topic: ranks and layers
-- layout: table
-- definition: for each file and interface, the fastest and the slowest rank with their bytes and seconds, and the
--   standard deviations over ranks: from shared records, otherwise computed over the ranks that used the file. At most
--   20 per log.
-- unit: ranks, bytes, seconds
-- needs: posix, mpiio, stdio, h5d, pnetcdf_var, dfs or daos
-- caveats: A rank that only opened the file counts as one of the fastest.
-- source: darshan-job-summary
WITH top AS (
    SELECT log, interface, id, all_ranks FROM file_of WHERE shared AND interface NOT IN library_files()
    QUALIFY row_number() OVER (PARTITION BY log ORDER BY slowest_time DESC, interface, id) <= 20
), part AS (
    SELECT r.*, all_ranks, coalesce(bytes_read, 0) + coalesce(bytes_written, 0) AS bytes
    FROM record AS r JOIN top USING (log, interface, id)
), found AS (
    SELECT log, interface, id, nprocs AS ranks,
        fastest_rank, fastest_bytes, fastest_time, slowest_rank, slowest_bytes, slowest_time,
        sqrt(variance_time) AS sd_time, sqrt(variance_bytes) AS sd_bytes
    FROM part JOIN job USING (log)
    WHERE rank < 0 AND slowest_rank >= 0
    UNION ALL
    SELECT log, interface, id, count(*), arg_min(rank, (io_time, rank)), arg_min(bytes, (io_time, rank)), min(io_time),
        arg_max(rank, (io_time, -rank)), arg_max(bytes, (io_time, -rank)), max(io_time), stddev_pop(io_time), stddev_pop(bytes)
    FROM part WHERE NOT all_ranks GROUP BY log, interface, id
)
SELECT found.log, coalesce(name, '<unnamed ' || id || '>') AS name, * EXCLUDE (log, name)
FROM found LEFT JOIN name_of USING (log, id)
ORDER BY found.log, slowest_time DESC, interface, name, found.id
