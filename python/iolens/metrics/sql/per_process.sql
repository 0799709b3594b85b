-- title: Average I/O per process, for files of one rank and shared files
-- topic: time
-- layout: table
-- definition: sums over files, divided by the processes that take part. independent: used by one rank; shared: by
--   several. At the interface that the program itself called (own_file).
-- unit: seconds, bytes
-- needs: any interface
-- source: darshan-job-summary
WITH access AS (
    SELECT unnest(['independent', 'shared']) AS access
), part AS (
    SELECT log, CASE WHEN shared THEN 'shared' ELSE 'independent' END AS access, * EXCLUDE (log) FROM own_file
)
SELECT log, access,
    coalesce(sum(read_time), 0) / processes AS read_time, coalesce(sum(write_time), 0) / processes AS write_time,
    coalesce(sum(meta_time), 0) / processes AS meta_time,
    coalesce(sum(bytes_read), 0) / processes AS bytes_read, coalesce(sum(bytes_written), 0) / processes AS bytes_written
FROM metric.taking_part CROSS JOIN access LEFT JOIN part USING (log, access)
GROUP BY log, access, processes
ORDER BY log, access
