-- title: Jobs with what they are ordered by
-- definition: jobs, and place: of $by, what one job adds to its user's or application's.
-- parameter by (time): time, bytes, metadata, small, io, jobs
SELECT *, CASE $by WHEN 'time' THEN time_lost WHEN 'bytes' THEN coalesce(bytes_read, 0) + coalesce(bytes_written, 0)
    WHEN 'metadata' THEN metadata_time WHEN 'small' THEN small_writes WHEN 'io' THEN io_time ELSE 1 END AS place
FROM fleet.jobs
