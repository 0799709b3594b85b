-- title: How seconds of ranks become seconds of the run
-- topic: time
-- layout: table
-- definition: tree = the ranks are the processes of a tree, which may run one after another, not MPI's.
--   In a tree the seconds of all ranks are added, in an MPI job the slowest rank's count, of each shared file the slowest in it. Such sums count
--   calls of threads that overlap, and files that are used at once, more than once: scale = time in I/O (headline) / their sum over what the program
--   called itself, and over the interface; 1 at most.
-- unit: factor
-- needs: any interface's records
-- caveats: What overlaps is scaled down evenly, whoever waited for it.
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
