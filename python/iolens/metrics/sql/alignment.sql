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
    counted(mem_not_aligned)::BIGINT AS memory_unaligned, counted(file_not_aligned)::BIGINT AS file_unaligned,
    counted(mem_not_aligned) / nullif(sum(coalesce(reads, 0) + coalesce(writes, 0)), 0) AS memory_share,
    counted(file_not_aligned) / nullif(sum(coalesce(reads, 0) + coalesce(writes, 0)), 0) AS file_share,
    mode(CASE WHEN mem_alignment > 0 THEN mem_alignment END) AS memory_alignment, mode(CASE WHEN file_alignment > 0 THEN file_alignment END) AS file_alignment
FROM posix GROUP BY log
ORDER BY log
