-- title: Files by what jobs did with them
-- definition: sums over all jobs that used a file, of what programs called themselves. In order of $by: time (seconds
--   in read, write and metadata calls, of all processes), bytes, metadata, small (writes below 1 MiB). Files without a
--   record of their own ("<other files>") are left out.
-- parameter by (time): what comes first: time, bytes, metadata, small
-- parameter rows (10): how many
-- column file (): name; a number where no log names it
-- column jobs (count): that used it
-- column users (count): whose jobs used it
-- column io_time (seconds): in calls, over all processes
-- column bytes_read (bytes): by the program
-- column bytes_written (bytes): by the program
-- column metadata_time (seconds): over all processes
-- column small_writes (count): below 1 MiB
WITH bucket AS (
    -- 65,536 groups of files are added up, not every file: there are more than memory holds.
    SELECT id % 65536 AS bucket, sum(place) AS total FROM fleet.file_places GROUP BY id % 65536
), first AS (
    SELECT bucket FROM bucket ORDER BY total DESC, bucket LIMIT 500 + CAST($rows AS BIGINT)
), known AS (
    SELECT id, sum(place) AS place FROM fleet.file_places WHERE id % 65536 IN (SELECT bucket FROM first) GROUP BY id
), missed AS (
    -- Other groups that have as much as the last of the files found: as a rule none.
    SELECT bucket FROM bucket
    WHERE bucket NOT IN (SELECT bucket FROM first) AND total >= 0.999999 * (
        SELECT min(place) FROM (SELECT place FROM known ORDER BY place DESC LIMIT CAST($rows AS BIGINT)) AS found)
), more AS (
    SELECT id, sum(place) AS place FROM fleet.file_places WHERE id % 65536 IN (SELECT bucket FROM missed) GROUP BY id
), chosen AS (
    SELECT id, place FROM (SELECT * FROM known UNION ALL SELECT * FROM more) AS found
    ORDER BY place DESC, id LIMIT CAST($rows AS BIGINT)
), best AS (
    SELECT id, place, max(log) AS log, max(CASE WHEN directory IS NOT NULL THEN log END) AS named_log,
        count(DISTINCT log) AS jobs, count(DISTINCT "user") AS users, sum(io_time) AS io_time,
        sum(bytes_read)::BIGINT AS bytes_read, sum(bytes_written)::BIGINT AS bytes_written,
        sum(metadata_time) AS metadata_time, sum(small_writes)::BIGINT AS small_writes
    FROM fleet.file_use JOIN chosen USING (id) JOIN (SELECT log, "user" FROM job) AS whose USING (log)
    GROUP BY id, place
), named AS (
    -- The condition on the log alone is one that files of the lake are skipped by.
    SELECT n.id, n.name FROM name_of AS n JOIN best AS b ON n.id = b.id AND n.log = coalesce(b.named_log, b.log)
    WHERE n.log IN (SELECT coalesce(named_log, log) FROM best)
)
SELECT coalesce(name, '<unnamed ' || id || '>') AS file, jobs, users, io_time, bytes_read, bytes_written, metadata_time,
    small_writes
FROM best LEFT JOIN named USING (id) ORDER BY place DESC, id
