-- title: How large the reads and writes were
-- topic: accesses
-- layout: table
-- definition: accesses in each size class, upper bound included (100 B, 1 KiB, 10 KiB, 100 KiB, 1 MiB, 4 MiB, 10 MiB,
--   100 MiB, 1 GiB, more). kind "all" is from the records; independent, collective, split and nonblocking are
--   MPI-IO's, from logs written by iolens, with the bytes in each class.
-- unit: accesses, bytes
-- needs: posix, mpiio, h5d, pnetcdf_var, dfs or daos
-- source: Darshan's size classes; EPOCH study (independent and collective separately)
WITH wide AS (
    SELECT log, interface, 'read' AS direction,
        [sum(size_read[1]), sum(size_read[2]), sum(size_read[3]), sum(size_read[4]), sum(size_read[5]),
        sum(size_read[6]), sum(size_read[7]), sum(size_read[8]), sum(size_read[9]), sum(size_read[10])]::BIGINT[] AS counts
    FROM record WHERE size_read IS NOT NULL GROUP BY log, interface
    UNION ALL
    SELECT log, interface, 'write' AS direction,
        [sum(size_write[1]), sum(size_write[2]), sum(size_write[3]), sum(size_write[4]), sum(size_write[5]),
        sum(size_write[6]), sum(size_write[7]), sum(size_write[8]), sum(size_write[9]), sum(size_write[10])]::BIGINT[] AS counts
    FROM record WHERE size_write IS NOT NULL GROUP BY log, interface
), class AS (
    SELECT unnest(range(10)) AS class,
        unnest(['0-100', '100-1K', '1K-10K', '10K-100K', '100K-1M', '1M-4M', '4M-10M', '10M-100M', '100M-1G', '1G+']) AS label,
        unnest(['0_100', '100_1K', '1K_10K', '10K_100K', '100K_1M', '1M_4M', '4M_10M', '10M_100M', '100M_1G', '1G_PLUS']) AS word
), split AS (
    SELECT log, kind, direction, upper(size) AS word, sum(count)::BIGINT AS count, sum(bytes)::BIGINT AS bytes
    FROM mpiio_sizes GROUP BY ALL
), kinds AS (
    SELECT DISTINCT log, kind, direction FROM split
)
SELECT log, interface, 'all' AS kind, direction, class, label, counts[class + 1] AS count, NULL::BIGINT AS bytes
FROM wide, class
UNION ALL
SELECT k.log, 'mpiio', k.kind, k.direction, class, label, coalesce(count, 0), coalesce(bytes, 0)
FROM kinds AS k CROSS JOIN class LEFT JOIN split AS s
    ON (s.log, s.kind, s.direction, s.word) = (k.log, k.kind, k.direction, class.word)
ORDER BY log, interface, kind, direction, class
