-- title: Accesses that are not aligned
-- topic: accesses
-- layout: table
-- definition: part of the POSIX reads and writes whose place in memory or in the file is no multiple of the alignment.
--   alignment: the most frequent one of the files.
-- unit: accesses, part of 1, bytes
-- direction: lower
-- needs: posix
-- source: Darshan's counters MEM_NOT_ALIGNED and FILE_NOT_ALIGNED; Drishti
SELECT log, sum(coalesce(reads, 0) + coalesce(writes, 0))::BIGINT AS accesses,
    sum(mem_not_aligned)::BIGINT AS memory_unaligned, sum(file_not_aligned)::BIGINT AS file_unaligned,
    sum(mem_not_aligned) / nullif(sum(coalesce(reads, 0) + coalesce(writes, 0)), 0) AS memory_share,
    sum(file_not_aligned) / nullif(sum(coalesce(reads, 0) + coalesce(writes, 0)), 0) AS file_share,
    mode(nullif(mem_alignment, 0)) AS memory_alignment, mode(nullif(file_alignment, 0)) AS file_alignment
FROM posix GROUP BY log
ORDER BY log
