-- title: How many jobs each screen picks out
-- definition: one row for each of tables 3, 4 and 5 of the NERSC screening study.
-- column screen (): name of the screen, a named query with the jobs themselves
-- column jobs (count): total jobs analyzed
-- column matching (count): jobs matching metric
-- column users (count): unique users matching metric
-- column largest (): the largest value of a single job: bytes, part of 1, writes
WITH matching AS (
    SELECT 1 AS place, 'screen_redundant_reads' AS screen, "user", CAST(value AS DOUBLE) AS value
    FROM fleet.screen_redundant_reads
    UNION ALL
    SELECT 2, 'screen_metadata', "user", value FROM fleet.screen_metadata
    UNION ALL
    SELECT 3, 'screen_small_writes', "user", CAST(value AS DOUBLE) FROM fleet.screen_small_writes
), analyzed AS (
    SELECT count(*) AS jobs, count(*) FILTER (format <> 'totals') AS with_files FROM job
    WHERE ($since = '' OR "start" >= TRY_CAST($since AS DATE))
    AND ($until = '' OR "start" < TRY_CAST($until AS DATE) + INTERVAL 1 DAY)
)
SELECT s.screen, CASE s.place WHEN 2 THEN jobs ELSE with_files END AS jobs, count(m.screen) AS matching,
    count(DISTINCT m."user") AS users, max(m.value) AS largest
FROM (VALUES (1, 'screen_redundant_reads'), (2, 'screen_metadata'), (3, 'screen_small_writes')) AS s(place, screen)
CROSS JOIN analyzed LEFT JOIN matching AS m USING (screen)
GROUP BY s.place, s.screen, jobs, with_files ORDER BY s.place
