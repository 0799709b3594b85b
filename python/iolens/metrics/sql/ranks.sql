-- title: What each rank did
-- topic: ranks and layers
-- layout: table
-- definition: bytes, seconds and number of files, by rank and interface. basis: "total" (counted per process,
--   complete) or "records" (of single ranks; what a rank did in files shared by all ranks is known only of the slowest
--   and the fastest: seen_bytes and seen_time include it).
-- unit: bytes, seconds, files
-- needs: any interface
-- caveats: With basis "records", all columns but seen_bytes and seen_time leave out files shared by all ranks.
-- source: iolens
WITH own AS (
    SELECT log, rank, interface, coalesce(sum(bytes_read), 0)::BIGINT AS bytes_read, coalesce(sum(bytes_written), 0)::BIGINT AS bytes_written,
        coalesce(sum(read_time), 0) AS read_time, coalesce(sum(write_time), 0) AS write_time, coalesce(sum(meta_time), 0) AS meta_time,
        count(*) AS files
    FROM record WHERE rank >= 0 AND log NOT IN (SELECT log FROM total) GROUP BY log, rank, interface
), extreme AS (
    SELECT log, interface, slowest_rank AS rank, slowest_bytes AS bytes, slowest_time AS time FROM record
    WHERE rank < 0 AND slowest_rank >= 0 AND log NOT IN (SELECT log FROM total)
    UNION ALL
    SELECT log, interface, fastest_rank, fastest_bytes, fastest_time FROM record
    WHERE rank < 0 AND fastest_rank >= 0 AND fastest_rank <> slowest_rank AND log NOT IN (SELECT log FROM total)
), seen AS (
    SELECT log, rank, interface, sum(bytes)::BIGINT AS bytes, sum(time) AS time FROM extreme GROUP BY ALL
)
SELECT log, rank, interface, sum(bytes_read)::BIGINT AS bytes_read, sum(bytes_written)::BIGINT AS bytes_written, sum(read_time) AS read_time,
    sum(write_time) AS write_time, sum(meta_time) AS meta_time, sum(records)::BIGINT AS files,
    sum(bytes_read + bytes_written)::BIGINT AS seen_bytes, sum(read_time + write_time + meta_time) AS seen_time, 'total' AS basis
FROM total WHERE rank >= 0 GROUP BY log, rank, interface
UNION ALL
SELECT log, rank, interface, coalesce(bytes_read, 0), coalesce(bytes_written, 0), coalesce(read_time, 0), coalesce(write_time, 0),
    coalesce(meta_time, 0), coalesce(files, 0),
    coalesce(bytes_read + bytes_written, 0) + coalesce(seen.bytes, 0),
    coalesce(read_time + write_time + meta_time, 0) + coalesce(seen.time, 0), 'records'
FROM own FULL JOIN seen USING (log, rank, interface)
ORDER BY log, rank, interface
