-- title: Calls that move no data, and the cost of each kind
-- topic: time
-- layout: table
-- definition: count and errors: sums over ranks. time: seconds of the run (time_basis): in a process tree the scaled
--   sum, in an MPI job the slowest rank's, without the launcher's calls. mean: seconds per call.
-- unit: calls, seconds
-- needs: section operation (logs written by iolens)
-- source: iolens
SELECT log, interface, name, sum(count)::BIGINT AS count, sum(errors)::BIGINT AS errors,
    any_value(scale) * CASE WHEN any_value(tree) THEN sum(time) ELSE max(time) END AS time,
    sum(time) / nullif(sum(count), 0) AS mean
FROM (
    SELECT log, interface, name, rank, sum(count) AS count, sum(errors) AS errors, sum(time) AS time
    FROM operation WHERE interface IN recorded_interfaces() GROUP BY ALL
) JOIN metric.time_basis USING (log, interface)
WHERE tree OR rank >= 0 OR log NOT IN (SELECT log FROM operation WHERE rank >= 0)
GROUP BY log, interface, name
ORDER BY log, interface, time DESC, name
