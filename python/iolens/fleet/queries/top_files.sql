-- title: Files by what jobs did with them
-- definition: sums over all jobs that used a file, of what programs called themselves. In order of $by: time (seconds in
--   read, write and metadata calls, of all processes), bytes, metadata, small (writes below 1 MiB). Of what had no room
--   for a record of its own ("<other files>") there is no file.
-- parameter by (time): what comes first: time, bytes, metadata, small
-- parameter rows (10): how many
-- column file (): name; a number where no log names it
-- column jobs (count): that used it
-- column users (count): whose jobs used it
-- column io_time (seconds): in its calls, over all processes
-- column bytes_read (bytes): by programs
-- column bytes_written (bytes): by programs
-- column metadata_time (seconds): over all processes
-- column small_writes (count): below 1 MiB
WITH likely AS (
    SELECT *, CASE $by WHEN 'bytes' THEN coalesce(bytes_read, 0) + coalesce(bytes_written, 0)
        WHEN 'metadata' THEN metadata_time WHEN 'small' THEN small_writes ELSE io_time END AS place
    FROM fleet.file_use ORDER BY place DESC NULLS LAST, id LIMIT CAST($rows AS BIGINT) + 1000
), named AS (
    SELECT id, any_value(name) AS name FROM name_of WHERE id IN (SELECT id FROM likely) GROUP BY id
), best AS (
    SELECT * FROM likely LEFT JOIN named USING (id) WHERE name IS NULL OR name NOT LIKE '%<other files>'
    ORDER BY place DESC NULLS LAST, id LIMIT CAST($rows AS BIGINT)
), used AS (
    SELECT id, count(DISTINCT log) AS jobs, count(DISTINCT "user") AS users
    FROM own_record JOIN job USING (log)
    WHERE id IN (SELECT id FROM best) AND ($user = '' OR "user" = $user)
        AND ($application = '' OR application = $application) AND ($cluster = '' OR cluster = $cluster)
    GROUP BY id
)
SELECT coalesce(name, '<unnamed ' || id || '>') AS file, jobs, users, io_time, bytes_read, bytes_written, metadata_time,
    small_writes
FROM best LEFT JOIN used USING (id) ORDER BY place DESC NULLS LAST, id
