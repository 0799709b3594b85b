-- title: Time in HDF5 itself
-- topic: time
-- layout: table
-- definition: what HDF5's calls on files and datasets take, less the calls at POSIX on the same files: filters
--   (compression), type conversion, chunks. Of files of whose datasets something was read or written, and that MPI-IO
--   did not open. all_processes: the sum; time: seconds of the run (mean_scale of time_basis, of h5d). wasted: of it,
--   in files that each process read $again times over or more at POSIX, if reads and writes of their datasets move
--   more than $size each and $part of their time or more is not POSIX's: chunks are decoded again. calls: reads and
--   writes of datasets. as_io: wasted, if it is $wasting of the run or more: it counts as I/O does. The verdict
--   names HDF5 itself then, and from $much of the run on.
-- unit: calls, seconds
-- direction: lower
-- needs: h5d, posix
-- caveats: Threads of a process that wait for each other in HDF5 count as if they computed.
-- source: iolens
-- threshold much = 20 %: of the run, as of page faults
-- threshold wasting = 5 %: of the run: less is not worth a look
-- threshold again = 1.5: less is not for want of a cache
-- threshold part = 50 %: of the time in reads and writes of datasets: else POSIX takes more
-- threshold size = 4 KiB: the time of smaller reads and writes is the calls'
SELECT * EXCLUDE run_time, CASE WHEN wasted >= $wasting * run_time THEN wasted ELSE 0 END AS as_io FROM (
    SELECT log, count(*) AS files, sum(calls)::BIGINT AS calls, sum(library_time) AS all_processes, any_value(run_time) AS run_time,
        least(any_value(run_time), sum(library_time) * any_value(mean_scale)) AS time,
        least(any_value(run_time), coalesce(sum(library_time) FILTER (
            again >= $again AND data_time - below_time > $part * data_time AND moved > $size * calls), 0) * any_value(mean_scale)) AS wasted
    FROM metric.hdf5_below JOIN metric.time_basis USING (log) JOIN (SELECT log, run_time FROM job) USING (log)
    WHERE interface = 'h5d' AND NOT mpiio AND calls > 0 GROUP BY log
) ORDER BY log
