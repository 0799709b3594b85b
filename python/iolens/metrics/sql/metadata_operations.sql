-- title: Metadata operations one by one
-- topic: time
-- layout: table
-- definition: calls, failures and seconds of each operation that moves no data, summed over ranks. basis: "operation"
--   (counted by iolens) or "counters" (calls from records: opens, stats, seeks, syncs, renames; seconds unknown).
-- unit: calls, seconds
-- direction: lower
-- needs: any interface
-- source: iolens
WITH counted AS (
    SELECT log, interface, name AS operation, sum(count)::BIGINT AS count, sum(errors)::BIGINT AS errors, sum(time) AS time
    FROM operation WHERE bytes = 0 AND name NOT IN ('read', 'write', 'pread', 'pwrite', 'readv', 'writev') GROUP BY ALL
), counters AS (
    FROM (SELECT log, 'posix' AS interface, counted(opened(opens, dups, filenos))::BIGINT AS open, counted(stats)::BIGINT AS stat, counted(seeks)::BIGINT AS seek,
        counted(coalesce(fsyncs, 0) + coalesce(fdsyncs, 0))::BIGINT AS sync, counted(rename_sources)::BIGINT AS rename FROM posix
        WHERE log NOT IN (SELECT log FROM operation) GROUP BY log)
    UNPIVOT (count FOR operation IN (open, stat, seek, sync, rename))
)
SELECT log, interface, operation, count, errors, time, 'operation' AS basis FROM counted WHERE count > 0
UNION ALL
SELECT log, interface, operation, count, NULL, NULL, 'counters' FROM counters WHERE count > 0
ORDER BY log, time DESC NULLS LAST, count DESC, operation, interface
