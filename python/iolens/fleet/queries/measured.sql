-- title: Jobs with numbers
-- definition: the columns of job, and of its metrics those that other queries add up. findings: those of severity high
--   or medium; time_lost: of the costliest one, as seconds of several may be the same. verdict_time: io_time where an
--   older version ingested the log.
SELECT job.*, io_time, coalesce(verdict_time, io_time) AS verdict_time, bytes_read, bytes_written, metadata_time, small_writes, time_lost, findings
FROM job LEFT JOIN (
    SELECT log,
        max("value") FILTER (name = 'io_time') AS io_time,
        max("value") FILTER (name = 'verdict_time') AS verdict_time,
        max("value") FILTER (name = 'bytes_read')::BIGINT AS bytes_read,
        max("value") FILTER (name = 'bytes_written')::BIGINT AS bytes_written,
        max("value") FILTER (name = 'metadata_time') AS metadata_time,
        max("value") FILTER (name = 'small_writes')::BIGINT AS small_writes
    FROM metric
    WHERE name IN ('io_time', 'verdict_time', 'bytes_read', 'bytes_written', 'metadata_time', 'small_writes') GROUP BY log
) AS measured USING (log) LEFT JOIN (
    SELECT log, max(time_lost) FILTER (severity IN ('high', 'medium')) AS time_lost,
        count(*) FILTER (severity IN ('high', 'medium')) AS findings
    FROM finding GROUP BY log
) AS found USING (log)
