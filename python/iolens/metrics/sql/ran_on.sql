-- title: What the job ran on
-- topic: job
-- layout: table
-- definition: one row per fact that holds for all nodes (host is empty) or for one node. A fact with a unit is in
--   column number, others in column value. nodes, processes_per_node (the maximum): from the process table, ranks
--   only.
-- unit: as in the column unit
-- needs: a log written by iolens
-- caveats: A limit is the lowest of a control group and its parents; without a limit there is no row. One process
--   reported each fact: the first rank on its node, or iolens run.
-- source: iolens
WITH ranks AS (
    SELECT log, host, count(DISTINCT rank) AS processes FROM process WHERE rank >= 0 AND host <> '' GROUP BY log, host
)
SELECT log, '' AS host, 'nodes' AS name, '' AS value, count(*)::DOUBLE AS number, 'node' AS unit FROM ranks GROUP BY log
UNION ALL
SELECT log, '', 'processes_per_node', '', max(processes)::DOUBLE, 'process' FROM ranks GROUP BY log
UNION ALL
SELECT log, host, name, value, CASE WHEN unit <> '' THEN number END, unit FROM platform
ORDER BY log, host, name
