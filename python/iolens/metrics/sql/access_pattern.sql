-- title: How ordered the accesses were
-- topic: accesses
-- layout: table
-- definition: sequential = at a higher offset than the end of the access before it of the same process and file;
--   consecutive = exactly there. Consecutive accesses are sequential too.
-- unit: accesses
-- needs: posix
-- caveats: The first access of a file is neither.
-- source: Darshan's counters CONSEC and SEQ
FROM (
    SELECT log, 'posix' AS interface, 'read' AS direction, counted(reads)::BIGINT AS total, counted(seq_reads)::BIGINT AS sequential,
        counted(consec_reads)::BIGINT AS consecutive
    FROM posix GROUP BY log
    UNION ALL
    SELECT log, 'posix', 'write', counted(writes)::BIGINT, counted(seq_writes)::BIGINT, counted(consec_writes)::BIGINT
    FROM posix GROUP BY log
) ORDER BY log, direction
