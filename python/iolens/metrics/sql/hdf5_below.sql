-- title: HDF5 files, and what their datasets do below
-- topic: ranks and layers
-- layout: table
-- definition: one row per file; sums over ranks. calls, moved, written, data_time: reads and writes of its datasets.
--   below_time: reading and writing of the file at POSIX. again: how often each process read it over there.
--   library_time: all calls of HDF5 on the file and its datasets, less all at POSIX. mpiio: MPI-IO opened it. fill:
--   bytes that the file got beyond what was written to its datasets, if they are more than 64 KiB for each open of an
--   object, at most twice the data and more than four times what was read back; otherwise 0. fill_time: their part of
--   the file's write time.
-- unit: calls, bytes, seconds
-- needs: h5d, posix
-- caveats: fill is an estimate: HDF5 does not count its fill values.
-- source: iolens
WITH dataset AS (
    SELECT log, file_rec_id AS id, sum(greatest(opens, 0))::BIGINT AS opens, sum(greatest(reads, 0) + greatest(writes, 0))::BIGINT AS calls,
        sum(bytes_read + bytes_written)::BIGINT AS moved, sum(bytes_written)::BIGINT AS written, sum(read_time + write_time) AS data_time,
        sum(greatest(read_time, 0) + greatest(write_time, 0) + greatest(meta_time, 0)) AS all_time
    FROM h5d WHERE file_rec_id <> 0 GROUP BY log, file_rec_id
), opened AS (
    SELECT log, id, sum(greatest(meta_time, 0)) AS file_time FROM h5f GROUP BY log, id
), below AS (
    SELECT log, id, bytes_read, bytes_written, read_time + write_time AS below_time, write_time, total_time,
        greatest(1, coalesce(bytes_read / nullif(max_offset_read + 1, 0) / ranks, 1)) AS again
    FROM file_of WHERE interface = 'posix'
)
SELECT log, id, calls, moved, written, data_time, below_time, again, (log, id) IN (SELECT (log, id) FROM mpiio) AS mpiio,
    greatest(0, all_time + coalesce(file_time, 0) - total_time) AS library_time,
    greatest(0, bytes_written - written) AS surplus,
    CASE WHEN surplus > 65536 * opens AND surplus <= 2 * written + 65536 * opens AND surplus > 4 * bytes_read THEN surplus ELSE 0 END AS fill,
    coalesce(write_time * fill / nullif(bytes_written, 0), 0) AS fill_time
FROM dataset JOIN below USING (log, id) LEFT JOIN opened USING (log, id)
ORDER BY log, id
