-- title: How seconds of ranks become seconds of the run
-- topic: time
-- layout: table
-- definition: tree = the ranks are processes of a tree, which may run one after another, not MPI ranks. In a tree, the
--   seconds of all ranks are added up; in an MPI job, the slowest rank's count, in each shared file those of the rank
--   slowest there. Such sums count overlapping calls of threads, and files used at the same time, more than once:
--   scale = time in I/O (headline) / the larger of their sums over what the program itself called and over the
--   interface; at most 1; times kept = the part of the time in I/O that is not queued (processor_waits), so no cost has
--   waits for a processor. processes = those that take part: ranks with records of the interface, or all where a record
--   is of all. mean_scale turns the sum over ranks into seconds of the run for the average process that takes part: in
--   an MPI job scale / processes; in a tree scale, but for libraries, whose calls are more than the time in I/O, the
--   time during which one of these processes ran / the sum of their run times.
-- unit: factor
-- needs: any interface's records
-- caveats: Overlapping time is scaled down evenly, whichever call waited.
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
), present AS (
    SELECT DISTINCT log, interface, rank FROM record
), taking_part AS (
    SELECT log, interface, CASE WHEN min(rank) < 0 THEN any_value(nprocs) ELSE count(*) END AS processes
    FROM present JOIN job USING (log) GROUP BY log, interface
), life AS (
    SELECT log, interface, "start", greatest("start", max("end") OVER (
        PARTITION BY log, interface ORDER BY "start", "end" ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS from_here, "end"
    FROM present JOIN (
        SELECT log, rank, min("start") AS "start", max("end") AS "end" FROM process GROUP BY log, rank
    ) USING (log, rank) WHERE interface IN library_interfaces()
), together AS (
    SELECT log, interface, sum(greatest(0, "end" - coalesce(from_here, "start"))) / nullif(sum("end" - "start"), 0) AS part
    FROM life GROUP BY log, interface
)
SELECT headline.log, i.interface, coalesce(tree, false) AS tree,
    1 - least(1, coalesce(queued / nullif(io_time, 0), 0)) AS kept,
    coalesce(least(1, io_time / nullif(own.seconds, 0), io_time / nullif(added.seconds, 0)), 1) * kept AS scale,
    coalesce(processes, 0) AS processes,
    CASE WHEN i.interface IN library_interfaces() THEN CASE WHEN coalesce(tree, false) THEN coalesce(part, 1) ELSE 1 / greatest(1, coalesce(processes, 1)) END
        WHEN coalesce(tree, false) THEN scale ELSE scale / greatest(1, coalesce(processes, 1)) END AS mean_scale
FROM metric.headline CROSS JOIN (SELECT unnest(list_concat(recorded_interfaces(), library_interfaces())) AS interface) AS i
LEFT JOIN tree USING (log) LEFT JOIN added AS own ON own.log = headline.log AND own.interface = 'own'
LEFT JOIN added ON added.log = headline.log AND added.interface = i.interface
LEFT JOIN taking_part AS t ON t.log = headline.log AND t.interface = i.interface
LEFT JOIN (SELECT log, any_value(queued) AS queued FROM metric.processor_waits GROUP BY log) AS q ON q.log = headline.log
LEFT JOIN together AS r ON r.log = headline.log AND r.interface = i.interface
ORDER BY headline.log, i.interface
