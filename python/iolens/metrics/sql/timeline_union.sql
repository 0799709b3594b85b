-- title: Time of each rank in I/O calls, with overlapping calls counted once
-- topic: time
-- layout: table
-- definition: busy = seconds in which at least one thread of the rank was in an I/O call; time = the calls' seconds,
--   added up over threads; overlap = time / busy, 1 if calls never overlap. basis: "process" (busy was measured; time
--   is from the timeline), "dxt" (both from a trace, without opening and closing).
-- unit: seconds, factor
-- needs: process, dxt_posix or dxt_mpiio
-- caveats: From DXT only traced accesses count; MPI-IO accesses and the POSIX accesses that they make count once.
-- source: iolens
WITH busy AS (
    SELECT log, rank, sum(io_time) AS busy FROM process WHERE rank >= 0 GROUP BY ALL
), calls AS (
    SELECT log, rank, sum("read" + "write" + meta) AS time FROM timeline GROUP BY ALL
), access AS (
    SELECT log, rank, interface, "start", "end" FROM dxt_access WHERE log NOT IN (SELECT log FROM process)
), lane AS (
    SELECT *, max("end") OVER (PARTITION BY log, rank ORDER BY "start", "end" ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM access
), traced AS (
    SELECT log, rank, sum(greatest(0, "end" - greatest("start", coalesce(before, "start")))) AS busy,
        greatest(coalesce(sum("end" - "start") FILTER (interface = 'posix'), 0),
            coalesce(sum("end" - "start") FILTER (interface = 'mpiio'), 0)) AS time
    FROM lane GROUP BY ALL
)
SELECT log, rank, busy, time, greatest(1, time / nullif(busy, 0)) AS overlap, 'process' AS basis
FROM busy LEFT JOIN calls USING (log, rank)
UNION ALL
SELECT log, rank, busy, time, greatest(1, time / nullif(busy, 0)), 'dxt' FROM traced
ORDER BY log, rank
