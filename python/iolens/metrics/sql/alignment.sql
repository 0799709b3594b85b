-- title: Unaligned accesses
-- topic: accesses
-- layout: table
-- definition: fraction of the POSIX reads and writes whose address in memory or offset in the file is not a multiple
--   of the alignment. alignment: the most frequent one among the files.
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
