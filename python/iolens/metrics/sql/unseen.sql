-- title: I/O that no wrapper saw
-- topic: job
-- layout: table
-- definition: for each process, the bytes that the kernel counted (rchar, wchar) and how many iolens saw. The
--   difference is system calls that the program made directly, or files left out on purpose. not_observed: programs
--   that could not be observed at all, with the reason.
-- unit: bytes
-- direction: lower
-- needs: process
-- source: iolens
FROM (
    SELECT log, rank, any_value(exe ORDER BY "start", exe) AS exe, sum(kernel_read)::BIGINT AS kernel_read, sum(kernel_written)::BIGINT AS kernel_written,
        sum(seen_read)::BIGINT AS seen_read, sum(seen_written)::BIGINT AS seen_written,
        sum(unseen_read)::BIGINT AS unseen_read, sum(unseen_written)::BIGINT AS unseen_written, NULL::VARCHAR AS not_observed
    FROM process GROUP BY log, rank, pid
    UNION ALL
    SELECT log, rank, program, NULL, NULL, NULL, NULL, NULL, NULL, reason FROM unobserved
) ORDER BY log, coalesce(unseen_read, 0) + coalesce(unseen_written, 0) DESC, rank, exe,
    kernel_read, kernel_written, seen_read, seen_written, not_observed
