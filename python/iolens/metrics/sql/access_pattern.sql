-- title: How sequential the accesses were
-- topic: accesses
-- layout: table
-- definition: sequential = at or beyond the end of the previous access by the same process to the same file;
--   consecutive = exactly there, which is also sequential.
-- unit: accesses
-- needs: posix
-- caveats: The first access to a file is neither.
-- source: Darshan's counters CONSEC and SEQ
FROM (
    SELECT log, 'posix' AS interface, 'read' AS direction, counted(reads)::BIGINT AS total, counted(seq_reads)::BIGINT AS sequential,
        counted(consec_reads)::BIGINT AS consecutive
    FROM posix GROUP BY log
    UNION ALL
    SELECT log, 'posix', 'write', counted(writes)::BIGINT, counted(seq_writes)::BIGINT, counted(consec_writes)::BIGINT
    FROM posix GROUP BY log
) ORDER BY log, direction
