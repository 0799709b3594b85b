-- title: Bytes read more than once
-- topic: files
-- definition: sum over files with bytes_read > max_offset_read of bytes_read - max_offset_read - 1, files merged over
--   ranks; a file's counters are MPI-IO's if it was opened through MPI-IO, otherwise POSIX's. The highest offset is
--   always POSIX's.
-- unit: bytes
-- direction: lower
-- needs: posix
-- caveats: A lower bound: re-reading goes unnoticed where the same part of a file was read several times and the rest
--   never.
-- source: Luu, Winslett, Gropp et al. and the NERSC screening study, equation 1
SELECT log,
    coalesce(sum(greatest(0, bytes_read - max_offset_read - 1)) FILTER (bytes_read > max_offset_read), 0)::BIGINT AS value,
    count(*) FILTER (bytes_read > max_offset_read + 1) AS files
FROM job LEFT JOIN (
    SELECT p.log, coalesce(m.bytes_read, p.bytes_read) AS bytes_read, p.max_offset_read
    FROM single_file AS p LEFT JOIN (
        SELECT * FROM file_of WHERE interface = 'mpiio' AND (log, id) NOT IN (SELECT (log, id) FROM mpiio WHERE bytes_read IS NULL)
    ) AS m ON m.log = p.log AND m.id = p.id
    WHERE p.interface = 'posix'
) USING (log)
GROUP BY log
