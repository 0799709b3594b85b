-- title: File systems by what jobs did on them
-- definition: sums over the records of what programs called themselves, by the mount point that a log names for the file.
-- parameter rows (20): how many
-- column mount (): where it is mounted; empty where no log tells
-- column file_system (): its type
-- column jobs (count): that used it
-- column users (count): whose jobs used it
-- column files (count): that jobs used
-- column bytes_read (bytes): by programs
-- column bytes_written (bytes): by programs
-- column io_time (seconds): in calls on its files, over all processes
-- column metadata_time (seconds): of these, in metadata calls
WITH placed AS (
    SELECT log, id, any_value(mount) AS mount, any_value(file_system) AS file_system FROM name GROUP BY log, id
)
SELECT coalesce(mount, '') AS mount, coalesce(file_system, '') AS file_system, count(DISTINCT r.log) AS jobs,
    count(DISTINCT j."user") AS users, count(DISTINCT r.id) AS files, sum(r.bytes_read)::BIGINT AS bytes_read,
    sum(r.bytes_written)::BIGINT AS bytes_written, sum(r.total_time) AS io_time, sum(r.meta_time) AS metadata_time
FROM own_record AS r JOIN job AS j USING (log) LEFT JOIN placed AS p ON p.log = r.log AND p.id = r.id
GROUP BY ALL ORDER BY sum(r.total_time) DESC NULLS LAST, 1, 2 LIMIT CAST($rows AS BIGINT)
