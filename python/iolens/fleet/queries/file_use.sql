-- title: What each file was used for, by its number
-- definition: sums over the records of what programs called themselves (own_record), of all jobs. One row per file.
-- parameter user (): only in jobs of this user
-- parameter application (): only in jobs of this application
-- parameter cluster (): only in jobs of this cluster
SELECT id, sum(bytes_read)::BIGINT AS bytes_read, sum(bytes_written)::BIGINT AS bytes_written,
    sum(total_time) AS io_time, sum(meta_time) AS metadata_time,
    sum(size_write[1] + size_write[2] + size_write[3] + size_write[4] + size_write[5]
        - least(size_write[5], CASE 1048576 WHEN access[1] THEN access_count[1] WHEN access[2] THEN access_count[2]
            WHEN access[3] THEN access_count[3] WHEN access[4] THEN access_count[4] ELSE 0 END))::BIGINT AS small_writes
FROM own_record
WHERE ($user = '' AND $application = '' AND $cluster = '') OR log IN (
    SELECT log FROM job WHERE ($user = '' OR "user" = $user) AND ($application = '' OR application = $application)
        AND ($cluster = '' OR cluster = $cluster))
GROUP BY id
