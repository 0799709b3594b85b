-- title: File systems by what jobs did on them
-- definition: I/O of all jobs, by file system.
-- parameter rows (20): how many
-- parameter since (): started on this day or later (UTC)
-- parameter until (): started on this day or before
-- column mount (): where it is mounted; empty where no log tells
-- column file_system (): its type
-- column jobs (count): that used it
-- column users (count): whose jobs used it
-- column files (count): that jobs used
-- column bytes_read (bytes): by the program
-- column bytes_written (bytes): by the program
-- column io_time (seconds): in calls, over all processes
-- column metadata_time (seconds): of these, in metadata calls
SELECT mount, file_system, count(DISTINCT f.log) AS jobs, count(DISTINCT j."user") AS users, count(DISTINCT f.id) AS files,
    sum(f.bytes_read)::BIGINT AS bytes_read, sum(f.bytes_written)::BIGINT AS bytes_written, sum(f.io_time) AS io_time,
    sum(f.metadata_time) AS metadata_time
FROM file_sum AS f JOIN job AS j USING (log)
WHERE ($since = '' OR j."start" >= TRY_CAST($since AS DATE))
    AND ($until = '' OR j."start" < TRY_CAST($until AS DATE) + INTERVAL 1 DAY)
GROUP BY mount, file_system ORDER BY sum(f.io_time) DESC NULLS LAST, 1, 2 LIMIT CAST($rows AS BIGINT)
