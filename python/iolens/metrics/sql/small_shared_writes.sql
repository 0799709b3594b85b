-- title: Small writes to shared files without collective I/O
-- topic: accesses
-- definition: POSIX writes below 1 MiB to files that several ranks use and to which no rank wrote collectively. Writes
--   of exactly 1 MiB are subtracted where the record names that size. notice: a million or more; matches: a hundred
--   million or more.
-- unit: writes
-- direction: lower
-- needs: posix
-- caveats: A record names its four most common sizes, of reads and writes together: writes of 1 MiB that are not among
--   them count; at most the writes in their class are subtracted.
-- source: NERSC screening study
WITH collective AS (
    SELECT log, id FROM mpiio GROUP BY log, id HAVING sum(coalesce(coll_writes, 0) + coalesce(split_writes, 0)) > 0
), counted AS (
    SELECT log, sum(small_writes)::BIGINT AS writes, count(*) AS files
    FROM file_of ANTI JOIN collective USING (log, id)
    WHERE interface = 'posix' AND shared AND small_writes > 0 GROUP BY log
)
SELECT log, CASE WHEN log IN (SELECT DISTINCT log FROM posix) THEN coalesce(writes, 0) END AS value, coalesce(files, 0) AS files,
    coalesce(writes >= 1000000, false) AS notice, coalesce(writes >= 100000000, false) AS matches
FROM job LEFT JOIN counted USING (log)
ORDER BY log
