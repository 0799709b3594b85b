-- title: How seconds of ranks become seconds of the run
-- topic: time
-- layout: table
-- definition: tree = the ranks are the processes of a tree, which may run one after another, rather than MPI ranks.
--   In a tree, the seconds of all ranks are added up; in an MPI job, the slowest rank's count, and for each shared file
--   those of the rank slowest in it. Such sums count overlapping calls of threads, and files used at the same time,
--   more than once: scale = time in I/O (headline) / the larger of their sums over what the program itself called and
--   over the interface; at most 1.
-- unit: factor
-- needs: any interface's records
-- caveats: Overlapping time is scaled down evenly, no matter which call waited.
-- source: iolens
WITH tree AS (
    SELECT log, count(*) FILTER (coalesce(mpi, '') <> '') = 0 AS tree FROM process GROUP BY log
), ranked AS (
    SELECT log, interface, rank, sum(io_time) AS io_time FROM record
    WHERE interface IN recorded_interfaces() GROUP BY ALL
    UNION ALL SELECT log, 'own', rank, sum(io_time) FROM own_record GROUP BY ALL
), added AS (
    SELECT log, interface, CASE WHEN any_value(coalesce(tree, false)) THEN sum(io_time)
        ELSE coalesce(max(io_time) FILTER (rank >= 0), 0) + coalesce(sum(io_time) FILTER (rank < 0), 0) END AS seconds
    FROM ranked LEFT JOIN tree USING (log) GROUP BY ALL
)
SELECT headline.log, i.interface, coalesce(tree, false) AS tree,
    coalesce(least(1, io_time / nullif(own.seconds, 0), io_time / nullif(added.seconds, 0)), 1) AS scale
FROM metric.headline CROSS JOIN (SELECT unnest(recorded_interfaces()) AS interface) AS i
LEFT JOIN tree USING (log) LEFT JOIN added AS own ON own.log = headline.log AND own.interface = 'own'
LEFT JOIN added ON added.log = headline.log AND added.interface = i.interface
ORDER BY headline.log, i.interface
