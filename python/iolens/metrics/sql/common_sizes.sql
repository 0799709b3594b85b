-- title: The four most common access sizes of each interface
-- topic: accesses
-- layout: table
-- definition: each record keeps up to four sizes and their counts; these are added up over all records, and the four
--   with the highest counts are listed, the larger size first where counts are equal.
-- unit: bytes, accesses
-- needs: posix, mpiio, h5d, pnetcdf_var, dfs or daos
-- caveats: A size that is in no record's four is missed, however often it occurs overall.
-- source: PyDarshan, darshan-job-summary
WITH pair AS (
    SELECT log, interface, access[1] AS size, sum(access_count[1]) AS count FROM record
    WHERE access_count[1] > 0 GROUP BY ALL
    UNION ALL
    SELECT log, interface, access[2], sum(access_count[2]) FROM record WHERE access_count[2] > 0 GROUP BY ALL
    UNION ALL
    SELECT log, interface, access[3], sum(access_count[3]) FROM record WHERE access_count[3] > 0 GROUP BY ALL
    UNION ALL
    SELECT log, interface, access[4], sum(access_count[4]) FROM record WHERE access_count[4] > 0 GROUP BY ALL
), size AS (
    SELECT log, interface, size, sum(count)::BIGINT AS count FROM pair GROUP BY ALL
)
SELECT log, interface, size, count,
    row_number() OVER (PARTITION BY log, interface ORDER BY count DESC, size DESC) AS place
FROM size
QUALIFY place <= 4
ORDER BY log, interface, place
