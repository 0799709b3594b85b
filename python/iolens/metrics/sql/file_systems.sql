-- title: Bytes and time of each file system
-- topic: files
-- layout: table
-- definition: files by the longest mount point that is a part of their path; counted at the interface that the program
--   called (own_file). time is summed over all processes. class: what kind of file system that is, by type and source.
-- unit: bytes, seconds
-- needs: any interface
-- caveats: Streams, anonymized names and names that are no path have no mount point: null.
-- source: darshan-job-summary
SELECT log, mount, file_system, class, count(DISTINCT f.id) AS files,
    sum(bytes_read)::BIGINT AS bytes_read, sum(bytes_written)::BIGINT AS bytes_written,
    sum(total_time) AS time
FROM own_file AS f LEFT JOIN name USING (log, id)
GROUP BY log, mount, file_system, class
ORDER BY log, sum(f.bytes_read + f.bytes_written) DESC, mount
