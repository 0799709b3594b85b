-- title: What lies on each storage target, and how fast it was
-- topic: storage
-- layout: table
-- definition: files and ranks whose data lie on an OST, by the layout records; bytes = each file's bytes divided evenly
--   among its stripes; q1, median, q3 = quartiles of the I/O time of the ranks (POSIX records; of a file of all ranks the
--   slowest rank's). slow: the median is above Q3 + 1.5 x (Q3 - Q1) of all OSTs' medians.
--   oss: server, from the table oss_of if it was given, else as the Lustre client named it (target).
-- unit: files, ranks, bytes, seconds
-- needs: lustre, posix
-- caveats: A file is attributed to every OST of its layout although only part of it may have been used.
-- source: HACC-IO study (OST occupancy); pytokio
WITH stripe AS (
    SELECT DISTINCT log, id, unnest(ost_id) AS ost, len(ost_id) AS stripes FROM lustre
), part AS (
    SELECT s.log, s.ost, r.id, r.rank, r.io_time,
        (coalesce(r.bytes_read, 0) + coalesce(r.bytes_written, 0)) / s.stripes AS bytes,
        CASE WHEN r.rank < 0 THEN nprocs END AS all_ranks
    FROM stripe AS s JOIN record AS r ON r.log = s.log AND r.id = s.id AND r.interface = 'posix' JOIN job ON job.log = s.log
    WHERE s.ost >= 0
), ost AS (
    SELECT log, ost, count(DISTINCT id) AS files,
        greatest(count(DISTINCT rank) FILTER (rank >= 0), coalesce(max(all_ranks), 0)) AS ranks,
        sum(bytes)::BIGINT AS bytes, sum(io_time) AS time,
        quantile_cont(io_time, 0.25) AS q1, median(io_time) AS median, quantile_cont(io_time, 0.75) AS q3
    FROM part GROUP BY log, ost
), limits AS (
    SELECT log, quantile_cont(median, 0.75) + 1.5 * (quantile_cont(median, 0.75) - quantile_cont(median, 0.25)) AS high
    FROM ost GROUP BY log
), served AS (
    SELECT log, number AS ost, any_value(server) AS server FROM target
    WHERE kind = 'ost' AND server <> '' GROUP BY log, number HAVING count(DISTINCT volume) = 1
)
SELECT log, ost, coalesce(oss, server) AS oss, files, ranks, bytes, time, q1, median, q3, median > high AS slow
FROM ost JOIN limits USING (log) LEFT JOIN oss_of USING (ost) LEFT JOIN served USING (log, ost)
ORDER BY log, ost
