-- title: Small writes to shared files without collective I/O
-- topic: accesses
-- definition: number of POSIX writes below 1 MiB to files that several ranks use and to which no rank wrote collectively.
--   Writes of exactly 1 MiB are not below it: their number is taken off where the record names that size.
--   notice: one million or more, matches: a hundred million or more.
-- unit: writes
-- direction: lower
-- needs: posix
-- caveats: A record names its four most common sizes; writes of 1 MiB that are not among them count. The named sizes are
--   of reads and writes together: at most the writes of their class are taken off.
-- source: NERSC screening study
WITH collective AS (
    SELECT log, id FROM mpiio GROUP BY log, id HAVING sum(coalesce(coll_writes, 0) + coalesce(split_writes, 0)) > 0
), small AS (
    SELECT log, id, sum(
        size_write[1] + size_write[2] + size_write[3] + size_write[4] + size_write[5]
            - least(size_write[5], CASE WHEN access[1] = 1048576 THEN access_count[1] WHEN access[2] = 1048576 THEN access_count[2]
                WHEN access[3] = 1048576 THEN access_count[3] WHEN access[4] = 1048576 THEN access_count[4] ELSE 0 END)
        ) AS writes
    FROM record WHERE interface = 'posix' GROUP BY log, id
), counted AS (
    SELECT log, sum(small.writes)::BIGINT AS writes, count(*) AS files
    FROM small JOIN (SELECT log, id FROM file_of WHERE interface = 'posix' AND shared) USING (log, id)
        ANTI JOIN collective USING (log, id)
    WHERE small.writes > 0 GROUP BY log
)
SELECT log, CASE WHEN log IN (SELECT log FROM posix) THEN coalesce(writes, 0) END AS value, coalesce(files, 0) AS files,
    coalesce(writes >= 1000000, false) AS notice, coalesce(writes >= 100000000, false) AS matches
FROM job LEFT JOIN counted USING (log)
ORDER BY log
