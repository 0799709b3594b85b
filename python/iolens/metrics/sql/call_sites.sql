-- title: Where files are opened
-- topic: files
-- layout: table
-- definition: for each call that was the first to open files: the number of files, and the bytes read from and written
--   to them by any code; for POSIX and STDIO, those of the interface that the call belongs to. place = function,
--   source line and library, as far as the program's files are on this machine; of Python code function and line, which
--   are in the log; example: the file with the most I/O time.
-- unit: files, bytes, seconds
-- needs: posix, stdio, mpiio
-- caveats: One frame: the function that called open, not its callers. A file that ranks opened in several places
--   counts in each. What a library opens for its caller is the library's, unless iolens records its interface, too.
-- source: table sites of the log
SELECT s.log, place, function, source, line, module, note, count(DISTINCT s.id) AS files,
    sum(f.bytes_read)::BIGINT AS bytes_read, sum(f.bytes_written)::BIGINT AS bytes_written, sum(f.total_time) AS time,
    arg_max(name, (f.total_time, name)) AS example
FROM (
    SELECT DISTINCT log, id, place, function, source, line, module, note,
        CASE WHEN interface IN libc_interfaces() THEN interface END AS meant
    FROM file_site
) AS s JOIN lowest_file AS f ON f.log = s.log AND f.id = s.id AND (meant IS NULL OR f.interface = meant)
LEFT JOIN name_of ON name_of.log = s.log AND name_of.id = s.id
GROUP BY s.log, place, function, source, line, module, note
ORDER BY s.log, time DESC, place, module, source, line, function, note
