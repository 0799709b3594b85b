-- title: Bytes and time by file system
-- topic: files
-- layout: table
-- definition: each file belongs to the longest mount point that its path begins with; at the interface that the
--   program itself called (own_file). time is summed over all processes. class: the kind of file system, by type and
--   source.
-- unit: bytes, seconds
-- needs: any interface
-- caveats: Streams, anonymized names, and names that are not paths have no mount point (null).
-- source: darshan-job-summary
SELECT log, mount, file_system, class, count(DISTINCT f.id) AS files,
    sum(bytes_read)::BIGINT AS bytes_read, sum(bytes_written)::BIGINT AS bytes_written,
    sum(total_time) AS time
FROM own_file AS f LEFT JOIN name USING (log, id)
GROUP BY log, mount, file_system, class
ORDER BY log, sum(f.bytes_read + f.bytes_written) DESC, mount, file_system, class
