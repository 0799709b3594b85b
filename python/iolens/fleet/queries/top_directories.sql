-- title: Directories by what jobs did with the files in them
-- definition: sums over files as in top_files. A directory is the path of a file without its last part, or the first
--   $depth parts of that.
-- parameter by (time): what comes first: time, bytes, metadata, small
-- parameter rows (10): how many
-- parameter depth (0): parts of the path; 0: all of them
-- column directory (): path
-- column files (count): that jobs used
-- column io_time (seconds): in calls, over all processes
-- column bytes_read (bytes): by the program
-- column bytes_written (bytes): by the program
-- column metadata_time (seconds): over all processes
-- column small_writes (count): below 1 MiB
WITH whole AS (
    SELECT directory AS path, sum(io_time) AS io_time, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written,
        sum(metadata_time) AS metadata_time, sum(small_writes) AS small_writes
    FROM fleet.file_use WHERE directory IS NOT NULL GROUP BY directory
), placed AS (
    SELECT *, CASE WHEN $depth > 0
        THEN array_to_string(list_slice(string_split(path, '/'), 1, CAST($depth AS BIGINT) + 1), '/') ELSE path
        END AS directory
    FROM whole
), best AS (
    SELECT directory, sum(io_time) AS io_time, sum(bytes_read)::BIGINT AS bytes_read,
        sum(bytes_written)::BIGINT AS bytes_written, sum(metadata_time) AS metadata_time,
        sum(small_writes)::BIGINT AS small_writes,
        CASE $by WHEN 'bytes' THEN sum(coalesce(bytes_read, 0) + coalesce(bytes_written, 0))
            WHEN 'metadata' THEN sum(metadata_time) WHEN 'small' THEN sum(small_writes) ELSE sum(io_time) END AS place
    FROM placed GROUP BY directory ORDER BY place DESC NULLS LAST, directory LIMIT CAST($rows AS BIGINT)
), counted AS (
    SELECT p.directory, count(DISTINCT u.id) AS files
    FROM fleet.file_use AS u JOIN (SELECT path, directory FROM placed WHERE directory IN (SELECT directory FROM best)) AS p
        ON u.directory = p.path
    GROUP BY p.directory
)
SELECT coalesce(nullif(directory, ''), '/') AS directory, files, io_time, bytes_read, bytes_written, metadata_time,
    small_writes
FROM best JOIN counted USING (directory) ORDER BY place DESC NULLS LAST, best.directory
