-- title: Storage targets by what jobs moved
-- definition: bytes and times of each file, spread evenly over the targets of its layout (Lustre), summed over jobs.
--   balance: a target's bytes / the mean of its file system's targets.
-- parameter rows (500): how many
-- parameter since (): started on this day or later (UTC)
-- parameter until (): started on this day or before
-- column mount (): of the file system; empty where no log tells
-- column ost (): number of the target
-- column server (): that it belongs to, where a log tells
-- column jobs (count): with files on it
-- column files (count): with a part on it
-- column bytes_read (bytes): estimated
-- column bytes_written (bytes): estimated
-- column io_time (seconds): in calls, over all processes, estimated
-- column balance (factor): its bytes / mean of all
WITH spread AS (
    SELECT log, id, unnest(osts) AS ost, mount, bytes_read / array_length(osts) AS bytes_read,
        bytes_written / array_length(osts) AS bytes_written, io_time / array_length(osts) AS io_time
    FROM file_sum WHERE array_length(osts) > 0 AND log IN (
        SELECT log FROM job WHERE ($since = '' OR "start" >= TRY_CAST($since AS DATE))
            AND ($until = '' OR "start" < TRY_CAST($until AS DATE) + INTERVAL 1 DAY))
), told AS (
    SELECT log, number, any_value(server) AS server FROM target WHERE kind = 'ost' GROUP BY log, number
), summed AS (
    SELECT s.mount, s.ost, any_value(t.server) AS server, count(DISTINCT s.log) AS jobs, count(DISTINCT s.id) AS files,
        sum(bytes_read)::BIGINT AS bytes_read, sum(bytes_written)::BIGINT AS bytes_written, sum(io_time) AS io_time
    FROM spread AS s LEFT JOIN told AS t ON t.log = s.log AND t.number = s.ost GROUP BY s.mount, s.ost
)
SELECT *, (bytes_read + bytes_written) / nullif(avg(bytes_read + bytes_written) OVER (PARTITION BY mount), 0) AS balance
FROM summed ORDER BY mount, ost LIMIT CAST($rows AS BIGINT)
