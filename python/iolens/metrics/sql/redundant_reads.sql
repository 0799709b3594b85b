-- title: Bytes read more than once
-- topic: files
-- definition: sum over files, merged over ranks, of bytes_read - max_offset_read - 1 where this is positive.
--   bytes_read is MPI-IO's if the file was opened through MPI-IO, otherwise POSIX's; the highest offset is always
--   POSIX's.
-- unit: bytes
-- direction: lower
-- needs: posix
-- caveats: A lower bound: it misses re-reading where the same part of a file was read several times and the rest
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
