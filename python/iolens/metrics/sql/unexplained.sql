-- title: How much of the data movement is unexplained
-- topic: job
-- layout: table
-- definition: of all bytes moved: unexplained are those that the kernel counted and nothing accounts for; untimed are
--   those whose time is not known, because they were moved by mapped files, by programs that were not observed, or by
--   rings of whose requests only the number is known. partly: together they are at least 1 MB and more than 5 % of all
--   bytes, so that I/O cannot be called fine. much_unexplained: unexplained bytes alone are.
-- unit: bytes, part of 1
-- direction: lower
-- needs: process
-- source: iolens
WITH unknown AS (
    SELECT log, sum(untimed) AS untimed FROM async GROUP BY log
)
SELECT *, unexplained / nullif(moved, 0) AS share,
    unexplained + untimed >= 1000000 AND unexplained + untimed > 0.05 * moved AS partly,
    unexplained >= 1000000 AND unexplained > 0.05 * moved AS much_unexplained
FROM (
    SELECT m.log, coalesce(sum(bytes_read + bytes_written) FILTER (lowest_of(way) = way), 0)::BIGINT AS moved,
        coalesce(sum(bytes_read + bytes_written) FILTER (way IN ('mapped', 'unobserved')
            OR (way IN ('libaio', 'io_uring') AND u.log IS NULL)), 0)::BIGINT
            + coalesce(any_value(u.untimed), 0)::BIGINT AS untimed,
        coalesce(sum(bytes_read + bytes_written) FILTER (way = 'unexplained'), 0)::BIGINT AS unexplained
    FROM metric.moved AS m LEFT JOIN unknown AS u ON u.log = m.log GROUP BY m.log
) ORDER BY log
