-- title: Bytes moved, by path
-- topic: job
-- layout: table
-- definition: bytes by path, as in the summary of `iolens run`: posix, stdio, mpiio (which moves its bytes through
--   posix); libaio and io_uring, which the posix records have, too, but which count only here; mapped files, which
--   have no time; paged in (what page faults brought of programs, libraries and mapped files); sockets, by where the
--   other end is; programs that were not observed; what is counted by kind only; bytes that the kernel counted and
--   nothing explains.
-- unit: bytes
-- needs: process
-- caveats: Logs from before unexplained bytes were distinguished: all unseen bytes are unexplained. Bytes of rings
--   that the program drives itself are estimated: see estimated.
-- source: iolens
WITH known(way, title) AS (VALUES
    ('libaio', 'libaio'), ('io_uring', 'io_uring'),
    ('mapped', 'mapped files'), ('loaded', 'paged in'), ('socket_public', 'sockets: public network'), ('socket_private', 'sockets: private network'),
    ('socket_loopback', 'sockets: loopback'), ('socket_unix', 'sockets: unix'), ('socket', 'sockets: others'),
    ('not_files', 'not files'), ('system_files', 'system files'), ('unobserved', 'not observed'), ('unexplained', 'unexplained')
), part AS (
    SELECT log, interface AS way, greatest(bytes_read, 0) AS bytes_read, greatest(bytes_written, 0) AS bytes_written
    FROM file_of WHERE interface IN recorded_interfaces()
    UNION ALL
    SELECT log, 'posix', CASE WHEN direction = 'read' THEN -recorded ELSE 0 END,
        CASE WHEN direction = 'write' THEN -recorded ELSE 0 END
    FROM async WHERE interface IN ('libaio', 'io_uring')
    UNION ALL
    SELECT log, CASE WHEN class LIKE 'socket%' THEN class WHEN class IN ('pipe', 'terminal', 'special', 'device') THEN 'not_files'
        ELSE 'system_files' END, bytes_read, bytes_written FROM excluded
    UNION ALL
    SELECT log, interface, CASE WHEN name = 'read' THEN bytes ELSE 0 END, CASE WHEN name = 'read' THEN 0 ELSE bytes END
    FROM operation WHERE interface IN ('libaio', 'io_uring', 'mapped', 'loaded', 'unobserved')
    UNION ALL
    SELECT log, 'unexplained', greatest(coalesce(unexplained_read, unseen_read), 0),
        greatest(coalesce(unexplained_written, unseen_written), 0) FROM process
)
SELECT log, way, coalesce(any_value(title), concat_ws(', through ', way, nullif(lowest_of(way), way))) AS title, sum(bytes_read)::BIGINT AS bytes_read,
    sum(bytes_written)::BIGINT AS bytes_written
FROM part LEFT JOIN known USING (way) WHERE log IN (SELECT log FROM process)
GROUP BY log, way HAVING sum(bytes_read + bytes_written) > 0
ORDER BY log, list_position((SELECT list(way) FROM known), way) NULLS FIRST, lowest_of(way) <> way, way
