-- title: Bytes per rank over time
-- topic: time
-- layout: table
-- definition: at most 200 bins of equal width from the start of the job; bins without bytes have no row. From the heat
--   map, whose bins are combined above 200; for an interface without one, from DXT, with each access's bytes spread
--   evenly over its duration. source says which.
-- unit: seconds, bytes
-- needs: heatmap, dxt_posix or dxt_mpiio
-- source: PyDarshan
WITH size AS (
    SELECT log, interface, (max(bin) // 200 + 1)::BIGINT AS step FROM heatmap GROUP BY log, interface
), mapped AS (
    SELECT log, interface, rank, bin // step AS bin,
        bin // step * step * any_value("end" - "start") AS "start",
        (bin // step + 1) * step * any_value("end" - "start") AS "end",
        sum(bytes_read)::BIGINT AS bytes_read, sum(bytes_written)::BIGINT AS bytes_written
    FROM heatmap JOIN size USING (log, interface)
    WHERE bytes_read > 0 OR bytes_written > 0 GROUP BY log, interface, rank, bin // step, step
), width AS (
    SELECT log, interface, max(greatest("end", 0)) AS last FROM dxt_access
    WHERE (log, interface) NOT IN (SELECT (log, interface) FROM size) GROUP BY ALL
), access AS (
    SELECT log, d.interface, rank, operation, length, greatest(d."start", 0) AS "start", greatest(d."end", d."start", 0) AS "end",
        greatest(run_time, last) / 200 AS width
    FROM dxt_access AS d JOIN width USING (log, interface) JOIN job USING (log)
    WHERE greatest(run_time, last) > 0
), placed AS (
    SELECT *, least(199, floor("start" / width))::BIGINT AS first, least(199, floor("end" / width))::BIGINT AS final FROM access
), spread AS (
    SELECT log, interface, rank, operation, width, first AS bin, length::DOUBLE AS bytes FROM placed WHERE first = final
    UNION ALL
    SELECT log, interface, rank, operation, width, bin,
        length * (least("end", (bin + 1) * width) - greatest("start", bin * width)) / ("end" - "start")
    FROM (SELECT *, unnest(range(first, final + 1)) AS bin FROM placed WHERE first < final)
)
SELECT log, interface, rank, bin, "start", "end", bytes_read, bytes_written, 'heatmap' AS source FROM mapped
UNION ALL
SELECT log, interface, rank, bin, bin * any_value(width), (bin + 1) * any_value(width),
    coalesce(round(sum(bytes) FILTER (operation = 'read')), 0)::BIGINT,
    coalesce(round(sum(bytes) FILTER (operation = 'write')), 0)::BIGINT, 'dxt'
FROM spread GROUP BY log, interface, rank, bin
ORDER BY log, interface, rank, bin
