-- title: How much of what moved is not known
-- topic: job
-- layout: table
-- definition: of all bytes that moved: unexplained, which the kernel counted and nothing accounts for, and untimed, which went
--   by mapped files or programs that were not observed, or by rings whose requests are known by their number alone, and whose
--   time is not known. partly: both are 1 MB and more than 5 % of all; then nothing says that I/O is fine. much_unexplained:
--   unexplained alone is.
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
