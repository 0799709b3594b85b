-- title: Files, bytes and time by directory
-- topic: files
-- layout: table
-- definition: files directly in each directory, at the interface that the program itself called (own_file).
-- unit: files, bytes, operations, seconds
-- needs: any interface
-- caveats: Streams, and names that are not paths, have no directory (null).
-- source: iolens
SELECT log, directory, any_value(mount) AS mount, any_value(file_system) AS file_system, count(DISTINCT f.id) AS files,
    sum(bytes_read)::BIGINT AS bytes_read, sum(bytes_written)::BIGINT AS bytes_written,
    sum(opens)::BIGINT AS opens, sum(reads)::BIGINT AS reads, sum(writes)::BIGINT AS writes,
    sum(read_time) AS read_time, sum(write_time) AS write_time, sum(meta_time) AS meta_time, sum(total_time) AS time
FROM own_file AS f LEFT JOIN name USING (log, id)
GROUP BY log, directory
ORDER BY log, time DESC, directory
