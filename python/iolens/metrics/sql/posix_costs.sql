-- title: A job's POSIX calls, and the cost of each kind of access
-- topic: time
-- layout: table
-- definition: counts are sums over ranks. Columns that end in _time are seconds of the run (time_basis). Two rows per
--   log: shared = false for everything, true for files that all ranks share. Columns as in posix_rank_costs.
-- unit: calls, bytes, seconds
-- needs: posix
-- caveats: Kinds of access overlap (a small access may be unaligned and out of order): do not add up their seconds.
-- source: iolens
WITH side AS (
    SELECT scope.shared, tree, scale, c.*
    FROM metric.posix_rank_costs AS c JOIN metric.time_basis USING (log)
    CROSS JOIN (SELECT unnest([false, true]) AS shared) AS scope
    WHERE interface = 'posix' AND (NOT scope.shared OR rank < 0)
), counts AS (
    SELECT log, shared, any_value(tree) AS tree, max(file_alignment) AS file_alignment,
        sum(meta_sum) AS meta_sum, sum(data_sum) AS data_sum,
        sum(COLUMNS('^(files|opens|reads|writes|empty|following|back|seeks|stats|mmaps|syncs|bytes|consec|seq|random_(reads|writes)|rw_|mem_not|file_not).*$'))::BIGINT
    FROM side GROUP BY log, shared
), times AS (
    SELECT log, shared, sum(COLUMNS('^.*_time$')) FROM (
        SELECT log, shared, sum(scale * COLUMNS('^.*_time$')) FROM side
        WHERE rank < 0 OR tree GROUP BY log, shared
        UNION ALL
        SELECT log, shared, max(scale * COLUMNS('^.*_time$')) FROM side
        WHERE rank >= 0 AND NOT tree GROUP BY log, shared
    ) GROUP BY log, shared
)
SELECT * FROM counts JOIN times USING (log, shared) ORDER BY log, shared
