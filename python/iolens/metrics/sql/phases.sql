-- title: Phases of I/O
-- topic: time
-- layout: table
-- definition: bins of the heat maps (or of DXT) in which any rank moved bytes; bins separated by at most the mean gap
--   form one phase. kind: "read" or "write" from 90 % of the bytes on, otherwise "mixed". busy_ranks: ranks that moved
--   bytes.
-- unit: seconds, bytes, ranks
-- needs: heatmap, dxt_posix or dxt_mpiio
-- caveats: Nothing is finer than a bin. The bytes are MPI-IO's where there are any, otherwise POSIX's; DFS's,
--   otherwise DAOS's; plus STDIO's.
-- source: DXT Explorer (gaps); iolens
WITH heat AS (
    SELECT * FROM metric.heat
    WHERE interface IN data_interfaces() AND (log, interface) NOT IN (
        SELECT (log, lowest_of(interface)) FROM metric.heat WHERE lowest_of(interface) <> interface
    )
), busy AS (
    SELECT log, "start", max("end") AS "end", sum(bytes_read)::BIGINT AS bytes_read, sum(bytes_written)::BIGINT AS bytes_written
    FROM heat GROUP BY log, "start"
), gap AS (
    SELECT *, greatest(0, "start" - lag("end", 1, "start") OVER (PARTITION BY log ORDER BY "start")) AS gap,
        row_number() OVER (PARTITION BY log ORDER BY "start") = 1 AS leads
    FROM busy
), numbered AS (
    SELECT g.*, sum(CASE WHEN leads OR gap > mean * (1 + 1e-9) THEN 1 ELSE 0 END) OVER (PARTITION BY log ORDER BY "start") AS phase
    FROM gap AS g JOIN (SELECT log, coalesce(avg(gap) FILTER (gap > 1e-9), 0) AS mean FROM gap GROUP BY log) USING (log)
), phase AS (
    SELECT log, phase, min("start") AS "start", max("end") AS "end",
        sum(bytes_read)::BIGINT AS bytes_read, sum(bytes_written)::BIGINT AS bytes_written
    FROM numbered GROUP BY log, phase
)
SELECT p.log, p.phase::INTEGER AS phase, p."start", p."end", any_value(p.bytes_read + p.bytes_written) AS bytes,
    any_value(p.bytes_read) AS bytes_read, any_value(p.bytes_written) AS bytes_written,
    CASE WHEN any_value(p.bytes_read) >= 0.9 * any_value(p.bytes_read + p.bytes_written) THEN 'read'
        WHEN any_value(p.bytes_written) >= 0.9 * any_value(p.bytes_read + p.bytes_written) THEN 'write' ELSE 'mixed' END AS kind,
    count(DISTINCT h.rank) AS busy_ranks
FROM phase AS p JOIN heat AS h ON h.log = p.log AND h."start" >= p."start" AND h."end" <= p."end"
GROUP BY p.log, p.phase, p."start", p."end"
ORDER BY p.log, p.phase
