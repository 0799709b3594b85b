-- title: What each file adds to its place among the others
-- definition: one row per log and file, with place: its seconds, bytes, seconds in metadata calls or small writes, by
--   $by.
-- parameter by (time): time, bytes, metadata, small
SELECT id, coalesce(CASE $by WHEN 'bytes' THEN coalesce(bytes_read, 0) + coalesce(bytes_written, 0)
    WHEN 'metadata' THEN metadata_time WHEN 'small' THEN small_writes ELSE io_time END, 0) AS place
FROM fleet.file_use
