-- title: Files from which more was read than they contain
-- topic: files
-- layout: table
-- definition: size = highest offset read + 1, or written + 1 if that is more; factor = bytes read / size. written: the
--   file was also written, so some reads may be of new data. Counted as in redundant_reads.
-- unit: bytes, factor
-- direction: lower
-- needs: posix
-- source: HMMER study; NERSC screening study, equation 1
SELECT log, name, max_offset_read + 1 AS size, bytes_read, bytes_read / (max_offset_read + 1) AS factor,
    bytes_read - max_offset_read - 1 AS excess, reads, ranks, read_time AS time, bytes_written > 0 AS written
FROM (
    SELECT p.log, p.id, p.name, p.max_offset_read, coalesce(m.bytes_read, p.bytes_read) AS bytes_read,
        coalesce(m.reads, p.reads) AS reads, coalesce(m.ranks, p.ranks) AS ranks, coalesce(m.read_time, p.read_time) AS read_time,
        p.bytes_written
    FROM (SELECT * FROM single_file LEFT JOIN name_of USING (log, id)) AS p LEFT JOIN (
        SELECT * FROM file_of WHERE interface = 'mpiio' AND (log, id) NOT IN (SELECT (log, id) FROM mpiio WHERE bytes_read IS NULL)
    ) AS m ON m.log = p.log AND m.id = p.id
    WHERE p.interface = 'posix'
) WHERE bytes_read > max_offset_read + 1
ORDER BY log, excess DESC, name, id
