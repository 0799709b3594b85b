-- title: What jobs did with each file
-- definition: one row per log and file, of what programs called themselves (file_sum). Other queries are made of this
--   one, and have its parameters.
-- parameter user (): only jobs of this user
-- parameter application (): only jobs of this application
-- parameter cluster (): only jobs of this cluster
-- parameter since (): started on this day or later (UTC)
-- parameter until (): started on this day or before
SELECT log, id, directory, bytes_read, bytes_written, io_time, metadata_time, small_writes FROM file_sum
WHERE single AND $user = '' AND $application = '' AND $cluster = '' AND $since = '' AND $until = ''
UNION ALL
-- Apart from all of them, which need not be looked for in the table of jobs one by one.
SELECT log, id, directory, bytes_read, bytes_written, io_time, metadata_time, small_writes FROM file_sum
WHERE single AND NOT ($user = '' AND $application = '' AND $cluster = '' AND $since = '' AND $until = '')
    AND log IN (SELECT log FROM job WHERE ($user = '' OR "user" = $user) AND ($application = '' OR application = $application)
        AND ($cluster = '' OR cluster = $cluster)
        AND ($since = '' OR "start" >= TRY_CAST($since AS DATE))
        AND ($until = '' OR "start" < TRY_CAST($until AS DATE) + INTERVAL 1 DAY))
