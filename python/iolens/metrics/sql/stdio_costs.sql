-- title: A job's stdio calls and what they cost
-- topic: time
-- layout: table
-- definition: counts are sums over ranks. Columns that end in _time are seconds of the run (time_basis); for a shared
--   file the slowest rank's, divided in the proportions of the sums. console = true: standard output and standard
--   error only; false: files.
-- unit: calls, bytes, seconds
-- needs: stdio
-- source: iolens
WITH console AS (
    SELECT log, id FROM name_of WHERE name IN ('<STDOUT>', '<STDERR>')
), placed AS (
    SELECT stdio.*, tree, scale, console.id IS NOT NULL AS console,
        CASE WHEN rank >= 0 THEN 1
            WHEN slowest_rank_time > 0 THEN coalesce(slowest_rank_time / nullif(read_time + write_time + meta_time, 0), 0)
            ELSE 1 / nprocs END AS wall
    FROM stdio JOIN job USING (log) JOIN metric.time_basis AS b ON b.log = stdio.log AND b.interface = 'stdio'
    LEFT JOIN console ON console.log = stdio.log AND console.id = stdio.id
), ranked AS (
    SELECT log, rank, tree, console,
        count(*) AS files, sum(greatest(opens, 0)) AS opens, sum(greatest(reads, 0)) AS reads, sum(greatest(writes, 0)) AS writes,
        sum(greatest(seeks, 0)) AS seeks, sum(greatest(flushes, 0)) AS flushes,
        sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written,
        any_value(scale) * sum(wall * read_time) AS read_time, any_value(scale) * sum(wall * write_time) AS write_time,
        any_value(scale) * sum(wall * meta_time) AS meta_time
    FROM placed GROUP BY ALL
)
SELECT * FROM (
    SELECT log, console, sum(COLUMNS(
        ['files', 'opens', 'reads', 'writes', 'seeks', 'flushes', 'bytes_read', 'bytes_written']
    ))::BIGINT FROM ranked GROUP BY log, console
) JOIN (
    SELECT log, console, sum(COLUMNS('^.*_time$')) FROM (
        SELECT log, console, sum(COLUMNS('^.*_time$')) FROM ranked WHERE rank < 0 OR tree GROUP BY log, console
        UNION ALL
        SELECT log, console, max(COLUMNS('^.*_time$')) FROM ranked WHERE rank >= 0 AND NOT tree GROUP BY log, console
    ) GROUP BY log, console
) USING (log, console)
ORDER BY log, console
