-- title: Files that share a record for lack of memory
-- topic: job
-- layout: table
-- definition: for each rank: uses by name (opens: open and stat), of an estimated number of files, that went to
--   records of a mount point or of a program's package; how many were programs' own (modules, libraries); the memory
--   budget; a budget that would have been enough. Then the directories. surplus: by how much a directory's opens may
--   be too high; 0 = exact.
-- unit: opens, files, bytes
-- direction: lower
-- needs: folded
-- source: iolens
SELECT log, rank, NULL::VARCHAR AS directory, opens, NULL::BIGINT AS surplus, files, program_opens, program_files, budget, sufficient_budget
FROM folded
UNION ALL
SELECT log, rank, directory, opens, surplus, NULL, NULL, NULL, NULL, NULL FROM folded_directory
ORDER BY log, rank, directory NULLS FIRST, opens DESC
