-- title: Unaligned accesses
-- topic: accesses
-- layout: table
-- definition: fraction of the POSIX reads and writes whose address in memory or offset in the file is not a multiple
--   of the alignment: the most frequent one among the files, of equally frequent ones the largest.
-- unit: accesses, part of 1, bytes
-- direction: lower
-- needs: posix
-- source: Darshan's counters MEM_NOT_ALIGNED and FILE_NOT_ALIGNED; Drishti
WITH memory AS (
    SELECT log, arg_max(mem_alignment, (n, mem_alignment)) AS alignment
    FROM (SELECT log, mem_alignment, count(*) AS n FROM posix WHERE mem_alignment > 0 GROUP BY ALL) GROUP BY log
), file AS (
    SELECT log, arg_max(file_alignment, (n, file_alignment)) AS alignment
    FROM (SELECT log, file_alignment, count(*) AS n FROM posix WHERE file_alignment > 0 GROUP BY ALL) GROUP BY log
)
SELECT log, sum(coalesce(reads, 0) + coalesce(writes, 0))::BIGINT AS accesses,
    counted(mem_not_aligned)::BIGINT AS memory_unaligned, counted(file_not_aligned)::BIGINT AS file_unaligned,
    counted(mem_not_aligned) / nullif(sum(coalesce(reads, 0) + coalesce(writes, 0)), 0) AS memory_share,
    counted(file_not_aligned) / nullif(sum(coalesce(reads, 0) + coalesce(writes, 0)), 0) AS file_share,
    any_value(memory.alignment) AS memory_alignment, any_value(file.alignment) AS file_alignment
FROM posix LEFT JOIN memory USING (log) LEFT JOIN file USING (log) GROUP BY log
ORDER BY log
