-- title: Jobs with what they are ordered by
-- definition: jobs, and place: the part of $by that one job adds to its user or application.
-- parameter by (time): time, bytes, metadata, small, io, jobs
SELECT *, CASE $by WHEN 'time' THEN time_lost WHEN 'bytes' THEN coalesce(bytes_read, 0) + coalesce(bytes_written, 0)
    WHEN 'metadata' THEN metadata_time WHEN 'small' THEN small_writes WHEN 'io' THEN io_time ELSE 1 END AS place
FROM fleet.jobs
