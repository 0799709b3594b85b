-- title: What the job ran on
-- topic: job
-- layout: table
-- definition: one row per fact that holds for all nodes (host is empty) or for one. A fact with a unit is in number, one without
--   in value. nodes, processes_per_node (the most): from the table of processes, of ranks only.
-- unit: as in the column unit
-- needs: a log of iolens
-- caveats: limits are the least of a control group and those around it; where no limit is set there is no row. Facts are those of the
--   process that told them: of the first rank on its node, or of iolens run.
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
