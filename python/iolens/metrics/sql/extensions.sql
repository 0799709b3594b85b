-- title: Files, bytes and time by file type
-- topic: files
-- layout: table
-- definition: kind = what follows the last dot of the name, in lower case, or empty; at the interface that the program
--   itself called (own_file).
-- unit: files, bytes, operations, seconds
-- needs: any interface
-- source: iolens
SELECT log, coalesce(extension, '') AS extension, count(DISTINCT f.id) AS files,
    sum(bytes_read)::BIGINT AS bytes_read, sum(bytes_written)::BIGINT AS bytes_written,
    sum(opens)::BIGINT AS opens, sum(reads)::BIGINT AS reads, sum(writes)::BIGINT AS writes,
    sum(read_time) AS read_time, sum(write_time) AS write_time, sum(meta_time) AS meta_time, sum(total_time) AS time
FROM own_file AS f LEFT JOIN name USING (log, id)
GROUP BY ALL
ORDER BY log, time DESC, extension
