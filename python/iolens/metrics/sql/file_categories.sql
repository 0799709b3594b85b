-- title: Files by how they were used, and their sizes
-- topic: files
-- layout: table
-- definition: each file counts once per interface, all ranks merged. read_only, write_only, read_write: by bytes moved
--   (none of them without bytes). unique: used by one rank; shared: by several; part_shared: by several but not all.
--   created: written, and not read before the first write. size = highest offset + 1 of files that were read or
--   written; sized = number of files with a size, of which mean_size is the mean; max_offset is the highest offset.
-- unit: files, bytes
-- needs: posix, mpiio, stdio, dfs or daos
-- caveats: A file may be larger than the highest offset used. MPI-IO, DFS and DAOS have no offsets: null. Darshan's
--   tools count a file without reads and writes as one byte, and add up the largest offsets of both kinds of shared
--   files. Logs do not record whether a file existed before: "created" is a guess.
-- source: darshan-parser --file, darshan-job-summary
WITH sized AS (
    SELECT *, greatest(max_offset_read, max_offset_written) AS max_offset,
        CASE WHEN bytes_read + bytes_written > 0 THEN greatest(max_offset_read, max_offset_written) + 1 END AS size
    FROM file_of WHERE interface IN data_interfaces()
), sorted AS (
    SELECT *, unnest(list_filter([
        'total',
        CASE WHEN bytes_read > 0 AND bytes_written > 0 THEN 'read_write' WHEN bytes_read > 0 THEN 'read_only'
            WHEN bytes_written > 0 THEN 'write_only' END,
        CASE WHEN bytes_written > 0 AND (bytes_read = 0 OR write_start <= read_start) THEN 'created' END,
        CASE WHEN shared THEN 'shared' ELSE 'unique' END,
        CASE WHEN shared AND NOT all_ranks AND ranks < nprocs THEN 'part_shared' END
    ], lambda x: x IS NOT NULL)) AS category
    FROM sized JOIN (SELECT log, nprocs FROM job) USING (log)
), counted AS (
    SELECT log, interface, category, count(*) AS files, sum(bytes_read + bytes_written)::BIGINT AS bytes,
        max(max_offset) AS max_offset, count(size) AS sized, avg(size) AS mean_size, max(size) AS max_size
    FROM sorted GROUP BY ALL
), wanted AS (
    SELECT DISTINCT log, interface, unnest(['total', 'read_only', 'write_only', 'read_write', 'created', 'unique',
        'shared', 'part_shared']) AS category
    FROM sized
)
SELECT log, interface, category, coalesce(files, 0) AS files, coalesce(bytes, 0) AS bytes, max_offset, coalesce(sized, 0) AS sized, mean_size, max_size
FROM wanted LEFT JOIN counted USING (log, interface, category)
ORDER BY log, list_position(data_interfaces(), interface),
    list_position(['total', 'read_only', 'write_only', 'read_write', 'created', 'unique', 'shared', 'part_shared'], category)
