-- title: Files of which more was read than they hold
-- topic: files
-- layout: table
-- definition: size = highest offset that was read + 1 (of a file that was only written beyond: that); factor = bytes read / size.
--   written: it was written too, so that some of the reading may be of new data. Counted as redundant_reads counts.
-- unit: bytes, factor
-- direction: lower
-- needs: posix
-- source: HMMER study; NERSC screening study, equation 1
SELECT log, name, max_offset_read + 1 AS size, bytes_read, bytes_read / (max_offset_read + 1) AS factor,
    bytes_read - max_offset_read - 1 AS excess, reads, ranks, read_time AS time, bytes_written > 0 AS written
FROM file
WHERE interface = 'posix' AND bytes_read > max_offset_read + 1
ORDER BY log, excess DESC, name
