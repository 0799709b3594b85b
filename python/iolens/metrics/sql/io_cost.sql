-- title: Seconds in I/O calls for the average process
-- topic: time
-- layout: table
-- definition: seconds in read, write and metadata calls (including PnetCDF waits), summed over all records, divided by
--   the processes that take part. share = their sum / run time. hdf5 is H5F + H5D, pnetcdf its files and variables.
-- unit: seconds, part of 1
-- direction: lower
-- needs: any interface
-- caveats: An average hides a single rank that does everything. Overlapping calls of threads are added up. An
--   interface's time includes that of the interfaces below: do not add them up.
-- source: PyDarshan, darshan-job-summary
WITH part AS (
    SELECT log, library_of(interface) AS interface,
        coalesce(read_time, 0) AS read, coalesce(write_time, 0) AS write, coalesce(meta_time, 0) AS meta, 0 AS wait
    FROM file_of
    UNION ALL
    SELECT log, 'pnetcdf', 0, 0, 0, coalesce(wait_time, 0) FROM pnetcdf_file
)
SELECT log, interface, sum(read) / processes AS read, sum(write) / processes AS write, sum(meta) / processes AS meta, sum(wait) / processes AS wait,
    (sum(read) + sum(write) + sum(meta) + sum(wait)) / processes / any_value(run_time) AS share
FROM part JOIN job USING (log) JOIN metric.taking_part USING (log)
GROUP BY log, interface, processes
ORDER BY log, list_position(libraries(), interface)
