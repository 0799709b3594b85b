-- title: Files that share a record for lack of memory
-- topic: job
-- layout: table
-- definition: for each rank, how many opens of how many files (estimated) went to records that stand for a whole
--   directory, the memory budget, and a budget that would have been enough; then the directories.
-- unit: opens, files, bytes
-- direction: lower
-- needs: folded
-- source: iolens
SELECT log, rank, NULL::VARCHAR AS directory, opens, files, budget, sufficient_budget FROM folded
UNION ALL
SELECT log, rank, directory, opens, surplus, NULL, NULL FROM folded_directory
ORDER BY log, rank, directory NULLS FIRST, opens DESC
