-- title: Writes below 1 MiB
-- topic: accesses
-- definition: sum of small_writes over the files that the program called itself (own_file).
-- unit: writes
-- direction: lower
-- needs: posix or mpiio
-- caveats: Unknown for interfaces whose records have no size classes (STDIO).
-- source: iolens
SELECT log, sum(small_writes)::BIGINT AS value FROM job LEFT JOIN own_file USING (log) GROUP BY log ORDER BY log
