-- title: What this log does not know
-- topic: job
-- layout: table
-- definition: modules with incomplete records and what that means; layers that contradict each other because of it
--   (lost_bytes: bytes that MPI-IO moved and POSIX does not show); jobs without an end; records without a name.
-- unit: bytes
-- needs: any log
-- source: iolens
WITH lower AS (
    SELECT log, sum(greatest(0, m.bytes_read + m.bytes_written - coalesce(p.bytes_read + p.bytes_written, 0)))::BIGINT AS lost
    FROM (SELECT * FROM file_of WHERE interface = 'mpiio') AS m
    LEFT JOIN (SELECT * FROM file_of WHERE interface = 'posix') AS p USING (log, id) GROUP BY log
)
SELECT log, coalesce(module, darshan) AS what, 'incomplete' AS kind,
    CASE WHEN log IN (SELECT log FROM folded) AND darshan NOT LIKE 'DXT%'
        THEN 'The memory for records was used up: files without one share records, all sums are exact.'
        ELSE 'The memory for records was used up: files and bytes are missing, all sums are lower bounds.' END AS meaning,
    CASE WHEN module = 'posix' THEN lost END AS lost_bytes
FROM module LEFT JOIN lower USING (log) WHERE partial > 0
UNION ALL
SELECT log, 'end', 'unknown', 'The job was killed or is still running: run time and shares of it are not known.', NULL
FROM job WHERE "end" IS NULL
UNION ALL
SELECT log, 'run_time', 'zero', 'Start and end are the same second: shares of the run time are not known.', NULL
FROM job WHERE "end" IS NOT NULL AND run_time IS NULL
UNION ALL
SELECT log, 'name', 'lost', count(*) || ' files have records but no name.', NULL
FROM (SELECT DISTINCT log, id FROM file_of ANTI JOIN name_of USING (log, id)) GROUP BY log
UNION ALL
SELECT log, 'records', 'none', 'No interface recorded anything.', NULL FROM job WHERE log NOT IN (SELECT DISTINCT log FROM file_of)
UNION ALL
SELECT log, 'process', 'not observed', program || ': ' || reason, NULL FROM unobserved
UNION ALL
SELECT log, interface, 'not recorded', text, NULL FROM metric.unrecorded
ORDER BY log, kind, what
