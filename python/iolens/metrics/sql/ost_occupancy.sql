-- title: What is on each storage target, and how fast it was
-- topic: storage
-- layout: table
-- definition: files and ranks with data on an OST, by the layout records; bytes = each file's bytes divided evenly
--   among its stripes; q1, median, q3 = quartiles of the ranks' I/O time (POSIX records; in a file shared by all
--   ranks, the slowest rank's). slow: the median is above Q3 + 1.5 x (Q3 - Q1) of its volume's medians. volume: the
--   file system, by its Lustre name or mount point: targets of different file systems have the same numbers. oss:
--   server, from the table oss_of if given, otherwise as the Lustre client names it (target).
-- unit: files, ranks, bytes, seconds
-- needs: lustre, posix
-- caveats: A file counts at every OST of its layout, although only part of it may have been used.
-- source: HACC-IO study (OST occupancy); pytokio
WITH part AS (
    SELECT s.log, s.volume, s.ost, r.id, r.rank, r.io_time,
        (coalesce(r.bytes_read, 0) + coalesce(r.bytes_written, 0)) / s.stripes AS bytes,
        CASE WHEN r.rank < 0 THEN nprocs END AS all_ranks
    FROM stripe AS s JOIN record AS r ON r.log = s.log AND r.id = s.id AND r.interface = 'posix' JOIN job ON job.log = s.log
    WHERE s.ost >= 0
), ost AS (
    SELECT log, volume, ost, count(DISTINCT id) AS files,
        greatest(count(DISTINCT rank) FILTER (rank >= 0), coalesce(max(all_ranks), 0)) AS ranks,
        sum(bytes)::BIGINT AS bytes, sum(io_time) AS time,
        quantile_cont(io_time, 0.25) AS q1, median(io_time) AS median, quantile_cont(io_time, 0.75) AS q3
    FROM part GROUP BY log, volume, ost
), limits AS (
    SELECT log, volume, quantile_cont(median, 0.75) + 1.5 * (quantile_cont(median, 0.75) - quantile_cont(median, 0.25)) AS high
    FROM ost GROUP BY log, volume
), served AS (
    SELECT log, number AS ost, any_value(server) AS server FROM target
    WHERE kind = 'ost' AND server <> '' GROUP BY log, number HAVING count(DISTINCT volume) = 1
), named AS (
    SELECT log, volume, number AS ost, any_value(server) AS server FROM target
    WHERE kind = 'ost' AND server <> '' GROUP BY log, volume, number
)
SELECT o.log, o.volume, o.ost, coalesce(oss, n.server, CASE WHEN v.name IS NULL THEN s.server END) AS oss,
    files, ranks, bytes, time, q1, median, q3, median > high AS slow
FROM ost AS o JOIN limits AS l ON l.log = o.log AND l.volume IS NOT DISTINCT FROM o.volume
LEFT JOIN oss_of ON oss_of.ost = o.ost
LEFT JOIN named AS n ON n.log = o.log AND n.volume = o.volume AND n.ost = o.ost
LEFT JOIN served AS s ON s.log = o.log AND s.ost = o.ost
LEFT JOIN (SELECT DISTINCT log, name FROM volume) AS v ON v.log = o.log AND v.name = o.volume
ORDER BY o.log, o.volume, o.ost
