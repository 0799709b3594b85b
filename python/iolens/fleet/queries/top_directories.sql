-- title: Directories by what jobs did with the files in them
-- definition: sums over files as in top_files. A directory is the path of a file without its last part, or the first
--   $depth parts of that.
-- parameter by (time): what comes first: time, bytes, metadata, small
-- parameter rows (10): how many
-- parameter depth (0): parts of the path; 0: all of them
-- column directory (): path
-- column files (count): that jobs used
-- column io_time (seconds): in calls on its files, over all processes
-- column bytes_read (bytes): by programs
-- column bytes_written (bytes): by programs
-- column metadata_time (seconds): over all processes
-- column small_writes (count): below 1 MiB
WITH named AS (
    SELECT id, any_value(name) AS name FROM name_of WHERE name LIKE '/%' AND name NOT LIKE '%<other files>' GROUP BY id
), placed AS (
    SELECT u.*, CASE WHEN $depth > 0
        THEN array_to_string(list_slice(string_split(parent, '/'), 1, CAST($depth AS BIGINT) + 1), '/') ELSE parent
        END AS directory
    FROM fleet.file_use AS u JOIN (SELECT id, regexp_extract(name, '^(.*)/[^/]*$', 1) AS parent FROM named) USING (id)
)
SELECT coalesce(nullif(directory, ''), '/') AS directory, count(*) AS files, sum(io_time) AS io_time,
    sum(bytes_read)::BIGINT AS bytes_read, sum(bytes_written)::BIGINT AS bytes_written,
    sum(metadata_time) AS metadata_time, sum(small_writes)::BIGINT AS small_writes
FROM placed GROUP BY placed.directory
ORDER BY CASE $by WHEN 'bytes' THEN sum(coalesce(bytes_read, 0) + coalesce(bytes_written, 0))
    WHEN 'metadata' THEN sum(metadata_time) WHEN 'small' THEN sum(small_writes) ELSE sum(io_time) END
    DESC NULLS LAST, placed.directory LIMIT CAST($rows AS BIGINT)
